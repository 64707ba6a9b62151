"""From outcomes to a verdict."""

from __future__ import annotations

from workbench.cases.case import Case
from workbench.proof.decide import decide
from workbench.trials.outcome import Outcome, OutcomeKind, Test

CASES = (
    Case("oracle", "oracle", "pass"),
    Case("nop", "nop", "fail"),
    Case("wrong", "negative", "fail"),
)


def outcome(reward: float, met: bool | None, **more: object) -> Outcome:
    kind: OutcomeKind = "passed" if reward >= 1 else "failed"
    return Outcome(
        kind=kind,
        reason=f"reward {reward:g}",
        reward=reward,
        rewards={"reward": reward},
        met=met,
        **more,  # type: ignore[arg-type]
    )


GOOD = {"oracle": [outcome(1, True)], "nop": [outcome(0, True)], "wrong": [outcome(0, True)]}


def test_a_harness_whose_cases_all_came_out_as_they_must_holds() -> None:
    verdict = decide(CASES, GOOD)
    assert (verdict.kind, verdict.held, verdict.total) == ("holds", 3, 3)


def test_a_failing_oracle_is_broken() -> None:
    verdict = decide(CASES, GOOD | {"oracle": [outcome(0.5, False)]})
    assert (verdict.kind, verdict.cases, verdict.held) == ("broken", ("oracle",), 2)


def test_an_oracle_and_a_nop_that_fail_alike_point_to_the_harness() -> None:
    verdict = decide(CASES, GOOD | {"oracle": [outcome(0, False)]})
    assert "nop fails the same way" in verdict.reason


def test_a_wrong_solution_that_passed_is_named() -> None:
    verdict = decide(CASES, GOOD | {"wrong": [outcome(1, False)]})
    assert (verdict.kind, verdict.cases) == ("cannot fail", ("wrong",))
    assert verdict.reason == "wrong must fail, but passed"


def test_a_broken_oracle_outweighs_a_harness_that_cannot_fail() -> None:
    known = GOOD | {"oracle": [outcome(0, False)], "wrong": [outcome(1, False)]}
    assert decide(CASES, known).kind == "broken"


def test_a_void_case_leaves_the_harness_unproven() -> None:
    void = Outcome(kind="void", reason="the verifier ran no test")
    verdict = decide(CASES, GOOD | {"wrong": [void]})
    assert (verdict.kind, verdict.reason) == ("unproven", "wrong is void: the verifier ran no test")


def test_a_case_that_has_not_run_leaves_the_harness_unproven() -> None:
    verdict = decide(CASES, {"oracle": GOOD["oracle"], "nop": GOOD["nop"]})
    assert (verdict.kind, verdict.reason) == ("unproven", "wrong has not run")


def test_a_case_that_comes_out_differently_is_flaky() -> None:
    verdict = decide(CASES, GOOD | {"wrong": [outcome(0, True), outcome(0.5, True)]})
    assert (verdict.kind, verdict.cases) == ("flaky", ("wrong",))
    assert verdict.reason == "wrong does not come out the same: reward 0, then 0.5"


def test_the_same_reward_for_another_reason_is_flaky() -> None:
    first = outcome(0, True, tests=(Test("a", "failed"), Test("b", "passed")))
    second = outcome(0, True, tests=(Test("a", "passed"), Test("b", "failed")))
    verdict = decide(CASES, GOOD | {"nop": [first, second]})
    assert verdict.reason == "nop does not come out the same: a failed, then passed"


def test_cases_without_an_expectation_do_not_count() -> None:
    agent = Case("claude", "agent", None)
    verdict = decide((*CASES, agent), GOOD | {"claude": [outcome(0, None)]})
    assert (verdict.kind, verdict.total) == ("holds", 3)


def test_a_task_whose_cases_expect_nothing_is_unproven() -> None:
    assert decide((), {}).kind == "unproven"
