"""Which tasks a command line means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from workbench.task.marked import CONFIG, is_task
from workbench.trials.marked import CONFIG as TRIAL_CONFIG
from workbench.trials.marked import is_trial


class TargetError(Exception):
    """A path that is no task and holds none. The message names it, the cause and the next step."""


def find_tasks(paths: Iterable[Path]) -> list[Path]:
    """The real directories of the tasks at `paths`, each once, in the order given.

    A directory with a task.toml is a task. One without stands for the tasks directly in it, by name.

    Raises:
        TargetError: a path leads to no task.
    """
    found = (task.resolve() for path in paths for task in _tasks_at(path))
    return list(dict.fromkeys(_sayable(task) for task in found))


def has_trials(path: Path) -> bool:
    """Whether a directory is no task, but a trial's, a job's, or one with jobs in it."""
    if is_task(path):
        return False
    configs = (config for depth in ("", "*/", "*/*/") for config in path.glob(f"{depth}{TRIAL_CONFIG}"))
    return any(_is_trial(config.parent) for config in configs)


def _is_trial(path: Path) -> bool:
    try:
        return is_trial(path)
    except OSError:
        return False


def _sayable(task: Path) -> Path:
    name = os.fsencode(task).decode(errors="backslashreplace")
    if name != str(task):
        raise TargetError(f"{name}: its name is not UTF-8, so no face can show it; rename it")
    return task


def _tasks_at(path: Path) -> list[Path]:
    try:
        if is_task(path):
            return [path]
        tasks = sorted(child for child in path.iterdir() if child.name[0] != "." and is_task(child))
    except FileNotFoundError:
        raise TargetError(f"{path}: no such directory") from None
    except NotADirectoryError:
        raise TargetError(f"{path}: is a file; give the task's directory") from None
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror}") from None
    if not tasks:
        raise TargetError(
            f"{path}: no {CONFIG} here, nor in a directory directly in it; "
            "a task is a directory with task.toml, instruction.md and tests/test.sh"
        )
    return tasks
