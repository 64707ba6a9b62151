"""Trials that were made elsewhere, such as by `harbor run`: found on the disk and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from pydantic import ValidationError

from workbench.trials.marked import CONFIG, RESULT, is_trial
from workbench.trials.outcome import Outcome
from workbench.trials.read import read_outcome
from workbench.trials.script_agent import ScriptAgent

UNENDED = "still running, or ended before it had a result"
DEPTH = 2
"""Trials are in a job's directory, and jobs are in a directory of jobs."""


class UnreadableTrialError(Exception):
    """A file of a trial's is none that this Harbor wrote; the message names it and the cause."""


@dataclass(frozen=True)
class FoundTrial:
    """A trial."""

    path: Path
    config: TrialConfig
    task: str
    """The task's name."""
    agent: str
    """The agent's name, and its model where it has one; for a script of the workbench's, its case."""
    outcome: Outcome
    ended_at: float
    """Unix seconds; of one without a result, when something was last put in its directory."""


def find_trials(path: Path) -> tuple[list[Path], list[Path]]:
    """The trial directories at `path`: a trial, a job, or a directory of jobs.

    Returns:
        Those that have a result, and those that have none (yet). What may not be looked into is taken for
        one with a result, which is then said to be unreadable.
    """
    ended: list[Path] = []
    unended: list[Path] = []
    for trial in filter(_is_trial, _beneath(path, DEPTH)):
        (ended if _has_result(trial) else unended).append(trial)
    return ended, unended


def read_trial(path: Path, threshold: float) -> FoundTrial:
    """What a trial came to.

    Raises:
        UnreadableTrialError: its result cannot be read.
    """
    try:
        result = TrialResult.model_validate_json((path / RESULT).read_bytes())
        outcome = read_outcome(result, path, threshold, (), whole=result.config.source_trial is None)
    except (OSError, TypeError, ValueError, OverflowError) as error:
        # A type or a value: times with and without a zone, say, which nothing but an editor makes.
        raise _unreadable(path / RESULT, error) from None
    info = result.agent_info
    agent = info.version if info.name == ScriptAgent.name() else info.name
    if info.model_info:
        agent += f" {info.model_info.name}"
    ended = result.finished_at or result.started_at
    moment = ended.timestamp() if ended else 0.0
    return FoundTrial(path, result.config, result.task_name, agent, outcome, moment)


def read_unended(path: Path, ended: Sequence[FoundTrial]) -> FoundTrial:
    """A trial without a result, told by its configuration as the cancelled one that it is or may become.

    Args:
        ended: Others, which know what its task and its agent call themselves.

    Raises:
        UnreadableTrialError: its configuration cannot be read.
    """
    try:
        config = TrialConfig.model_validate_json((path / CONFIG).read_bytes())
        moment = path.stat().st_mtime
    except (OSError, ValueError) as error:
        raise _unreadable(path / CONFIG, error) from None
    task, agent = config.task, config.agent
    model = (agent.model_name or "").rpartition("/")[2]
    named = task.name or (task.path.name if task.path else "")
    called = f"{agent.name or agent.import_path} {model}".rstrip()
    return FoundTrial(
        path,
        config,
        next((other.task for other in ended if other.config.task == task), named),
        next((other.agent for other in ended if other.config.agent == agent), called),
        Outcome(kind="cancelled", reason=UNENDED),
        moment,
    )


def _unreadable(file: Path, error: Exception) -> UnreadableTrialError:
    cause = str(error)
    if isinstance(error, ValidationError):
        cause = cause.splitlines()[-2].strip()
    elif isinstance(error, OSError):
        cause = error.strerror or "the file system fails"
    return UnreadableTrialError(f"{file}: cannot be read: {cause}")


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
