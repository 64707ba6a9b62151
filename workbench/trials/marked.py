"""What marks a directory as a trial's. It loads nothing of Harbor's, so that a face can tell one."""

from __future__ import annotations

from pathlib import Path

CONFIG, RESULT = "config.json", "result.json"
_LOG = "trial.log"
_NAMED = b'"trial_name"'


def is_trial(path: Path) -> bool:
    """Whether a directory is a trial's, whatever became of the trial.

    A job has files of the same names. But only trials have a log of this name, which a copy may lack as
    logs are often left out, and only their configuration names one.

    Raises:
        OSError: the directory cannot be looked into.
    """
    config = path / CONFIG
    if not config.is_file():
        return False
    return (path / _LOG).is_file() or _NAMED in config.read_bytes()
