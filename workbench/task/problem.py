"""A finding about a task's files."""

from __future__ import annotations

from typing import Literal

import msgspec

type Severity = Literal["error", "warning", "info"]


class Problem(msgspec.Struct, frozen=True):
    """One finding: what is wrong, where, and what to do about it."""

    path: str
    """The file, relative to the task directory ("." for the directory itself)."""
    rule: str
    """A short stable name for the kind of finding, such as `toml-syntax`."""
    severity: Severity
    """`error` keeps the task from running; the others do not."""
    message: str
    """What is wrong, and why it matters."""
    hint: str = ""
    """What to do next."""
    line: int | None = None
    """1-based line, where there is one."""
    column: int | None = None
    """1-based column, where there is one."""

    @property
    def where(self) -> str:
        """`path`, `path:line` or `path:line:column`."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}"
        return f"{text}; {self.hint}" if self.hint else text
