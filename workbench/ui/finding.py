"""Finding things in output of any length, a slice at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from workbench.ui.ansi import shown, uncolored
from workbench.ui.lines import Lines

type Span = tuple[int, int]


class Wanted(Protocol):
    """What is looked for."""

    def within(self, text: str) -> bool:
        """Whether it is in a text of any number of lines."""
        ...

    def spans(self, line: str) -> list[Span]:
        """Where it is in a line, in characters."""
        ...


class Words:
    """Words as they are typed, in any case unless a capital is among them."""

    def __init__(self, typed: str) -> None:
        self._typed = typed
        self._fold = typed == typed.lower()

    def within(self, text: str) -> bool:
        """Whether they are in the text."""
        return self._typed in (text.lower() if self._fold else text)

    def spans(self, line: str) -> list[Span]:
        """Where they are."""
        flags = re.IGNORECASE if self._fold else 0
        return [match.span() for match in re.finditer(re.escape(self._typed), line, flags)]


class Pattern:
    """A regular expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern, re.MULTILINE)

    def within(self, text: str) -> bool:
        """Whether it matches in the text."""
        return self._pattern.search(text) is not None

    def spans(self, line: str) -> list[Span]:
        """Where it matches."""
        return [match.span() for match in self._pattern.finditer(line)]


FAILURE = Pattern(
    r"^E  |^not ok\b|\b(?:FAILED|FAIL|ERROR|FATAL|PANIC|Traceback|panicked)\b|Error\b|Exception\b"
    r"|\b(?:error|fatal): "
)
"""How test runners, compilers and interpreters begin to speak of a failure."""


class Search:
    """The lines that have what is wanted.

    Attributes:
        found: Their numbers, in order.
        upto: The first line that was not looked at yet.
    """

    def __init__(self, lines: Lines, wanted: Wanted) -> None:
        self.wanted = wanted
        self.found: list[int] = []
        self.upto = 0
        self._lines = lines

    def go_on(self) -> Iterator[None]:
        """Look at the lines that were not looked at yet, block by block."""
        while self.upto < len(self._lines):
            block = self._lines.block_of(self.upto)
            first = self._lines.start(block)
            text = uncolored("\n".join(self._lines.block(block)))
            lines = text.split("\n")
            if self.wanted.within(text):
                self.found += [
                    first + at
                    for at in range(self.upto - first, len(lines))
                    if self.wanted.within(lines[at]) and self.wanted.spans(shown(lines[at]))
                ]
            self.upto = first + len(lines)
            yield

    def grown(self) -> None:
        """More lines have come, and the last one may have grown: look at it again."""
        self.upto = max(0, self.upto - 1)
        if self.found and self.found[-1] == self.upto:
            self.found.pop()

    def next(self, line: int, by: int) -> int | None:
        """The nearest match after (`by` 1) or before (-1) a line, going round; None without any."""
        if not self.found:
            return None
        if by > 0:
            return next((found for found in self.found if found > line), self.found[0])
        return next((found for found in reversed(self.found) if found < line), self.found[-1])
