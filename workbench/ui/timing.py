"""Where a run's time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from workbench.session import Run
from workbench.trials.outcome import PhaseName

SLOWER = 1.5
"""How many times its usual duration a phase must take to be called slow."""
_LEAST_DIFFERENCE = 0.2
"""Seconds; a smaller one is noise."""
_LEAST_GAP = 0.005
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Span:
    """A stretch of a run."""

    name: PhaseName | None
    """None for a stretch that no phase claims."""
    start: float
    """Seconds from the run's start."""
    seconds: float
    step: str = ""
    lasting: bool = False
    """It goes on."""


def spans(run: Run, now: float) -> list[Span]:
    """A run's phases in order, and the gaps between them."""
    result: list[Span] = []
    if not run.phases:
        return result
    begin = min(run.phases[0].started_at, run.started_at or run.phases[0].started_at)
    at = begin
    for phase in sorted(run.phases, key=lambda phase: phase.started_at):
        if phase.started_at - at > _LEAST_GAP:
            result.append(Span(None, at - begin, phase.started_at - at))
        end = phase.ended_at if phase.ended_at is not None else max(now, phase.started_at)
        result.append(
            Span(
                phase.name,
                phase.started_at - begin,
                end - phase.started_at,
                phase.step,
                phase.ended_at is None,
            )
        )
        at = max(at, end)
    if run.ended_at and run.ended_at - at > _LEAST_GAP:
        result.append(Span(None, at - begin, run.ended_at - at))
    return result


def total(run: Run, now: float) -> float:
    """Seconds that a run took, or has taken so far."""
    return max((span.start + span.seconds for span in spans(run, now)), default=0.0)


def usual(runs: Sequence[Run], name: PhaseName, step: str = "") -> float | None:
    """The median of a phase's seconds over runs that ended; None when none had it."""
    took = [
        phase.seconds
        for run in runs
        if run.state == "ended"
        for phase in run.phases
        if phase.name == name and phase.step == step and phase.seconds is not None
    ]
    return median(took) if took else None


def sparkline(values: Sequence[float]) -> str:
    """Values as bars of one cell each, from nothing to the largest."""
    top = max(values, default=0.0)
    return "".join(
        _BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] if top else _BARS[0] for value in values
    )


def is_slow(seconds: float, usually: float | None) -> bool:
    """Whether a duration stands out from the usual one."""
    return usually is not None and seconds > SLOWER * usually and seconds - usually > _LEAST_DIFFERENCE
