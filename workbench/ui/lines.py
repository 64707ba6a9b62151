"""Output as lines, of any length, without holding a million strings.

Text is kept (or found on disk) in blocks of whole lines; only the blocks being looked at are split.
A line break is LF, CR LF, or a lone CR, which is kept as a sign: what a program overwrote is shown,
not lost. A line longer than `LINE_LIMIT` is broken, again with a sign.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

BLOCK = 64 * 1024
"""Characters (bytes, of a file) that a block holds before another is begun."""
LINE_LIMIT = 8 * 1024
"""Longest line in characters."""
_CACHED_BLOCKS = 16


class Lines(ABC):
    """Numbered lines of text, from 0."""

    dropped = 0
    """How many lines before line 0 were let go."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        """The number of each block's first line."""
        self._split: OrderedDict[int, list[str]] = OrderedDict()

    @abstractmethod
    def __len__(self) -> int:
        """How many lines there are so far."""

    @abstractmethod
    def _load(self, block: int) -> str:
        """The text of a block, line breaks made LF."""

    def __getitem__(self, number: int) -> str:
        block = self.block_of(number)
        return self.block(block)[number - self._starts[block]]

    @property
    def blocks(self) -> int:
        """How many blocks there are; the last may be empty."""
        return len(self._starts)

    def start(self, block: int) -> int:
        """The number of a block's first line."""
        return self._starts[block]

    def block_of(self, number: int) -> int:
        """The block that holds a line.

        Raises:
            IndexError: there is no such line.
        """
        if not 0 <= number < len(self):
            raise IndexError(number)
        return bisect_right(self._starts, number) - 1

    def block(self, block: int) -> list[str]:
        """The lines of a block."""
        if (lines := self._split.get(block)) is not None:
            self._split.move_to_end(block)
            return lines
        lines = self._load(block).split("\n")
        if lines[-1] == "":
            lines.pop()
        self._split[block] = lines
        if len(self._split) > _CACHED_BLOCKS:
            self._split.popitem(last=False)
        return lines


class LiveLines(Lines):
    """Lines that still come in, held in memory up to a limit."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        """
        Args:
            limit: Characters kept; whole blocks at the start are dropped beyond it.
        """
        super().__init__()
        self._starts = [0]
        self._limit = limit
        self._texts: list[str] = []
        """The blocks that are full."""
        self._tail: list[str] = []
        """Pieces of the last block, which is still being filled."""
        self._tail_size = 0
        self._kept = 0
        self._newlines = 0
        self._open = 0
        """Characters since the last line break."""
        self._held = ""
        """A CR at the end of a piece, whose LF may come with the next."""

    def __len__(self) -> int:
        return self._newlines + (self._open > 0)

    def append(self, text: str) -> None:
        """Take in a piece of text, which need not end at a line's end."""
        for at in range(0, len(text), BLOCK):
            self._append(text[at : at + BLOCK])

    def _append(self, text: str) -> None:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = shorten(breaks(text.removesuffix("\r")), self._open)
        cut = text.rfind("\n") + 1
        self._newlines += text.count("\n")
        self._open = len(text) - cut if cut else self._open + len(text)
        self._split.pop(len(self._texts), None)
        self._kept += len(text)
        if cut and self._tail_size + cut >= BLOCK:
            self._texts.append("".join((*self._tail, text[:cut])))
            self._starts.append(self._newlines)
            self._tail, self._tail_size, text = [], 0, text[cut:]
        self._tail.append(text)
        self._tail_size += len(text)
        if self._kept > self._limit and self._texts:
            self._drop()

    def _drop(self) -> None:
        gone = self._starts[1]
        self._starts = [start - gone for start in self._starts[1:]]
        self._kept -= len(self._texts.pop(0))
        self._newlines -= gone
        self.dropped += gone
        self._split.clear()

    def _load(self, block: int) -> str:
        if block < len(self._texts):
            return self._texts[block]
        self._tail = ["".join(self._tail)]
        return self._tail[0]


class FileLines(Lines):
    """The lines of files, one after the other, read as they are looked at.

    Where a file shrinks meanwhile, cannot be read any more or has been closed, its lines are empty.
    """

    def __init__(self, *paths: Path) -> None:
        """
        Raises:
            OSError: one cannot be opened.
        """
        super().__init__()
        with ExitStack() as files:
            self._files = [files.enter_context(path.open("rb", buffering=0)) for path in paths]
            self._open = files.pop_all()
        self._parts: list[tuple[FileIO, int, int]] = []
        """Of each block the file, and where in it the block starts and ends, in bytes."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def scan(self) -> Iterator[None]:
        """Find the lines, block by block, so that the caller can breathe in between."""
        for file in self._files:
            at = 0
            while data := _read(file, BLOCK, at):
                end = len(data) if len(data) < BLOCK else data.rfind(b"\n") + 1 or _whole(data)
                text = _decode(data[:end])
                self._starts.append(self._count)
                self._parts.append((file, at, at + end))
                self._count += text.count("\n") + (not text.endswith("\n"))
                at += end
                yield

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()

    def _load(self, block: int) -> str:
        file, start, end = self._parts[block]
        following = self._starts[block + 1] if block + 1 < len(self._starts) else self._count
        text = _decode(_read(file, end - start, start))
        return text + "\n" * (following - self._starts[block] - text.count("\n"))


def _read(file: FileIO, size: int, at: int) -> bytes:
    try:
        return b"" if file.closed else os.pread(file.fileno(), size, at)
    except OSError:
        return b""


def breaks(text: str) -> str:
    """All line breaks made LF, those that were a lone CR marked."""
    return text.replace("\r\n", "\n").replace("\r", "␍\n") if "\r" in text else text


def shorten(text: str, before: int = 0) -> str:
    """Lines above the limit broken, with a sign.

    Args:
        before: Characters that the first line has already.
    """
    pieces = []
    at, room = 0, max(0, LINE_LIMIT - before)
    while len(text) - at > room:
        newline = text.rfind("\n", at, at + room + 1)
        end = newline + 1 if newline >= 0 else at + room
        pieces += [text[at:end]] if newline >= 0 else [text[at:end], "↩\n"]
        at, room = end, LINE_LIMIT
    return "".join((*pieces, text[at:])) if pieces else text


def _decode(data: bytes) -> str:
    return shorten(breaks(data.decode("utf-8", "replace")))


def _whole(data: bytes) -> int:
    """Where to cut bytes with no line break so that no character of UTF-8 is cut."""
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if data[end - 1] >= 0xC0 else len(data)
