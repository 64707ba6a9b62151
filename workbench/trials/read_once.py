"""What Harbor makes of a task's files, made once for all trials of the same files.

For each trial Harbor parses the task, hashes it for the lock, and hashes it in another way for the result:
10 ms for a small task. The cases that are verified again after a save all have the same files.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import override

from harbor.models.job import lock as locks
from harbor.models.job.lock import TaskLock
from harbor.models.task.task import Task
from harbor.models.trial.config import TrialConfig
from harbor.tasks.client import TaskDownloadResult
from harbor.trial.trial import Trial

from workbench.task.marked import CONFIG


class HashedOnce(Task):
    """A task whose files do not change while it is used."""

    @functools.cached_property
    @override
    def checksum(self) -> str:
        """As Harbor's."""
        return super().checksum


@dataclass
class TaskRead:
    """A task as it was read, for the trials of it."""

    task: Task
    downloaded: TaskDownloadResult
    lock: TaskLock | None = None
    """What their locks say of the task, once the first of them is written."""

    @contextlib.contextmanager
    def in_locks(self) -> Iterator[None]:
        """Write it in the locks of the trials that are made meanwhile, all on this thread."""
        build, lock = locks._build_lock_trial_task, self.lock
        if lock is not None:
            locks._build_lock_trial_task = lambda task_config, task_download_result: lock
        try:
            yield
        finally:
            locks._build_lock_trial_task = build


_read: dict[Path, tuple[object, TaskRead]] = {}


async def read_once(config: TrialConfig, digest: str) -> TaskRead:
    """The task of a trial, read anew unless it is as the last trial of it found it.

    Args:
        config: Of a task in a local directory.
        digest: Of all its files; empty when unknown.

    Raises:
        Exception: whatever Harbor raises for a task that it refuses.
    """
    path = config.task.path
    assert path is not None
    key = digest, _identity(path / CONFIG)
    if digest and path in _read and _read[path][0] == key:
        return _read[path][1]
    task, downloaded = await Trial._load_task(config)
    task.__class__ = HashedOnce
    _read[path] = key, (read := TaskRead(task, downloaded))
    return read


def _identity(file: Path) -> tuple[int, int, int]:
    """Another when the file was written meanwhile, be it with what it held before."""
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns
