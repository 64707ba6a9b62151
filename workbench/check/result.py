"""What a check came to: exit codes, and the lines that explain a case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from itertools import islice
from pathlib import Path

from workbench.console import plain
from workbench.events import OutputSource
from workbench.session import CaseView, Run, TaskView

TAIL_LINES = 12
_TAIL_BYTES = 64 * 1024


class Exit(IntEnum):
    """Exit codes; of several tasks the highest counts."""

    HOLDS = 0
    DOES_NOT_HOLD = 1
    WRONG = 2
    """The task or the command line is wrong."""
    MACHINERY = 3
    """No provider, or the engine died."""
    INTERRUPTED = 130


def exit_code(task: TaskView) -> Exit:
    """What one task's check says."""
    if task.unreadable:
        return Exit.WRONG
    if task.verdict is None:
        return Exit.MACHINERY
    return Exit.HOLDS if task.verdict.kind == "holds" else Exit.DOES_NOT_HOLD


def word(task: TaskView) -> str:
    """The verdict in capitals."""
    if task.unreadable:
        return "CANNOT BE RUN"
    return task.verdict.kind.upper() if task.verdict else "NO VERDICT"


def reason(task: TaskView) -> str:
    """Why, in one line."""
    return task.unreadable or (task.verdict.reason if task.verdict else "its cases did not all run")


def surprises(task: TaskView) -> Iterator[tuple[CaseView, Run]]:
    """The cases whose newest run did not meet its expectation, with that run."""
    for view in task.cases.values():
        run = view.current
        if run and run.outcome and view.case.expect and not run.outcome.met:
            yield view, run


def evidence(run: Run) -> Iterator[tuple[str, list[str]]]:
    """What a person wants to see of a run that surprised: headings, each with its lines."""
    outcome = run.outcome
    detail = [plain(line) for line in outcome.detail] if outcome else []
    script = _last_lines(run, "agent") if outcome and outcome.agent_exit_code and not detail else []
    verifier = _last_lines(run, "verifier")
    for heading, lines in (
        ("", detail),
        ("the script's last lines", script),
        ("the verifier's last lines", [] if set(verifier) <= set(detail) else verifier),
    ):
        if lines:
            yield heading, lines


def _last_lines(run: Run, source: OutputSource) -> list[str]:
    if run.recalled:
        return _kept_lines(run, source)
    pieces = (piece.text for piece in reversed(run.output) if piece.source == source)
    # A piece holds part of a line or many; this many surely hold the last lines without joining them all.
    text = "".join(reversed(list(islice(pieces, 50 * TAIL_LINES))))
    return _tail(text)


def _kept_lines(run: Run, source: OutputSource) -> list[str]:
    """The last lines in the trial directory, which may be gone."""
    name = f"{source}/{'test-stdout.txt' if source == 'verifier' else 'oracle.txt'}"
    steps = run.outcome.steps if run.outcome else ()
    for directory in (*(f"steps/{step.name}/" for step in reversed(steps)), ""):
        path = Path(run.trial_dir, directory + name)
        if not path.is_symlink():
            with suppress(OSError), path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                return _tail(file.read().decode(errors="replace"))
    return []


def _tail(text: str) -> list[str]:
    return plain(text).rstrip("\n").split("\n")[-TAIL_LINES:] if text else []
