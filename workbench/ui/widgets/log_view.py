"""Program output: any number of lines, drawn only where one looks."""

from __future__ import annotations

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.ui.ansi import PLAIN, Palette, Pen, pen_after, pieces
from workbench.ui.commands import OUTPUT, bindings
from workbench.ui.lines import Lines, LiveLines
from workbench.ui.theme_files import palette


class LogView(ScrollView, can_focus=True):
    """Lines with their ANSI colours, following the end until one scrolls away from it."""

    BINDINGS = bindings(OUTPUT)

    follow: var[bool] = var(True)
    """Stay at the end as output comes."""
    raw: var[bool] = var(False)
    """Show colour sequences instead of colours."""

    def __init__(self, identifier: str) -> None:
        super().__init__(id=identifier)
        self._lines: Lines = LiveLines()
        self._shown = 0
        self._dropped = 0
        self._width = 0
        self._strips: LRUCache[int, Strip] = LRUCache(1024)
        self._pens: LRUCache[int, list[Pen]] = LRUCache(32)
        """The pen at the start of each line of a block that was looked at, and at its end."""
        self._placing = False
        self._colors: Palette | None = None

    @property
    def lines(self) -> Lines:
        """What is shown."""
        return self._lines

    def show(self, lines: Lines) -> None:
        """Show other lines, from their end when following, else from their start."""
        self._lines = lines
        self._width = 0
        self._dropped = lines.dropped
        self._forget()
        self._place(0)
        self.grown()

    def grown(self) -> None:
        """Draw what was added to the lines since the last call."""
        if gone := self._lines.dropped - self._dropped:
            self._dropped = self._lines.dropped
            self._forget()
        # The line that was last may have grown, and so may its colour for the lines after it.
        self._strips.discard(self._shown - 1)
        self._pens.discard(self._lines.blocks - 1)
        self._shown = len(self._lines)
        self.virtual_size = Size(self._width, self._shown)
        self._place(self.max_scroll_y if self.follow else self.scroll_offset.y - gone)
        self.refresh()

    def _place(self, y: int) -> None:
        self._placing = True
        self.scroll_to(y=max(0, y), animate=False)
        self._placing = False

    def notify_style_update(self) -> None:
        """Draw anew in another theme's colours."""
        self._colors = None
        self._forget()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Following stops where the user scrolls away from the end, and begins again there."""
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            self.follow = new_value >= self.max_scroll_y

    def watch_raw(self) -> None:
        """Draw anew."""
        self._forget()
        self.refresh()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.follow = True
        self._place(self.max_scroll_y)

    def action_top(self) -> None:
        """Go to the first line."""
        self.follow = False
        self._place(0)

    def action_toggle_raw(self) -> None:
        """Show colour sequences, or colours again."""
        self.raw = not self.raw

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        style = self.rich_style
        number = top + y
        if number >= len(self._lines):
            return Strip.blank(width, style)
        strip = self._strip(number)
        return strip.crop_extend(left, left + width, style).apply_style(style)

    def _strip(self, number: int) -> Strip:
        if (strip := self._strips.get(number)) is None:
            pen = self._pen(number)
            segments = [
                Segment(*piece) for piece in pieces(self._lines[number], pen, self._palette, raw=self.raw)
            ]
            strip = self._strips[number] = Strip(segments)
            if strip.cell_length > self._width:
                self._width = strip.cell_length
                self.call_later(self._widen)
        return strip

    def _widen(self) -> None:
        self.virtual_size = Size(self._width, self._shown)

    def _pen(self, number: int) -> Pen:
        """The pen at a line's start: colours may go on over line breaks."""
        block = self._lines.block_of(number)
        return self._block_pens(block)[number - self._lines.start(block)]

    def _block_pens(self, block: int) -> list[Pen]:
        if (pens := self._pens.get(block)) is None:
            # Blocks far from the start would need all those before; one before is a fair guess.
            pen = self._pens[block - 1][-1] if block - 1 in self._pens else PLAIN
            pens = [pen]
            for line in self._lines.block(block):
                pen = pen_after(line, pen, self._palette)
                pens.append(pen)
            self._pens[block] = pens
        return pens

    @property
    def _palette(self) -> Palette:
        if self._colors is None:
            self._colors = palette(self.app.theme_variables)
        return self._colors

    def _forget(self) -> None:
        self._strips.clear()
        self._pens.clear()
