"""What Harbor refuses, in its own words and with the path that it speaks of."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.task.problem import Problem
from workbench.task.text import reason, shown


def refused(root: Path, error: Exception) -> Problem:
    """An error of Harbor's as a problem; its words end with the path where they speak of one.

    Args:
        root: The task directory, resolved.
    """
    if isinstance(error, OSError) and error.filename:
        file = Path(os.fsdecode(error.filename))
        name = shown(file.relative_to(root) if file.is_relative_to(root) else file)
        message = f"cannot read it: {reason(error)}"
        return Problem(name, "unreadable-file", "error", message, "check its permissions")
    message = str(error).replace(f"{root}{os.sep}", "").replace(str(root), "the task directory")
    words, _, path = message.rpartition(": ")
    if not words or not os.path.lexists(root / path):
        return Problem(".", "refused-by-harbor", "error", shown(message))
    hint = "copy what the link points to into the task" if (root / path).is_symlink() else ""
    return Problem(shown(path), "refused-by-harbor", "error", words[:1].lower() + words[1:], hint)
