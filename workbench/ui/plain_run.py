"""What one run has to tell, and what sets two apart, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench.session import Run
from workbench.ui import trial_files, words
from workbench.ui.ansi import uncolored
from workbench.ui.change_rows import find_changes
from workbench.ui.compare import material
from workbench.ui.compare.align import align
from workbench.ui.compare.material import Matter
from workbench.ui.compare.tables import differ, paired, status
from workbench.ui.figures import count
from workbench.ui.timing import spans
from workbench.ui.visible import one_line, visible

_MOST = 50
"""Rows said of what differs in one matter."""
_MATTERS: dict[Matter, str] = {
    "verifier": "verifier's output",
    "trajectory": "trajectory",
    "agent": "agent's output",
    "files": "files",
}


def standing(run: Run) -> str:
    """How it stands, or what it came to."""
    if run.outcome is None:
        return run.phase.name if run.phase else run.state
    as_must = {True: ", as it must", False: ", which it must not", None: ""}[run.outcome.met]
    took = words.seconds(words.elapsed(run, run.ended_at or 0.0))
    return f"{run.outcome.kind}{as_must}: {words.reason(run.outcome)}; {took}"


def verifier(run: Run) -> Iterator[str]:
    """What its verifier printed."""
    lines = trial_files.printed(run, "verifier").splitlines()
    nothing = "it has printed nothing"
    yield from map(_said, lines or [nothing if trial_files.is_complete(run) else _silence(run, nothing)])


def agent(run: Run) -> Iterator[str]:
    """What its agent did, step by step; what it printed, where it left no trajectory."""
    lines = material.lines(run, "trajectory") or material.lines(run, "agent")
    yield from map(_said, lines or [_silence(run, "it has printed nothing")])


def tests(run: Run) -> Iterator[str]:
    """How its tests came out."""
    if not run.tests:
        yield "no tests are named"
    for test in run.tests:
        yield f"{test.status}: {one_line(test.full_name)} {one_line(test.message)}".rstrip()


def files(run: Run) -> Iterator[str]:
    """What it changed, and what it left on this host."""
    if run.trial_dir and (summary := find_changes(Path(run.trial_dir)).summary):
        yield summary
    yield from map(_said, material.lines(run, "files") or [_silence(run, "it has left no files")])


def timing(run: Run, now: float) -> Iterator[str]:
    """What it spent its time on."""
    found = spans(run, now)
    if not found:
        yield "it has not started"
    for span in found:
        name = f"{span.name or 'between phases'} {one_line(span.step)}".rstrip()
        yield f"{name}: {words.seconds(span.seconds)}{' so far' if span.lasting else ''}"


def differences(left: Run, right: Run) -> Iterator[str]:
    """What sets the right one apart from the left."""
    yield from _tests_apart(left, right)
    for matter, title in _MATTERS.items():
        ours, theirs = (material.lines(run, matter) for run in (left, right))
        if not ours and not theirs:
            continue
        silence = (material.gone(left, matter, ours), material.gone(right, matter, theirs))
        if why := material.uncompared(*silence):
            yield f"{title}: {why}"
            continue
        rows = [row for row in align(ours, theirs) if not row.same]
        yield f"{title}: {count(len(rows), 'difference')}" if rows else f"{title}: the same"
        for row in rows[:_MOST]:
            if row.left is not None:
                yield f"left, line {row.left + 1}: {_said(ours[row.left])}"
            if row.right is not None:
                yield f"right, line {row.right + 1}: {_said(theirs[row.right])}"
        if len(rows) > _MOST:
            yield f"and {len(rows) - _MOST:,} more"


def _silence(run: Run, otherwise: str) -> str:
    return trial_files.gone(run) or otherwise


def _said(line: str) -> str:
    """A line of output, without colours: nobody listens to those."""
    return visible(uncolored(line))


def _tests_apart(left: Run, right: Run) -> Iterator[str]:
    pairs = paired(left.tests, right.tests)
    apart = [pair for pair in pairs if differ(pair)]
    for before, after in apart:
        name = next(test.full_name for test in (before, after) if test)
        yield f"{one_line(name)}: left {status(before)}, right {status(after)}"
    if pairs and not apart:
        yield "tests: the same"
