"""Many trials of one case: where each stands, and what they come to together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from workbench.session import Run
from workbench.ui import words
from workbench.ui.ansi import uncolored
from workbench.ui.visible import one_line

_LINE_LOOKED_FOR = 4096
"""Characters of output in which the last line is looked for."""


@dataclass(frozen=True)
class Trial:
    """A run with its number among its case's."""

    number: int
    run: Run


@dataclass(frozen=True)
class Tally:
    """What trials come to together."""

    total: int
    waiting: int
    running: int
    passed: int
    failed: int
    other: int
    """Neither: void, raised, timed out, killed or cancelled."""
    median: float | None
    """Seconds, of those that ended by themselves; None while there are none."""
    p95: float | None
    memory: int
    """Bytes, of the machines of those that run."""
    seconds: float
    """For which any of them ran."""
    busy: float
    """Seconds of all of them, one after the other."""

    @property
    def done(self) -> int:
        """How many ended."""
        return self.passed + self.failed + self.other


def trials(runs: Sequence[Run]) -> list[Trial]:
    """Trials in the order to show them: those that run, then those that ended, each by number; those that
    wait have no place yet."""
    numbered = [Trial(number, run) for number, run in enumerate(runs, 1)]
    shown = [trial for trial in numbered if trial.run.has_begun]
    return sorted(shown, key=lambda trial: (trial.run.state == "ended", trial.number))


def tally(runs: Sequence[Run], now: float) -> Tally:
    """What runs of a case come to together."""
    shown = [run for run in runs if not _dropped(run)]
    ended = [run for run in shown if run.outcome]
    kinds = [run.outcome.kind for run in ended if run.outcome]
    took = sorted(words.elapsed(run, now) for run in ended if run.outcome and run.outcome.kind != "cancelled")
    running = [run for run in shown if run.state == "running"]
    return Tally(
        total=len(shown),
        waiting=sum(run.state == "queued" for run in shown),
        running=len(running),
        passed=kinds.count("passed"),
        failed=kinds.count("failed"),
        other=len(kinds) - kinds.count("passed") - kinds.count("failed"),
        median=median(took) if took else None,
        p95=took[math.ceil(0.95 * len(took)) - 1] if took else None,
        memory=sum(run.memory_bytes for run in running),
        seconds=_covered(shown, now),
        busy=sum(words.elapsed(run, now) for run in shown),
    )


def _covered(runs: Iterable[Run], now: float) -> float:
    """Seconds that at least one of them takes up: between two goes of trials may lie any time."""
    covered, until = 0.0, -math.inf
    lasted = [
        (run.started_at, now if run.ended_at is None else run.ended_at)
        for run in runs
        if run.started_at is not None
    ]
    for start, end in sorted(lasted):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered


def last_line(run: Run) -> str:
    """The last line that a run printed, made harmless; empty while it has printed none."""
    text = ""
    for piece in reversed(run.output):
        text = piece.text + text
        if "\n" in text.strip() or len(text) > _LINE_LOOKED_FOR:
            break
    lines = uncolored(text[-_LINE_LOOKED_FOR:]).split("\n")
    return one_line(next((line for line in reversed(lines) if line.strip()), "").strip())


def _dropped(run: Run) -> bool:
    """Whether it was cancelled before it began, so that there is nothing to show."""
    return run.state == "ended" and not run.has_begun
