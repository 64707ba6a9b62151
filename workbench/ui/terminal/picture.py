"""The picture of an emulator's screen as lines of the window."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from workbench.ui.terminal.emulator import Cursor, Emulator, Match, Row


@dataclass(frozen=True)
class Ink:
    """The styles to draw with."""

    text: Style
    cursor: Style | None
    """None to show no cursor."""
    selection: Style
    match: Style
    current: Style


class Picture:
    """What was last taken from the emulator: rows, and what lies over them."""

    def __init__(self, columns: int, rows: int) -> None:
        self._lines = [Strip.blank(columns)] * rows
        self._columns = columns
        self._selected: dict[int, tuple[int, int]] = {}
        self._matches: list[Match] = []
        self._cursor: Cursor | None = None
        self._coming: Iterator[tuple[int, Row]] | None = None
        self.complete = True
        """Whether everything was taken that the emulator had when `take` was last called."""

    @property
    def cursor(self) -> Cursor | None:
        """Where it was last seen."""
        return self._cursor

    def take(self, emulator: Emulator, seconds: float) -> set[int]:
        """Take what changed, or as much of it as can be in that time; which lines look different now."""
        deadline = time.perf_counter() + seconds
        resumed = self._coming is not None
        self._coming = coming = self._coming or emulator.changed()
        touched: set[int] = set()
        for y, row in coming:
            self._lines[y] = Strip(row.segments, self._columns)
            self._selected.pop(y, None)
            if row.selected:
                self._selected[y] = row.selected
            touched.add(y)
            if time.perf_counter() > deadline:
                break
        else:
            self._coming = None
        self.complete = self._coming is None and not resumed  # what was resumed is of an earlier moment
        return touched | self._overlay(emulator)

    def _overlay(self, emulator: Emulator) -> set[int]:
        cursor, matches = emulator.cursor, emulator.matches()
        touched = set()
        if cursor != self._cursor:
            touched |= {place.y for place in (cursor, self._cursor) if place}
        if matches != self._matches:
            touched |= {match.y for match in (*matches, *self._matches)}
        self._cursor, self._matches = cursor, matches
        return {y for y in touched if y < len(self._lines)}

    def line(self, y: int, ink: Ink) -> Strip:
        """One line, drawn."""
        if y >= len(self._lines):
            return Strip.blank(self._columns, ink.text)
        strip = self._lines[y].apply_style(ink.text)
        if y in self._selected:
            strip = _over(strip, *self._selected[y], ink.selection)
        for match in self._matches:
            if match.y == y:
                strip = _over(strip, match.start, match.end, ink.current if match.current else ink.match)
        if ink.cursor and self._cursor and self._cursor.y == y:
            x = self._cursor.x
            style = ink.cursor if self._cursor.block else Style(underline=True, bold=True)
            strip = _over(strip, x, x + _width_at(strip, x), style)
        return strip


def _over(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """`strip` with another style over some of its cells."""
    plain = Style(reverse=False) + style
    middle = [Segment(text, (old or Style.null()) + plain) for text, old, _ in strip.crop(start, end)]
    return Strip.join([strip.crop(0, start), Strip(middle), strip.crop(end)])


def _width_at(strip: Strip, x: int) -> int:
    """Cells of the character at `x`."""
    return max(1, cell_len(strip.crop(x, x + 2).text[:1]))
