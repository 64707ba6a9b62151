"""Trial directories on the disk, read as plain files.

They are Harbor's own, laid `<state>/tasks/<task>/trials/<session>/<case>__<time>-<id>`, so that
`harbor view --jobs` opens a task's `trials` directory.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from workbench import places

UNFINISHED_FOR = 24 * 3600.0
"""Seconds after its last write during which a trial with no result is taken to run still."""


class Trial(msgspec.Struct, frozen=True):
    """One kept trial directory."""

    path: Path
    case: str
    at: float
    """When it was last written to, in Unix seconds."""
    ended: bool
    """Whether it has a result."""
    rewards: dict[str, float]
    exception: str
    """Harbor's exception class, empty where there is none."""
    size: int
    """Bytes."""

    @property
    def running(self) -> bool:
        """Whether it may still be written to."""
        return not self.ended and time.time() - self.at < UNFINISHED_FOR


class KeptTask(msgspec.Struct, frozen=True):
    """A task and what is kept of it."""

    directory: Path
    """Where its trials are."""
    task: str
    """The task's own directory, as its newest trial names it; empty when none does."""
    trials: tuple[Trial, ...]
    """Oldest first."""

    @property
    def size(self) -> int:
        """Bytes of all trials."""
        return sum(trial.size for trial in self.trials)


class _Exception(msgspec.Struct):
    exception_type: str = ""


class _Verified(msgspec.Struct):
    rewards: dict[str, float] | None = None


class _Result(msgspec.Struct):
    verifier_result: _Verified | None = None
    exception_info: _Exception | None = None


class _TaskConfig(msgspec.Struct):
    path: str | None = None


class _Config(msgspec.Struct):
    task: _TaskConfig = msgspec.field(default_factory=_TaskConfig)


def kept(state: Path, task: Path | None = None) -> list[KeptTask]:
    """What the state directory keeps, of one task or of all, by name."""
    if task is not None:
        directories = [places.trials_dir(state, task)]
    else:
        directories = sorted((state / "tasks").glob("*/trials"))
    found = [_kept_task(directory) for directory in directories]
    return [one for one in found if one.trials or task is not None]


def to_forget(trials: Iterable[Trial], keep: int) -> list[Trial]:
    """All but the newest `keep` trials of each case; what may still run is left alone."""
    by_case: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if not trial.running:
            by_case[trial.case].append(trial)
    doomed = [trial for of_case in by_case.values() for trial in of_case[: max(0, len(of_case) - keep)]]
    return sorted(doomed, key=lambda trial: trial.at)


def forget(trial: Trial) -> None:
    """Remove a trial directory, and its session's when it was the last one there.

    Raises:
        OSError: something in it cannot be removed.
    """
    shutil.rmtree(trial.path, onexc=_open_up)
    with suppress(OSError):
        trial.path.parent.rmdir()


def _open_up(function: Callable[..., object], path: str, error: BaseException) -> None:
    # Trials bring back directories with the modes they had inside, read-only ones too.
    os.chmod(os.path.dirname(path), 0o700)
    if function in (os.unlink, os.rmdir):
        function(path)
    else:
        os.chmod(path, 0o700)
        shutil.rmtree(path, onexc=_open_up)


def _kept_task(directory: Path) -> KeptTask:
    trials = [_trial(path) for path in directory.glob("*/*__*") if path.is_dir() and not path.is_symlink()]
    trials.sort(key=lambda trial: trial.at)
    task = next((name for trial in reversed(trials) if (name := _task_of(trial.path))), "")
    return KeptTask(directory, task, tuple(trials))


def _trial(path: Path) -> Trial:
    result = _read(path / "result.json", _Result)
    verified = (result.verifier_result if result else None) or _Verified()
    failed = (result.exception_info if result else None) or _Exception()
    newest = next(file for file in (path / "result.json", path / "trial.log", path) if file.exists())
    return Trial(
        path=path,
        case=path.name.rpartition("__")[0],
        at=newest.stat().st_mtime,
        ended=result is not None,
        rewards=verified.rewards or {},
        exception=failed.exception_type,
        size=sum(_sizes(path)),
    )


def _sizes(path: Path) -> Iterator[int]:
    for root, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                yield os.lstat(os.path.join(root, name)).st_size


def _task_of(trial: Path) -> str:
    config = _read(trial / "config.json", _Config)
    return (config.task.path if config else None) or ""


def _read[T](path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None
