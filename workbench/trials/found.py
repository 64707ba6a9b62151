"""Trials that were made elsewhere, such as by `harbor run`: found on the disk and read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harbor.models.trial.result import TrialResult
from pydantic import ValidationError

from workbench.trials.marked import RESULT, is_trial
from workbench.trials.outcome import Outcome
from workbench.trials.read import read_outcome
from workbench.trials.script_agent import ScriptAgent

DEPTH = 2
"""Trials are in a job's directory, and jobs are in a directory of jobs."""


class UnreadableTrialError(Exception):
    """A result is none that this Harbor wrote; the message names it and the cause."""


@dataclass(frozen=True)
class FoundTrial:
    """A trial that has ended."""

    path: Path
    task: str
    """The task's name."""
    agent: str
    """The agent's name, and its model where it has one; for a script of the workbench's, its case."""
    outcome: Outcome
    ended_at: float
    """Unix seconds."""


def find_trials(path: Path) -> tuple[list[Path], list[Path]]:
    """The trial directories at `path`: a trial, a job, or a directory of jobs.

    Returns:
        Those that have a result, and those that have none (yet). What may not be looked into is taken for
        one with a result, which is then said to be unreadable.
    """
    trials = [found for found in _beneath(path, DEPTH) if _is_trial(found)]
    ended = [trial for trial in trials if _has_result(trial)]
    return ended, [trial for trial in trials if trial not in set(ended)]


def read_trial(path: Path, threshold: float) -> FoundTrial:
    """What a trial came to.

    Raises:
        UnreadableTrialError: its result cannot be read.
    """
    try:
        result = TrialResult.model_validate_json((path / RESULT).read_bytes())
        outcome = read_outcome(result, path, threshold, (), whole=result.config.source_trial is None)
    except ValidationError as error:
        raise _unreadable(path, str(error).splitlines()[-2].strip()) from None
    except OSError as error:
        raise _unreadable(path, error.strerror or "the file system fails") from None
    except (TypeError, ValueError, OverflowError) as error:
        # Such as times with and without a zone, which nothing but an editor makes.
        raise _unreadable(path, str(error)) from None
    info = result.agent_info
    agent = info.version if info.name == ScriptAgent.name() else info.name
    if info.model_info:
        agent += f" {info.model_info.name}"
    ended = result.finished_at or result.started_at
    return FoundTrial(path, result.task_name, agent, outcome, ended.timestamp() if ended else 0.0)


def _unreadable(path: Path, cause: str) -> UnreadableTrialError:
    return UnreadableTrialError(f"{path / RESULT}: cannot be read: {cause}")


def _beneath(path: Path, depth: int) -> Iterator[Path]:
    yield path
    if depth and not _is_trial(path):
        try:
            children = sorted(path.iterdir())
        except PermissionError:
            return
        for child in children:
            if child.is_dir() and not child.is_symlink():
                yield from _beneath(child, depth - 1)


def _is_trial(path: Path) -> bool:
    """As far as this user may know."""
    try:
        return is_trial(path)
    except PermissionError:
        return True


def _has_result(trial: Path) -> bool:
    try:
        return (trial / RESULT).is_file()
    except PermissionError:
        return True
