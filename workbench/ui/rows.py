"""Which rows of the screen a line takes, with long lines wrapped or not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from rich.cells import cell_len, chop_cells
from textual.cache import LRUCache

from workbench.ui.ansi import shown, uncolored
from workbench.ui.lines import Lines


class Rows:
    """Rows over lines. Lines that were not measured yet are taken to need one row each."""

    def __init__(self, lines: Lines, width: int | None, *, raw: bool = False) -> None:
        """
        Args:
            width: Cells of a row; None for rows as long as their lines.
            raw: Colour sequences are shown, so they take room.
        """
        self.lines = lines
        self.dropped = lines.dropped
        """How many lines were dropped when these rows were begun."""
        self._width = width
        self.width = width or 0
        """Cells of a row, 0 for rows as long as their lines."""
        self._raw = raw
        self._starts = [0]
        """The first row of each measured block, and of the first that is not."""
        self._ends: LRUCache[int, list[int]] = LRUCache(32)
        """For each line of a block, the rows up to its end, counted from the block's start."""

    def __len__(self) -> int:
        if self._width is None:
            return len(self.lines)
        return self._starts[-1] + len(self.lines) - self._measured_lines

    @property
    def _measured_lines(self) -> int:
        measured = len(self._starts) - 1
        return self.lines.start(measured) if measured < self.lines.blocks else len(self.lines)

    def grown(self) -> None:
        """Measure the last block anew: lines were added to it, or its last line grew."""
        self._ends.discard(self.lines.blocks - 1)
        del self._starts[max(1, self.lines.blocks) :]

    def measure(self) -> Iterator[None]:
        """Measure what is not measured yet, block by block, so that the caller can breathe in between."""
        while self._width is not None and len(self._starts) <= self.lines.blocks:
            ends = self._block_ends(len(self._starts) - 1)
            self._starts.append(self._starts[-1] + (ends[-1] if ends else 0))
            yield

    def at(self, row: int) -> tuple[int, int]:
        """The line that a row shows, and which of its rows this is."""
        if self._width is None:
            return row, 0
        if row >= self._starts[-1]:
            return self._measured_lines + row - self._starts[-1], 0
        block = bisect_right(self._starts, row) - 1
        ends = self._block_ends(block)
        offset = row - self._starts[block]
        line = bisect_right(ends, offset)
        return self.lines.start(block) + line, offset - (ends[line - 1] if line else 0)

    def first(self, line: int) -> int:
        """The first row of a line."""
        if self._width is None:
            return line
        measured = self._measured_lines
        if line >= measured:
            return self._starts[-1] + line - measured
        block = self.lines.block_of(line)
        before = line - self.lines.start(block)
        return self._starts[block] + (self._block_ends(block)[before - 1] if before else 0)

    def cuts(self, text: str) -> list[int]:
        """Where a line is cut into rows, in cells from its start, both ends included."""
        if self._width is None:
            return [0, cell_len(text)]
        if text.isascii():
            return [*range(0, max(1, len(text)), self._width), len(text)]
        return [0, *accumulate(cell_len(part) for part in chop_cells(text, self._width))]

    def _block_ends(self, block: int) -> list[int]:
        if (ends := self._ends.get(block)) is None:
            ends = self._ends[block] = self._measured(self.lines.block(block))
        return ends

    def _measured(self, lines: list[str]) -> list[int]:
        width = self._width
        assert width is not None
        text = "\n".join(lines)
        # There is a lot of this, and nearly all of it is plain: one look at a whole block will do. No ASCII
        # character but a tab is shown by more than one cell, and colours by none.
        if text.isascii() and "\t" not in text and max(map(len, lines), default=0) <= width:
            return list(range(1, len(lines) + 1))
        if lines and not self._raw:
            text = uncolored(text)
            lines = text.split("\n")
        if (flat := text.replace("\n", "")).isascii() and flat.isprintable():
            return list(accumulate([-(-len(line) // width) or 1 for line in lines]))
        return list(accumulate([len(self.cuts(shown(line))) - 1 for line in lines]))
