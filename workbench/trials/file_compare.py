"""What became of a path: from what was seen of it before and after to a change with its diff."""

from __future__ import annotations

import difflib
import stat
import time
from dataclasses import dataclass, field

import msgspec

from workbench.trials.content_kind import content_kind
from workbench.trials.file_changes import Change, Changes, FileChange, FileKind

CONTENT_LIMIT = 128 << 10
"""Bytes of the largest file that is read whole, to be compared line by line."""
FILES_LIMIT = 2000
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_DIFF_LIMIT = 64 << 10
"""Characters kept of one diff."""
_DIFFS_SECONDS = 2.0
"""For all diffs together; comparing may take long where little is alike."""

SKIPPED = ("/dev", "/logs", "/proc", "/solution", "/sys", "/tests")
"""What is Harbor's or the kernel's rather than the task's."""


class Seen(msgspec.Struct, frozen=True):
    """A path as it was at one moment."""

    mode: int
    """As `lstat` gives it."""
    size: int
    version: str = ""
    """Of a file; two of one version hold the same. Empty where that is not known."""
    link: str = ""
    content: bytes | None = None
    """Of a file, all or the start; None where it was not looked at."""

    @property
    def kind(self) -> FileKind:
        """What it is."""
        if stat.S_ISREG(self.mode):
            return "file"
        if stat.S_ISDIR(self.mode):
            return "directory"
        return "link" if stat.S_ISLNK(self.mode) else "other"

    @property
    def whole(self) -> bool:
        """Whether all of its content is here."""
        return self.content is not None and len(self.content) == self.size

    @property
    def permissions(self) -> str:
        """In octal."""
        return f"{stat.S_IMODE(self.mode):04o}"


def is_skipped(path: str) -> bool:
    """Whether a path is not told of."""
    return any(path == skipped or path.startswith(f"{skipped}/") for skipped in SKIPPED)


@dataclass
class Comparison:
    """Collects changes."""

    _changes: list[FileChange] = field(default_factory=list)
    _left_out: int = 0
    _started: float = field(default_factory=time.monotonic)

    def add(self, path: str, before: Seen | None, after: Seen | None) -> None:
        """Take in what a path was and is; nothing where that is the same but for times."""
        if before is None and after is None:
            return
        if before is not None and after is not None and _same(before, after):
            return
        if not self.room:
            self._left_out += 1
            return
        shown = after or before
        assert shown is not None
        change: Change = "added" if before is None else "removed" if after is None else "changed"
        was = before.permissions if before and after else ""
        mode = after.permissions if after and after.kind != "link" else ""
        self._changes.append(
            FileChange(
                path=path,
                change=change,
                kind=shown.kind,
                what=_what(shown),
                size=after.size if after and after.kind == "file" else None,
                size_before=before.size if before and before.kind == "file" else None,
                mode=mode,
                mode_before=was if was != mode else "",
                diff=self._diff(path, before, after),
            )
        )

    @property
    def room(self) -> bool:
        """Whether another change would be told; further ones are only counted."""
        return len(self._changes) < FILES_LIMIT

    def result(self, *notes: str) -> Changes:
        """All of them, by path."""
        files = sorted(self._changes, key=lambda change: change.path)
        return Changes(files=tuple(files), left_out=self._left_out, notes=notes)

    def _diff(self, path: str, before: Seen | None, after: Seen | None) -> str:
        old, new = _lines(before), _lines(after)
        if old is None or new is None:
            return ""
        if old and new and time.monotonic() - self._started > _DIFFS_SECONDS:
            return ""
        names = ("/dev/null" if before is None else path, "/dev/null" if after is None else path)
        lines = difflib.unified_diff(old, new, *names)
        text = "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in lines)
        if len(text) <= _DIFF_LIMIT:
            return text
        return f"{text[:_DIFF_LIMIT].rpartition('\n')[0]}\n... {len(text) - _DIFF_LIMIT:,} characters more\n"


def _same(before: Seen, after: Seen) -> bool:
    if (before.mode, before.link) != (after.mode, after.link):
        return False
    if before.kind != "file":
        return True
    if before.size != after.size:
        return False
    if before.whole and after.whole:
        return before.content == after.content
    return bool(before.version) and before.version == after.version


def _what(seen: Seen) -> str:
    if seen.kind == "file":
        return "" if seen.content is None else content_kind(seen.content)
    return seen.link


def _lines(seen: Seen | None) -> list[str] | None:
    """The lines of a text; none where there is no file, None where they cannot be compared."""
    if seen is None:
        return []
    if seen.kind != "file" or seen.content is None or not seen.whole:
        return None
    if content_kind(seen.content) != "text":
        return None
    *lines, last = seen.content.decode("utf-8", "replace").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
