"""How far a run is, by what its phases took before."""

from __future__ import annotations

from workbench.session import Run


def expected_seconds(run: Run) -> float:
    """What a run is likely to take in all; 0 when nothing is known of it."""
    return sum(phase.seconds for phase in run.expected)


def seconds_left(run: Run, now: float) -> float | None:
    """How long a run is likely to take yet; None when nothing is known, or it does not run.

    0 when its phase takes longer than expected and is the last one.
    """
    if run.state != "running" or not run.expected:
        return None
    seen = {(phase.name, phase.step): phase for phase in run.phases}
    left = 0.0
    for expected in run.expected:
        phase = seen.get((expected.phase, expected.step))
        if phase is None:
            left += expected.seconds
        elif phase.ended_at is None:
            left += max(0.0, expected.seconds - max(0.0, now - phase.started_at))
    return left
