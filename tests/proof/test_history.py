"""History: what to expect of a run, and what got slower."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.proof.made import NOON, graded, phases
from workbench.proof.database import KEPT_SECONDS, Database
from workbench.proof.documents import Slower
from workbench.proof.history import ENOUGH, KEPT, RECENT, History, RunKind, durations
from workbench.trials.outcome import Outcome, Phase

ORACLE = RunKind(task="/tasks/slugify", case="oracle", provider="bubblewrap", machine="bench")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    database = Database.open(tmp_path / "receipts.db", pytest.fail)
    yield History(database)
    database.close()


def verified(seconds: float, **more: object) -> Outcome:
    """A passed run whose verifier took this long."""
    made = graded(1, phases=phases({"agent": 1.0, "verifier": seconds}))
    return msgspec.structs.replace(made, **more)


def record(history: History, *seconds: float, of: RunKind = ORACLE, **more: object) -> None:
    for one in seconds:
        history.record(of, verified(one, **more), NOON)


def other(**more: object) -> RunKind:
    return msgspec.structs.replace(ORACLE, **more)


def close(found: tuple[Slower, ...]) -> list[tuple[str, str, float, float]]:
    return [(one.phase, one.step, round(one.before, 6), round(one.now, 6)) for one in found]


def test_what_to_expect_is_the_median_of_each_phase(history: History) -> None:
    record(history, 2.0, 9.0, 3.0)
    assert history.expected(ORACLE) == {
        ("agent", ""): pytest.approx(1.0),
        ("verifier", ""): pytest.approx(3.0),
    }


def test_nothing_is_expected_of_what_never_ran(history: History) -> None:
    assert history.expected(ORACLE) == {}


def test_only_runs_of_the_same_kind_say_what_to_expect(history: History) -> None:
    record(history, 2.0)
    kinds: tuple[dict[str, object], ...] = (
        {"task": "/tasks/other"},
        {"case": "nop"},
        {"provider": "smol"},
        {"machine": "laptop"},
        {"whole": False},
    )
    for change in kinds:
        assert history.expected(other(**change)) == {}
        record(history, 70.0, of=other(**change))
    assert history.expected(ORACLE)["verifier", ""] == pytest.approx(2.0)


def test_runs_that_did_not_come_out_as_they_must_never_count(history: History) -> None:
    record(history, 2.0)
    record(history, 90.0, met=False)
    record(history, 80.0, kind="void", met=None)
    record(history, 70.0, kind="cancelled", met=None)
    assert history.expected(ORACLE)["verifier", ""] == pytest.approx(2.0)
    assert [(row.sound, row.count) for row in history.stats(ORACLE.task) if row.phase == "verifier"] == [
        (True, 1),
        (False, 2),
    ]


def test_of_a_case_without_an_expectation_the_passed_runs_count(history: History) -> None:
    record(history, 2.0, met=None)
    record(history, 90.0, kind="failed", met=None)
    assert history.expected(ORACLE)["verifier", ""] == pytest.approx(2.0)


def test_a_must_fail_case_that_failed_came_out_as_it_must(history: History) -> None:
    nop = other(case="nop")
    history.record(nop, graded(0, met=True), NOON)
    history.record(nop, graded(1, met=False, phases=phases({"verifier": 50.0})), NOON)
    assert history.expected(nop)["verifier", ""] == pytest.approx(0.3)


def test_only_the_newest_runs_say_what_to_expect(history: History) -> None:
    record(history, *[9.0] * RECENT, *[2.0] * (RECENT // 2 + 1))
    assert history.expected(ORACLE)["verifier", ""] == pytest.approx(2.0)


def test_steps_are_kept_apart_and_pieces_of_a_phase_added_up() -> None:
    made = (
        Phase("verifier", 0.0, 1.5, "one"),
        Phase("verifier", 2.0, 4.0, "two"),
        Phase("verifier", 4.0, 4.5, "one"),
        Phase("teardown", 5.0),
    )
    assert durations(made) == {("verifier", "one"): 2.0, ("verifier", "two"): 2.0}


SPREAD = (2.0, 2.1, 1.9, 2.0, 2.2, 1.8, 2.0, 2.1)
"""Median 2.0, median absolute deviation 0.1: the limit is 2.0 + 3 * 1.4826 * 0.1 = 2.44478."""


@pytest.mark.parametrize(("now", "marked"), [(2.44, []), (2.45, [("verifier", "", 2.0, 2.45)]), (0.1, [])])
def test_a_phase_is_slower_beyond_three_deviations_of_its_own_spread(
    history: History, now: float, marked: list[tuple[str, str, float, float]]
) -> None:
    record(history, *SPREAD)
    assert close(history.slower(ORACLE, verified(now))) == marked


def test_fewer_than_eight_runs_have_no_spread(history: History) -> None:
    record(history, *SPREAD[: ENOUGH - 1])
    assert history.slower(ORACLE, verified(50)) == ()
    record(history, SPREAD[-1])
    assert len(history.slower(ORACLE, verified(50))) == 1


@pytest.mark.parametrize(("usual", "now", "marked"), [(2.0, 2.19, 0), (2.0, 2.21, 1), (0.02, 0.029, 0)])
def test_where_all_runs_agree_a_tenth_and_a_hundredth_of_a_second_are_let_pass(
    history: History, usual: float, now: float, marked: int
) -> None:
    record(history, *[usual] * ENOUGH)
    assert len(history.slower(ORACLE, verified(now))) == marked


def test_one_run_on_a_busy_host_does_not_widen_the_spread(history: History) -> None:
    record(history, *SPREAD, 60.0)
    assert len(history.slower(ORACLE, verified(3.0))) == 1


def test_only_runs_that_came_out_as_they_must_are_slower(history: History) -> None:
    record(history, *SPREAD)
    assert history.slower(ORACLE, verified(50, met=False)) == ()


def test_only_runs_of_the_same_kind_make_one_slower(history: History) -> None:
    record(history, *SPREAD)
    assert history.slower(other(whole=False), verified(50, whole=False)) == ()
    assert history.slower(other(machine="laptop"), verified(50)) == ()


def test_stats_count_the_runs_and_give_median_and_95th_percentile(history: History) -> None:
    record(history, *range(1, 21))
    record(history, 4.0, of=other(whole=False), whole=False)
    record(history, 7.0, of=other(task="/tasks/other"))
    rows = [
        (row.case, row.phase, row.whole, row.sound, row.count, round(row.median, 6), round(row.p95, 6))
        for row in history.stats(ORACLE.task)
    ]
    assert rows == [
        ("oracle", "agent", True, True, 20, 1.0, 1.0),
        ("oracle", "verifier", True, True, 20, 10.5, 19.05),
        ("oracle", "agent", False, True, 1, 1.0, 1.0),
        ("oracle", "verifier", False, True, 1, 4.0, 4.0),
    ]


def test_the_oldest_runs_of_a_kind_are_dropped(history: History) -> None:
    record(history, 1.0, met=False)
    record(history, *[2.0] * (KEPT + 5))
    assert [row.count for row in history.stats(ORACLE.task) if row.phase == "verifier"] == [KEPT, 1]


def test_runs_over_a_year_old_are_dropped(history: History) -> None:
    record(history, 9.0)
    history.record(ORACLE, verified(2.0), NOON + KEPT_SECONDS + 1)
    assert history.expected(ORACLE)["verifier", ""] == pytest.approx(2.0)
