"""Reading a task's text files with every way it can go wrong told as a problem."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from workbench.task.problem import Problem
from workbench.task.toml_places import place_at

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""What a UTF-8 byte-order mark decodes to."""


def shown(path: Path | str) -> str:
    """The path as text that any encoder takes: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def reason(error: OSError | ValueError) -> str:
    """The system's words for what went wrong, without the path and number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def read_bytes(file: Path, name: str) -> bytes | Problem:
    """What `file` holds, or why it cannot be read. A pipe or device is not waited for.

    Args:
        name: The path to show in a problem.
    """
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            return Problem(name, "not-a-file", "error", f"it is {kind}", "put a regular file in its place")
        return file.read_bytes()
    except FileNotFoundError:
        hint = "its target does not exist; correct the link" if file.is_symlink() else f"add {name}"
        return Problem(name, "missing-file", "error", "the file does not exist", hint)
    except (OSError, ValueError) as error:
        message = f"cannot read it: {reason(error)}"
        return Problem(name, "unreadable-file", "error", message, "check its permissions")


def read_text(file: Path, name: str) -> str | Problem:
    """The text of `file`, a byte-order mark included, or why there is none; see `read_bytes`."""
    data = read_bytes(file, name)
    if isinstance(data, Problem):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        sound = data[: error.start].decode("utf-8")
        message = f"byte 0x{data[error.start]:02x} is not UTF-8, so the file cannot be read"
        return Problem(
            name, "not-utf-8", "error", message, "save the file as UTF-8", *place_at(sound, len(sound))
        )
