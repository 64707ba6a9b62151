"""Lines of output with their ANSI colours: any number of them, drawn only where one looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events, work
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.visual import Visual

from workbench.ui.ansi import PLAIN, Palette, Pen, pen_after, pieces, shown, uncolored
from workbench.ui.lines import Lines, LiveLines
from workbench.ui.once import once
from workbench.ui.rows import Rows
from workbench.ui.slices import in_slices
from workbench.ui.strips import restyle
from workbench.ui.theme_files import palette

_SCROLLBAR_SECONDS = 0.2
"""How long a scrollbar may lag behind lines that come."""
_MARGIN = Spacing(top=1, right=2, bottom=0, left=1)
"""Around what is said while there are no lines."""


class LinesView(ScrollView, can_focus=True):
    """Lines, following the end until one scrolls away from it."""

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines-view--silence"}

    follow: var[bool] = var(True, init=False)
    """Stay at the end as output comes."""
    wrap: var[bool] = var(True, init=False)
    """Break lines that are longer than the view."""
    raw: var[bool] = var(False, init=False)
    """Show colour sequences instead of colours."""

    @dataclass
    class StateChanged(Message):
        """What `state` says is something else now."""

        asked: bool
        """Whether the user did that, rather than lines that came."""

    def __init__(self, identifier: str) -> None:
        super().__init__(id=identifier)
        self.live = False
        """Whether more lines may come."""
        self._silence = Content()
        self._silent: list[Strip] | None = None
        self._silent_room = 0
        """Cells that what is said was wrapped for."""
        self._lines: Lines = LiveLines()
        self._rows = Rows(self._lines, None)
        self._laid_out: LRUCache[tuple[int, int | None, bool], Rows] = LRUCache(8)
        self._known = 0
        """Lines drawn so far."""
        self._dropped = 0
        self._eye = 0
        """The line that the user scrolled to the top, counted from the first that ever came."""
        self._width = 0
        self._drawn = 0
        """Rows that held something when they were last drawn."""
        self._placing = False
        self._scrollbar_due: Timer | None = None
        self._strips: LRUCache[int, list[Strip]] = LRUCache(512)
        self._pens: LRUCache[int, list[Pen]] = LRUCache(32)
        """The pen at the start of each line of a block that was looked at, and at its end."""
        self._colors: Palette | None = None

    @property
    def lines(self) -> Lines:
        """What is shown."""
        return self._lines

    @property
    def silence(self) -> Content:
        """What is said while there are no lines."""
        return self._silence

    @silence.setter
    def silence(self, silence: Content) -> None:
        if not silence.is_same(self._silence):
            self._silence, self._silent = silence, None
            if not self._lines:
                self._redraw()

    @property
    def state(self) -> str:
        """How it is looked at, in a few words."""
        words = [f"{len(self._lines):,} line{'s' if len(self._lines) != 1 else ''}"]
        words += [f"{self._lines.dropped:,} earlier ones dropped"] if self._lines.dropped else []
        words += ["raw"] if self.raw else []
        words += [] if self.wrap else ["not wrapped"]
        words += self._also()
        words += ["following"] if self.follow and self.live else []
        return " · ".join(words)

    def _also(self) -> list[str]:
        """What else there is to say of how it is looked at."""
        return []

    def show(self, lines: Lines) -> None:
        """Show other lines, from their end when following, else from their start."""
        # Lines that let go of some are the same ones still: what one reads of them stays in sight.
        self._eye = self._eye if lines is self._lines else lines.dropped
        self._lines = lines
        self._dropped = lines.dropped
        self._lay_out(max(0, self._eye - lines.dropped))

    def grown(self) -> None:
        """Draw what was added to the lines since the last call."""
        gone = self._lines.dropped - self._dropped
        if gone or self._known > len(self._lines):
            self._dropped = self._lines.dropped
            self.show(self._lines)
            return
        # The line that was last may have grown, and so may its colour for the lines after it.
        self._strips.discard(self._known - 1)
        last = self._lines.blocks - 1
        if last in self._pens:
            del self._pens[last][max(1, self._known - self._lines.start(last)) :]
        self._known = len(self._lines)
        self._rows.grown()
        self._work()

    def _lay_out(self, line: int | None = None) -> None:
        """Make the rows anew: other lines, another width, or another way to show them.

        Args:
            line: What to show at the top where the end is not followed; what is there when None.
        """
        if line is None:
            line = self._here() if not self.follow else 0
        # A column is kept free for the scrollbar, so that its coming does not change the rows.
        room = self.size.width - self.styles.gutter.width - 1
        self._rows = self._rows_of(max(1, room) if self.wrap else None)
        self._width = 0
        self._known = len(self._lines)
        self._forget()
        self._work(line)

    def _rows_of(self, width: int | None) -> Rows:
        """Rows of the lines that are shown, which are measured already where they were shown before."""
        key = (id(self._lines), width, self.raw)
        rows = self._laid_out.get(key)
        if rows is None or rows.lines is not self._lines or rows.dropped != self._lines.dropped:
            rows = self._laid_out[key] = Rows(self._lines, width, raw=self.raw)
        rows.grown()
        return rows

    def _work(self, line: int | None = None) -> None:
        """Measure rows, now for a slice and then as long as it takes, and do what else there is to do."""
        measuring = self._rows.measure()
        next(measuring, None)
        self._spread(line)
        self._changed(asked=False)
        if self.wrap or self._further():
            self._go_on(measuring, line, self._eye)

    def _further(self) -> Iterator[None] | None:
        """What is to be done with the lines once they are measured, in slices."""
        return None

    @work(group="work", exclusive=True)
    async def _go_on(self, measuring: Iterator[None], line: int | None, eye: int) -> None:
        before = len(self._rows)
        await in_slices(measuring)
        # Who has gone elsewhere meanwhile stays there.
        self._spread(line if self._eye == eye else max(0, self._eye - self._dropped))
        if len(self._rows) != before:
            self._changed(asked=False)
        if further := self._further():
            await in_slices(further)
            self._changed()

    def _spread(self, line: int | None) -> None:
        """Give the scrollbars what there is, and stay where the user looks."""
        top = self.scroll_offset.y if line is None else self._rows.first(min(line, max(0, self._known - 1)))
        self._make_room(Size(0 if self.wrap else self._width, len(self._rows)))
        self._place(self.max_scroll_y if self.follow else top)

    def _make_room(self, size: Size) -> None:
        """Scroll over so much. More lines are no reason to lay the screen out anew: there is a scrollbar."""
        if size.width != self.virtual_size.width:
            self.virtual_size = size
        elif size != self.virtual_size:
            self.set_reactive(LinesView.virtual_size, size)
            if self._scrollbar_due is None:
                self._scrollbar_due = once(self, _SCROLLBAR_SECONDS, self._show_scrollbar)

    def _show_scrollbar(self) -> None:
        self._scrollbar_due = None
        self._scroll_update(self.virtual_size)
        self.vertical_scrollbar.position = self.scroll_y

    def _place(self, y: int) -> None:
        self._placing = True
        # Forced, because a scrollbar that is about to be shown does not allow it yet.
        self.scroll_to(y=max(0, y), animate=False, force=True)
        self._placing = False

    def _redraw(self) -> None:
        """Draw the rows that hold something now, or did before; an empty row costs as much as another."""
        rows = max(0, len(self._rows) - self.scroll_offset.y) or len(self._silent_strips)
        changed, self._drawn = max(rows, self._drawn), rows
        self.refresh(Region(0, 0, self.size.width, min(changed, max(1, self.size.height))))

    def _changed(self, *, asked: bool = True) -> None:
        self._redraw()
        self.post_message(self.StateChanged(asked))

    def on_resize(self) -> None:
        """Wrap for another width."""
        self._lay_out()

    def notify_style_update(self) -> None:
        """Draw anew in another theme's colours."""
        self._colors = None
        self._forget()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Following stops where the user scrolls away from the end, and begins again there."""
        if self._placing and self.follow:
            self.refresh()
            return
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and self.is_mounted:
            self.follow = new_value >= self.max_scroll_y
            self._eye = self._dropped + self._here()
            self._changed()

    def watch_mouse_hover(self) -> None:
        """Draw so that text can be selected, while the mouse is here."""
        self._strips.clear()
        self.refresh()

    def watch_raw(self) -> None:
        """Show it the other way."""
        self._lay_out()

    def watch_wrap(self) -> None:
        """Show it the other way."""
        self._lay_out()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.follow = True
        self._place(self.max_scroll_y)
        self._changed()

    def action_top(self) -> None:
        """Go to the first line."""
        self.go_to(0)

    def action_toggle_raw(self) -> None:
        """Show colour sequences, or colours again."""
        self.raw = not self.raw

    def action_toggle_wrap(self) -> None:
        """Break long lines, or let them run out of sight."""
        self.wrap = not self.wrap

    def texts(self) -> Iterator[str]:
        """The lines as they are shown."""
        return map(self._text, range(len(self._lines)))

    def go_to(self, line: int) -> None:
        """Show a line, a third from the top, and stop following."""
        self.follow = False
        self._place(self._rows.first(line) - self.scrollable_content_region.height // 3)
        self._eye = self._dropped + self._here()
        self._strips.clear()
        self._changed()

    def _here(self) -> int:
        return self._rows.at(self.scroll_offset.y)[0] if self._known else 0

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text."""
        start = selection.start.y if selection.start else 0
        end = selection.end.y if selection.end else len(self._lines) - 1
        lines = [""] * start + [self._text(line) for line in range(start, min(end + 1, len(self._lines)))]
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._strips.clear()
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scrolling up by the wheel stops following, also at the top."""
        self.follow = False

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        style = self.visual_style.rich_style
        if top + y >= len(self._rows):
            said = self._silent_strips[y : y + 1] if not self._lines else []
            return said[0].crop_extend(0, width, style) if said else Strip.blank(width, style)
        line, part = self._rows.at(top + y)
        parts = self._parts(line)
        strip = parts[min(part, len(parts) - 1)]
        return strip.crop_extend(left, left + width, style).apply_style(style)

    @property
    def _silent_strips(self) -> list[Strip]:
        room = self.scrollable_content_region.width - _MARGIN.width
        if self._silent is None or room != self._silent_room:
            self._silent_room = room
            style = self.get_visual_style("lines-view--silence")
            text = Visual.to_strips(self, self._silence, max(1, room), None, style, apply_selection=False)
            left = Strip.blank(_MARGIN.left, style.rich_style)
            self._silent = [Strip.blank(0)] * _MARGIN.top + [left + strip for strip in text]
        return self._silent

    def _parts(self, line: int) -> list[Strip]:
        """The rows of a line."""
        if (parts := self._strips.get(line)) is None:
            strip = self._marked(line, self._strip(line))
            text = strip.text
            parts, starts = [strip], [0]
            if self.wrap and (not text.isascii() or len(text) > self._rows.width):
                cuts = self._rows.cuts(text)
                parts = [*strip.divide(cuts[1:])] or parts
                starts = [len(strip.crop(0, cut).text) for cut in cuts]
            if self.mouse_hover:
                # What a selection begins from. It makes every style another one, so it waits for the mouse.
                parts = [part.apply_offsets(start, line) for part, start in zip(parts, starts, strict=False)]
            self._strips[line] = parts
            if not self.wrap and strip.cell_length > self._width:
                self._width = strip.cell_length
                self.call_later(self._spread, None)
        return parts

    def _strip(self, line: int) -> Strip:
        segments = pieces(self._lines[line], self._pen(line), self._palette, raw=self.raw)
        return Strip([Segment(*piece) for piece in segments] or [Segment("")])

    def _marked(self, line: int, strip: Strip) -> Strip:
        """A line with what is selected of it."""
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(line)) is not None:
            start, end = span
            style = self.screen.get_component_rich_style("screen--selection")
            strip = restyle(strip, start, len(strip.text) if end == -1 else end, style)
        return strip

    def _text(self, line: int) -> str:
        return shown(self._lines[line] if self.raw else uncolored(self._lines[line]))

    def _pen(self, line: int) -> Pen:
        """The pen at a line's start: colours may go on over line breaks."""
        block = self._lines.block_of(line)
        return self._block_pens(block)[line - self._lines.start(block)]

    def _block_pens(self, block: int) -> list[Pen]:
        if (pens := self._pens.get(block)) is None:
            # Blocks far from the start would need all those before; one before is a fair guess.
            before = self._block_end(block - 1) if block - 1 in self._pens else PLAIN
            pens = self._pens[block] = [before]
        lines = self._lines.block(block)
        while len(pens) <= len(lines):
            pens.append(pen_after(lines[len(pens) - 1], pens[-1], self._palette))
        return pens

    def _block_end(self, block: int) -> Pen:
        return self._block_pens(block)[-1]

    @property
    def _palette(self) -> Palette:
        if self._colors is None:
            self._colors = palette(self.app.theme_variables)
        return self._colors

    def _forget(self) -> None:
        self._strips.clear()
        self._pens.clear()
        self._silent = None
