"""Where a run's time went."""

from __future__ import annotations

import pytest

from workbench.session import Run
from workbench.trials.outcome import Phase
from workbench.ui.timing import Span, is_slow, spans, sparkline, total, usual


def run(*phases: Phase, started: float = 100.0, ended: float | None = None) -> Run:
    state = "running" if ended is None else "ended"
    return Run("r", "/t", "oracle", state=state, started_at=started, ended_at=ended, phases=list(phases))  # type: ignore[arg-type]


def test_phases_and_the_gaps_between_them_are_told_in_order() -> None:
    it = run(Phase("agent", 102.0, 103.0), Phase("environment", 100.5, 101.5), ended=104.0)
    assert spans(it, 999.0) == [
        Span(None, 0.0, 0.5),
        Span("environment", 0.5, 1.0),
        Span(None, 1.5, 0.5),
        Span("agent", 2.0, 1.0),
        Span(None, 3.0, 1.0),
    ]
    assert total(it, 999.0) == 4.0


def test_a_phase_that_lasts_grows_with_the_clock() -> None:
    it = run(Phase("verifier", 100.0))
    assert spans(it, 102.5) == [Span("verifier", 0.0, 2.5, lasting=True)]
    assert total(it, 103.0) == 3.0


def test_a_run_without_phases_took_no_time() -> None:
    assert spans(run(), 100.0) == []
    assert total(run(), 100.0) == 0.0


def test_the_usual_time_of_a_phase_is_its_median_over_ended_runs() -> None:
    runs = [run(Phase("verifier", 0.0, took), ended=took) for took in (1.0, 9.0, 2.0)]
    assert usual([*runs, run(Phase("verifier", 0.0))], "verifier") == 2.0
    assert usual(runs, "agent") is None


@pytest.mark.parametrize(
    ("seconds", "usually", "slow"),
    [(4.0, 1.0, True), (1.4, 1.0, False), (0.1, 0.01, False), (9.0, None, False)],
)
def test_slow_is_what_stands_out_in_share_and_in_seconds(
    seconds: float, usually: float | None, slow: bool
) -> None:
    assert is_slow(seconds, usually) is slow


def test_a_sparkline_has_a_bar_for_each_value() -> None:
    assert sparkline([0.0, 1.0, 2.0, 4.0]) == "▁▃▅█"
    assert sparkline([0.0, 0.0]) == "▁▁"
    assert sparkline([]) == ""
