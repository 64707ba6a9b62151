"""Files that a trial uploads and that may not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from workbench.task.ignored import is_ignored
from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.text import shown

_UPLOADED = ("environment", "tests", "solution", "steps")


def unreadable_problems(task: LoadedTask) -> Iterator[Problem]:
    """Each file and directory that the user may not read."""
    for directory in _UPLOADED:
        for path in (task.path / directory, *_beneath(task.path / directory)):
            mode = os.R_OK | os.X_OK if path.is_dir() else os.R_OK
            if path.exists() and not os.access(path, mode):
                name = shown(path.relative_to(task.path))
                message = "cannot read it: Permission denied"
                yield Problem(name, "unreadable-file", "error", message, "check its permissions")


def _beneath(directory: Path) -> Iterator[Path]:
    for parent, directories, files in os.walk(directory):
        directories[:] = [name for name in directories if not is_ignored(name)]
        for name in (*directories, *files):
            if not is_ignored(name):
                yield Path(parent, name)
