"""The shell scripts of a task, as rules read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from workbench.task.ignored import is_ignored
from workbench.task.text import read_bytes, shown

ENTRY_POINTS = (
    "tests/test.sh",
    "solution/solve.sh",
    "steps/*/tests/test.sh",
    "steps/*/solution/solve.sh",
    "steps/*/workdir/setup.sh",
    "negatives/*.sh",
    "negatives/*/solve.sh",
    "negatives/*/steps/*/solve.sh",
)
"""Scripts that run by themselves, by pattern."""
TEST_SCRIPTS = ("tests/test.sh", "steps/*/tests/test.sh")
_LARGEST = 1_000_000


class Line(msgspec.Struct, frozen=True):
    """A line of a script that is neither blank, comment, nor inside a here-document."""

    number: int
    """Counted from 1."""
    text: str
    """Without its line end; with the lines that a backslash joins to it."""

    @property
    def indented(self) -> bool:
        """Whether it begins with white space, as what is in a function or a condition does."""
        return self.text[:1].isspace()


class Script(msgspec.Struct, frozen=True):
    """A shell script."""

    path: str
    """Relative to the task."""
    data: bytes

    @property
    def text(self) -> str:
        """What it says; bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")

    def lines(self) -> Iterator[Line]:
        """The lines with commands."""
        heredocs: list[str] = []
        joined, start = "", 1
        for number, text in enumerate(self.text.splitlines(), 1):
            if heredocs:
                if text.strip() == heredocs[0]:
                    heredocs.pop(0)
                continue
            if not joined and (not text.strip() or text.lstrip().startswith("#")):
                continue
            start = start if joined else number
            if text.endswith("\\"):
                joined += text[:-1]
                continue
            yield Line(start, joined + text)
            heredocs = re.findall(r"<<-?\s*['\"\\]?(\w+)", _without_here_strings(joined + text))
            joined = ""


def scripts(root: Path, patterns: tuple[str, ...] = ENTRY_POINTS) -> Iterator[Script]:
    """The scripts that match, in order of their paths. Those that cannot be read are `load`'s to tell."""
    for file in sorted({file for pattern in patterns for file in root.glob(pattern)}):
        path = file.relative_to(root)
        if is_ignored(path) or not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        data = read_bytes(file, name := shown(path))
        if isinstance(data, bytes):
            yield Script(name, data)


def _without_here_strings(text: str) -> str:
    return text.replace("<<<", "")
