"""What a run changed in its file system, as rows and as text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textual.content import Content

from workbench.trials.file_changes import Change, FileChange, read_changes
from workbench.ui import trial_files, words
from workbench.ui.figures import memory
from workbench.ui.visible import one_line

_MARKS: dict[Change, words.Mark] = {
    "added": words.Mark("+", "added", words.OK),
    "changed": words.Mark("~", "changed", words.WARN),
    "removed": words.Mark("-", "removed", words.BAD),
}


@dataclass(frozen=True)
class ChangeRow:
    """A path that a run changed."""

    step: str
    """Empty in a task without steps."""
    file: FileChange


@dataclass(frozen=True)
class Changed:
    """All that a run changed."""

    rows: tuple[ChangeRow, ...] = ()
    summary: str = ""
    """In one line; empty where nothing is known."""


NOTHING = Changed()


def find_changes(trial: Path) -> Changed:
    """What a trial tells of it, step by step."""
    rows: list[ChangeRow] = []
    notes: list[str] = []
    left, known = 0, False
    for step, _ in trial_files.roots(trial):
        if found := read_changes(trial, step):
            known = True
            rows += [ChangeRow(step, file) for file in found.files]
            left += found.left_out
            notes += found.notes
    counts = [
        f"{sum(row.file.change == change for row in rows):,} {mark.word}" for change, mark in _MARKS.items()
    ]
    parts = [*counts, *([f"{left:,} more not listed"] if left else []), *notes]
    return Changed(tuple(rows), one_line(", ".join(notes or parts)) if known else "")


def row_line(row: ChangeRow) -> Content:
    """A row of the list."""
    file, mark = row.file, _MARKS[row.file.change]
    step = f"{one_line(row.step)}: " if row.step else ""
    end = "/" if file.kind == "directory" else f" → {one_line(file.what)}" if file.kind == "link" else ""
    return Content.assemble(
        (f"{mark.sign} {mark.word:<10}", mark.color),
        (step, words.MUTED),
        one_line(file.path),
        (f"{end}{_about(file)}", words.MUTED),
    )


def row_lines(row: ChangeRow) -> list[str]:
    """The row and the lines of its difference, to be compared with another run's."""
    step = f"{row.step}: " if row.step else ""
    difference = row.file.diff.splitlines()[2:]
    return [f"{step}{row.file.change} {row.file.path}", *(f"    {line}" for line in difference)]


def row_text(row: ChangeRow) -> str:
    """The row in words, then its difference."""
    file = row.file
    return f"{one_line(file.path)}: {_MARKS[file.change].word}{_about(file)}\n\n{file.diff}"


def _about(file: FileChange) -> str:
    parts = []
    if file.what and file.what != "text" and file.kind == "file":
        parts.append(one_line(file.what))
    sizes = [memory(size) for size in (file.size_before, file.size) if size is not None]
    if sizes:
        parts.append(" → ".join(dict.fromkeys(sizes)))
    if file.mode_before:
        parts.append(f"mode {file.mode_before} → {file.mode}")
    if file.kind == "other":
        parts.append("neither file nor directory")
    return f"  {', '.join(parts)}" if parts else ""
