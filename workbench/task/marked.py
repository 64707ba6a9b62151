"""What marks a directory as a task. It loads nothing of Harbor's, so that a face can list tasks."""

from __future__ import annotations

import os
from pathlib import Path

CONFIG = "task.toml"
"""As Harbor's `TaskPaths.CONFIG_FILENAME`."""


def is_task(path: Path) -> bool:
    """Whether a directory is a task, sound or not: a task.toml that is a broken link still marks one.

    Raises:
        OSError: the directory cannot be looked into.
    """
    return os.path.lexists(path / CONFIG)
