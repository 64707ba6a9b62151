"""Two texts beside each other that scroll as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.ui.ansi import PLAIN, Palette, pieces, shown, uncolored
from workbench.ui.compare.align import Row, differences, differing
from workbench.ui.screen_commands import ALIGNED
from workbench.ui.strips import restyle
from workbench.ui.theme_files import palette

NEITHER = "Neither run has anything here."

type Side = Literal["both", "left", "right"]

_BESIDE = 100
"""Cells from which two columns have room."""
_BETWEEN = 3
"""Cells between two columns: the sign and a blank on either side."""
_SIGN = 2
"""Cells before a single column."""


class AlignedView(ScrollView, can_focus=True):
    """Rows of two texts, what differs marked by a sign and a colour."""

    OFFER = ALIGNED
    BINDINGS = ALIGNED.bindings()
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "aligned--differs",
        "aligned--only",
        "aligned--sign",
        "aligned--here",
    }

    class StateChanged(Message):
        """What `state` says is something else now."""

    one_side: var[Side] = var[Side]("left", init=False)
    """Which text is shown where there is room for one only."""

    def __init__(self) -> None:
        super().__init__()
        self._left: Sequence[str] = ()
        self._right: Sequence[str] = ()
        self._rows: Sequence[Row] = ()
        self._said = ""
        """What is said of both texts where nothing is said of differences."""
        self._longest = 0
        self._differences: list[int] = []
        self._here: int | None = None
        """The difference that was gone to."""
        self._placing = False
        self._moved = False
        """Whether the user has gone elsewhere than to the first difference."""
        self._strips: LRUCache[int, tuple[Strip, Strip]] = LRUCache(512)
        self._colors: Palette | None = None

    def show(
        self,
        left: Sequence[str],
        right: Sequence[str],
        rows: Sequence[Row],
        longest: int,
        uncompared: str = "",
    ) -> None:
        """Show two texts, as `align` has put them beside each other, at their first difference.

        Whoever has moved since stays where they are: the texts may be those of a run that lasts.

        Args:
            longest: Cells of the longest line, as `cells` counts them.
            uncompared: Why the two were not compared; empty when they were.
        """
        self._said = uncompared if rows else NEITHER
        self._left, self._right, self._rows = left, right, rows
        self._differences = differences(rows)
        self._here = None
        self._strips.clear()
        self._longest = longest
        self._make_room()
        self._begin()
        self.refresh()

    def _make_room(self) -> None:
        """Let both texts be scrolled to the end of the longest line, in the column that it has."""
        width = self.scrollable_content_region.width
        column = (width - _BETWEEN) // 2 if self.beside else width - _SIGN
        self._placing = True
        self.virtual_size = Size(self._longest + width - column, len(self._rows))
        self._placing = False

    @property
    def beside(self) -> bool:
        """Whether there is room for two columns."""
        return self.size.width >= _BESIDE

    @property
    def state(self) -> str:
        """How much differs, in a few words; empty before that is known."""
        count = len(self._differences)
        if not self._rows:
            return self._said
        if self._said:
            said = self._said
        elif not count:
            return "no difference"
        elif not (self._left and self._right):
            said = f"the {'right' if self._left else 'left'} run has nothing here"
        elif self._here in self._differences:
            said = f"difference {self._differences.index(self._here) + 1} of {count}"
        else:
            said = f"{count} difference{'s' if count > 1 else ''}"
        return said if self.beside else f"{said} · {self.one_side} only"

    def action_difference(self, by: int = 1) -> None:
        """Go to the next difference, or with -1 to the one before, going round."""
        if not self._differences:
            self.notify("There is nothing to compare." if self._said else "No line differs.")
            return
        here = self._here if self._here is not None else self.scroll_offset.y - (1 if by > 0 else 0)
        after = [row for row in self._differences if (row > here if by > 0 else row < here)]
        self._moved = True
        self._go_to((after or self._differences)[0 if by > 0 else -1])
        self._changed()

    def _begin(self) -> None:
        """Go to the first difference, as long as the user has not gone elsewhere."""
        self._placing = True
        if not self._moved:
            self._go_to(self._differences[0] if self._differences else None)
        self._placing = False

    def _go_to(self, difference: int | None) -> None:
        """Show a difference, or with None the top."""
        self._here = difference
        # Forced, because a scrollbar that is about to be shown does not allow it yet.
        self.scroll_to(y=max(0, (difference or 0) - self.size.height // 3), animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Who scrolls is not moved again."""
        super().watch_scroll_y(old_value, new_value)
        self._moved = self._moved or not self._placing

    def action_switch(self) -> None:
        """Show the other text, where there is room for one only."""
        self.one_side = "right" if self.one_side == "left" else "left"

    def watch_one_side(self) -> None:
        """Draw the other text."""
        self._changed()

    def _changed(self) -> None:
        self.refresh()
        self.post_message(self.StateChanged())

    def on_resize(self) -> None:
        """Draw for another width, and keep the first difference in sight."""
        self._make_room()
        self._begin()
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw anew in another theme's colours."""
        self._colors = None
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        style = self.visual_style.rich_style
        if at >= len(self._rows):
            return Strip.blank(width, style)
        row = self._rows[at]
        left, right = self._pair(at, row)
        sign = self._sign(at, row)
        shift = self.scroll_offset.x
        if not self.beside:
            text = left if self.one_side == "left" else right
            body = text.crop_extend(shift, shift + width - _SIGN, style)
            return Strip([sign, Segment(" ", style), *body]).apply_style(style)
        half = (width - _BETWEEN) // 2
        first = left.crop_extend(shift, shift + half, style)
        second = right.crop_extend(shift, shift + width - _BETWEEN - half, style)
        blank = Segment(" ", style)
        return Strip([*first, blank, sign, blank, *second]).apply_style(style)

    def _sign(self, at: int, row: Row) -> Segment:
        mark = "│" if row.same else "<" if row.right is None else ">" if row.left is None else "≠"
        name = "aligned--here" if at == self._here else "aligned--sign"
        style = self.visual_style.rich_style if row.same else self.get_component_rich_style(name)
        return Segment(mark, style)

    def _pair(self, at: int, row: Row) -> tuple[Strip, Strip]:
        if (pair := self._strips.get(at)) is None:
            left = self._strip(self._left, row.left)
            right = self._strip(self._right, row.right)
            if not row.same:
                left, right = self._marked(left, right)
            pair = self._strips[at] = left, right
        return pair

    def _strip(self, lines: Sequence[str], number: int | None) -> Strip:
        if number is None:
            return Strip([])
        return Strip([Segment(*piece) for piece in pieces(lines[number], PLAIN, self._palette)])

    def _marked(self, left: Strip, right: Strip) -> tuple[Strip, Strip]:
        """Both sides with what differs marked: some words, or whole lines."""
        spans = differing(left.text, right.text) if left.text and right.text else None
        if spans is None:
            whole = self._ground("aligned--only")
            return restyle(left, 0, len(left.text), whole), restyle(right, 0, len(right.text), whole)
        part = self._ground("aligned--differs")
        for span in spans[0]:
            left = restyle(left, *span, part)
        for span in spans[1]:
            right = restyle(right, *span, part)
        return left, right

    def _ground(self, name: str) -> Style:
        """A style for the ground alone, so that a program's own colours stay."""
        style = self.get_component_rich_style(name)
        return Style(bgcolor=style.bgcolor, bold=style.bold, underline=style.underline)

    @property
    def _palette(self) -> Palette:
        if self._colors is None:
            self._colors = palette(self.app.theme_variables)
        return self._colors


def cells(line: str) -> int:
    """How wide a line is drawn."""
    if line.isascii() and line.isprintable():
        return len(line)
    return cell_len(shown(uncolored(line)))
