"""Where things are kept: the user's directories, each task's trials, and the files that ship along.

All under the XDG directories (or what the platform has in their stead), never inside a task.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

APP = "workbench"
_NAME_LIMIT = 40


def state_dir() -> Path:
    """What outlives a run: trial directories, receipts, the engines' logs."""
    return platformdirs.user_state_path(APP, appauthor=False)


def cache_dir() -> Path:
    """What can be made again: images, unpacked roots."""
    return platformdirs.user_cache_path(APP, appauthor=False)


def images_dir() -> Path:
    """The image store."""
    return cache_dir() / "images"


def config_dir() -> Path:
    """What the user writes: settings and themes."""
    return platformdirs.user_config_path(APP, appauthor=False)


def task_dir(state: Path, task: Path) -> Path:
    """The directory that the state directory keeps for a task, named by where the task is."""
    real = task.resolve()
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name).strip("-.")[:_NAME_LIMIT]
    return state / "tasks" / f"{name or 'task'}-{digest}"


def trials_dir(state: Path, task: Path) -> Path:
    """Where a task's trials are kept, a directory each session, as `harbor view` opens them."""
    return task_dir(state, task) / "trials"


def records_file(state: Path) -> Path:
    """The database of receipts and durations."""
    return state / "receipts.db"


def logs_dir(state: Path) -> Path:
    """Where engines log, a file each."""
    return state / "logs"


def shipped(name: str) -> Path:
    """A directory that ships along, such as `themes`: of the checkout, else of the wheel."""
    package = Path(__file__).resolve().parent
    checkout = package.parent
    return checkout / name if (checkout / "pyproject.toml").is_file() else package / "_data" / name
