"""What a run added, changed and removed in its file system: plain data beside Harbor's own files."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

type Change = Literal["added", "changed", "removed"]
type FileKind = Literal["file", "directory", "link", "other"]

_FILE = Path("workbench", "changes.json")
_LARGEST = 64 << 20


class FileChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One path that is not as it was."""

    path: str
    """In the environment, absolute."""
    change: Change
    kind: FileKind
    """What it is, or was before it was removed."""
    what: str = ""
    """Of a file its type, such as "text" or "PNG image"; of a link where it leads."""
    size: int | None = None
    """Bytes, of a file that is there."""
    size_before: int | None = None
    """Bytes, of a file that was there."""
    mode: str = ""
    """Permissions in octal, of what is there."""
    mode_before: str = ""
    """Those before, where they were others."""
    diff: str = ""
    """Unified, of text; empty where it is none, too large, or not known as it was."""


class Changes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a run changed, by path."""

    files: tuple[FileChange, ...] = ()
    left_out: int = 0
    """How many more there are."""
    notes: tuple[str, ...] = ()
    """What could not be found out, one line each."""


def changes_file(trial_dir: Path, step: str = "") -> Path:
    """Where a trial keeps them, or with `step` those of one step."""
    return (trial_dir / "steps" / step if step else trial_dir) / _FILE


def write_changes(changes: Changes, trial_dir: Path, step: str = "") -> None:
    """Keep them in the trial directory.

    Raises:
        OSError: they cannot be written.
    """
    path = changes_file(trial_dir, step)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(changes), indent=1))


def copy_changes(source: Path, target: Path) -> None:
    """Take over what a trial keeps, its steps' too, where another has none of its own."""
    for path in (source / _FILE, *source.glob(f"steps/*/{_FILE}")):
        copy = target / path.relative_to(source)
        with suppress(OSError):
            if path.is_file() and not path.is_symlink() and not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


def read_changes(trial_dir: Path, step: str = "") -> Changes | None:
    """Those of a trial or a step; None where they are not known."""
    path = changes_file(trial_dir, step)
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Changes)
    except (OSError, msgspec.MsgspecError):
        return None
