"""The fold: what there is to show after some events."""

from __future__ import annotations

from workbench import events as ev
from workbench.cases.case import Case
from workbench.proof.verdict import Verdict
from workbench.session import OUTPUT_LIMIT, RUNS_KEPT, Session
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, Phase

TASK = "/tasks/slugify"
ORACLE = Case("oracle", "oracle", "pass")
NOP = Case("nop", "nop", "fail")
PASSED = Outcome(kind="passed", reason="graded 1.0", reward=1.0, met=True)
CANCELLED = Outcome(kind="cancelled", reason="cancelled")


def session(*events: ev.Event) -> Session:
    result = Session()
    result.apply(ev.EngineStarted(at=0, pid=1, version="0.1.0"))
    result.apply(ev.CasesFound(at=0, task=TASK, cases=(ORACLE, NOP)))
    for event in events:
        result.apply(event)
    return result


def queued(run: str, case: str = "oracle", at: float = 1.0) -> ev.RunQueued:
    return ev.RunQueued(at=at, task=TASK, case=case, run=run)


def started(run: str, case: str = "oracle", at: float = 2.0) -> ev.RunStarted:
    return ev.RunStarted(at=at, task=TASK, case=case, run=run, trial_dir=f"/trials/{run}")


def ended(run: str, outcome: Outcome, case: str = "oracle", at: float = 9.0) -> ev.RunEnded:
    return ev.RunEnded(at=at, task=TASK, case=case, run=run, outcome=outcome)


def test_a_run_goes_from_queued_through_its_phases_to_its_outcome() -> None:
    fold = session(queued("r"))
    run = fold.runs["r"]
    assert run.state == "queued"
    assert (run.queued_at, run.phase) == (1.0, None)
    fold.apply(started("r"))
    fold.apply(ev.PhaseStarted(at=3.0, run="r", phase="environment"))
    fold.apply(ev.PhaseStarted(at=4.5, run="r", phase="verifier"))
    assert run.phases == [Phase("environment", 3.0, 4.5), Phase("verifier", 4.5)]
    assert run.phase == Phase("verifier", 4.5)
    fold.apply(ended("r", PASSED))
    assert [run.state, run.outcome, run.ended_at, run.phase] == ["ended", PASSED, 9.0, None]
    assert run.phases[-1] == Phase("verifier", 4.5, 9.0)


def test_the_phases_of_an_outcome_replace_those_that_were_seen() -> None:
    phases = (Phase("verifier", 1.0, 2.0),)
    fold = session(queued("r"), started("r"), ev.PhaseStarted(at=3.0, run="r", phase="agent"))
    fold.apply(ended("r", Outcome(kind="passed", reason="", phases=phases)))
    assert fold.runs["r"].phases == list(phases)


def test_output_is_kept_by_source_and_in_order() -> None:
    fold = session(queued("r"), started("r"))
    for source, text in (("agent", "a"), ("verifier", "v1 "), ("verifier", "v2")):
        fold.apply(ev.Output(run="r", source=source, text=text))  # type: ignore[arg-type]
    assert fold.runs["r"].text("verifier") == "v1 v2"
    assert fold.runs["r"].text("agent") == "a"


def test_the_output_kept_of_one_run_is_bounded_in_characters_and_in_pieces() -> None:
    fold = session(queued("r"), started("r"))
    run = fold.runs["r"]
    for number in range(20):
        fold.apply(ev.Output(run="r", source="verifier", text=f"{number:02}" + "x" * (1 << 20)))
    assert run.output_seen == 20
    assert sum(len(piece.text) for piece in run.output) <= OUTPUT_LIMIT
    assert run.output[-1].text.startswith("19")
    for _ in range(100_000):
        fold.apply(ev.Output(run="r", source="verifier", text="."))
    assert len(run.output) < 50_000


def test_the_verdict_problems_and_watching_are_the_newest() -> None:
    problem = Problem("task.toml", "toml-syntax", "error", "bad")
    verdict = Verdict("holds", "all came out as they must", held=2, total=2)
    fold = session(
        ev.ProblemsFound(task=TASK, problems=(problem, problem)),
        ev.ProblemsFound(task=TASK, problems=(problem,)),
        ev.WatchingChanged(task=TASK, watching=True),
        ev.VerdictReached(task=TASK, verdict=verdict),
        ev.Settled(task=TASK),
    )
    view = fold.task(TASK)
    assert (view.problems, view.watching, view.verdict, view.settled) == ((problem,), True, verdict, True)
    fold.apply(queued("r"))
    assert not view.settled


def test_cases_found_again_keep_their_runs_and_lose_those_that_are_gone() -> None:
    fold = session(queued("r"), queued("n", "nop"), ev.CasesFound(task=TASK, cases=(ORACLE,)))
    view = fold.task(TASK)
    assert list(view.cases) == ["oracle"]
    assert view.cases["oracle"].runs == [fold.runs["r"]]


def test_a_run_of_a_case_that_is_gone_still_ends() -> None:
    fold = session(queued("n", "nop"), ev.CasesFound(task=TASK, cases=(ORACLE,)), ended("n", PASSED, "nop"))
    assert fold.runs["n"].outcome == PASSED


def test_what_is_stale_is_fresh_again_when_a_run_came_to_an_outcome() -> None:
    stale = ev.CaseStale(task=TASK, case="oracle", why="tests/test.sh changed")
    fold = session(stale, queued("r"), started("r"), ended("r", CANCELLED))
    assert fold.task(TASK).cases["oracle"].stale == "tests/test.sh changed"
    fold.apply(queued("s"))
    fold.apply(ended("s", PASSED))
    assert fold.task(TASK).cases["oracle"].stale == ""


def test_a_cancelled_run_is_the_current_one_and_decides_nothing() -> None:
    fold = session(queued("r"), ended("r", PASSED), queued("s"), ended("s", CANCELLED))
    view = fold.task(TASK).cases["oracle"]
    assert view.current is fold.runs["s"]
    assert view.decided is fold.runs["r"]


def test_a_run_that_waits_or_was_cancelled_while_it_did_has_not_begun() -> None:
    fold = session(queued("r1"), started("r1"), queued("r2"), ended("r2", CANCELLED), queued("r3"))
    view = fold.task(TASK).cases["oracle"]
    assert [run.has_begun for run in view.runs] == [True, False, False]
    assert view.begun is fold.runs["r1"]
    assert fold.task(TASK).cases["nop"].begun is None


def test_an_engine_that_died_leaves_nothing_running() -> None:
    fold = session(queued("r"), started("r"), queued("s"), ev.WatchingChanged(task=TASK, watching=True))
    fold.engine_died(20.0)
    assert [run.outcome.kind for run in fold.runs.values() if run.outcome] == ["cancelled", "cancelled"]
    assert fold.runs["r"].ended_at == 20.0
    assert (fold.stopped, fold.task(TASK).watching, fold.task(TASK).settled) == (True, False, True)


def test_another_engine_begins_afresh_and_keeps_what_is_shown() -> None:
    fold = session(queued("r"), ended("r", PASSED), queued("s"), ev.EngineFailed(message="no room"))
    fold.apply(ev.EngineStarted(at=30.0, pid=2, version="0.1.0"))
    assert (fold.failed, fold.stopped) == (None, False)
    assert fold.runs["r"].outcome == PASSED
    lost = fold.runs["s"].outcome
    assert lost is not None
    assert lost.kind == "cancelled"


def test_events_of_runs_that_were_never_announced_are_let_go() -> None:
    fold = session(
        started("ghost"),
        ev.PhaseStarted(run="ghost", phase="agent"),
        ev.Output(run="ghost", source="agent", text="boo"),
        ended("ghost", PASSED),
        queued("r", "no such case"),
        ev.CaseStale(task=TASK, case="no such case", why=""),
    )
    assert fold.runs == {}


def test_only_so_many_ended_runs_are_kept_and_the_newest_of_each_case_always() -> None:
    fold = session(queued("nop-1", "nop", at=0.5), ended("nop-1", PASSED, "nop"))
    for number in range(RUNS_KEPT + 50):
        fold.apply(queued(f"r{number}", at=float(number + 1)))
        fold.apply(ended(f"r{number}", PASSED))
    assert "nop-1" in fold.runs
    assert "r0" not in fold.runs
    assert f"r{RUNS_KEPT + 49}" in fold.runs
    assert len(fold.runs) <= RUNS_KEPT + 2


def test_a_task_is_named_by_its_directory_until_it_is_read() -> None:
    fold = session()
    assert fold.task(TASK).name == "slugify"
    fold.apply(ev.TaskOpened(task=TASK, name="demo/slugify"))
    assert fold.task(TASK).name == "demo/slugify"


def test_the_same_events_give_the_same_session_after_a_round_trip() -> None:
    printed = ev.Output(at=5.0, run="r", source="verifier", text="é\x1b[31m")
    events: list[ev.Event] = [queued("r"), started("r"), printed, ended("r", PASSED)]
    again = [ev.decode(ev.encode(event)) for event in events]
    assert again == events
    assert session(*again).runs == session(*events).runs
