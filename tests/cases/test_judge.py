"""A run against its expectation."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.cases.case import Case
from workbench.cases.judge import judge
from workbench.trials.outcome import Outcome, Phase, StepOutcome, Test

ORACLE = Case("oracle", "oracle", "pass", script="solution/solve.sh")
NOP = Case("nop", "nop", "fail")


def passed(**more: object) -> Outcome:
    return Outcome(kind="passed", reason="reward 1", reward=1.0, rewards={"reward": 1.0}, **more)  # type: ignore[arg-type]


def failed(**more: object) -> Outcome:
    return Outcome(
        kind="failed",
        reason="reward 0, below 1",
        reward=0.0,
        rewards={"reward": 0.0},
        **more,  # type: ignore[arg-type]
    )


def trial(tmp_path: Path, *, verifier: str = "", agent: str = "") -> Path:
    for name, text in (("verifier/test-stdout.txt", verifier), ("agent/oracle.txt", agent)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def negative(**more: object) -> Case:
    return Case("wrong", "negative", "fail", **more)  # type: ignore[arg-type]


def test_an_oracle_that_passes_is_met(tmp_path: Path) -> None:
    assert judge(ORACLE, passed(), tmp_path).met is True


def test_an_oracle_whose_script_failed_is_not_met_although_it_was_graded_well(tmp_path: Path) -> None:
    outcome = judge(ORACLE, passed(agent_exit_code=3), trial(tmp_path, agent="one\nline 7: oops\n"))
    assert outcome.met is False
    assert outcome.reason == "solve.sh exited with 3; reward 1"
    assert outcome.detail == ("one", "line 7: oops")


def test_an_oracle_with_a_step_that_has_no_result_is_not_met(tmp_path: Path) -> None:
    steps = (StepOutcome("one", 1.0), StepOutcome("two", None))
    outcome = judge(ORACLE, passed(steps=steps), tmp_path)
    assert (outcome.met, outcome.reason) == (False, "reward 1; step two has no result")


def test_an_oracle_that_failed_shows_the_checks_that_did(tmp_path: Path) -> None:
    outcome = judge(ORACLE, failed(tests=(Test("a", "passed"), Test("b", "failed", "1 != 2"))), tmp_path)
    assert (outcome.met, outcome.detail) == (False, ("b: 1 != 2",))


def test_an_oracle_that_timed_out_and_was_graded_well_is_not_met(tmp_path: Path) -> None:
    phases = (Phase("agent", 1.0, 2.0),)
    outcome = passed(exception="AgentTimeoutError", timed_out="agent", phases=phases)
    assert judge(ORACLE, outcome, tmp_path).met is False


@pytest.mark.parametrize("exception", ["EnvironmentStartTimeoutError", "AddTestsDirError", "ImageError"])
def test_what_the_machinery_spoilt_says_nothing_of_the_oracle(tmp_path: Path, exception: str) -> None:
    outcome = Outcome(kind="error", reason="it broke", exception=exception)
    assert judge(ORACLE, outcome, tmp_path).met is None


def test_a_trial_that_harbor_refused_to_begin_says_nothing_of_the_oracle(tmp_path: Path) -> None:
    refused = Outcome(kind="error", reason="the network mode is not supported", exception="ValueError")
    assert judge(ORACLE, refused, tmp_path).met is None


def test_a_trial_that_raised_on_its_way_does(tmp_path: Path) -> None:
    phases = (Phase("environment", 1.0, 2.0),)
    raised = Outcome(kind="error", reason="no script", exception="FileNotFoundError", phases=phases)
    assert judge(ORACLE, raised, tmp_path).met is False


def test_nop_that_passes_shows_that_the_harness_cannot_fail(tmp_path: Path) -> None:
    outcome = judge(NOP, passed(), tmp_path)
    assert (outcome.met, outcome.kind) == (False, "passed")
    assert "must fail" in outcome.reason


def test_nop_that_fails_a_check_is_met_and_says_which(tmp_path: Path) -> None:
    outcome = judge(NOP, failed(tests=(Test("m::t", "failed"), Test("m::u", "passed"))), tmp_path)
    assert (outcome.met, outcome.reason) == (True, "reward 0, below 1: t failed")


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(
            kind="error", reason="the verifier wrote no reward file", exception="RewardFileNotFoundError"
        ),
        Outcome(kind="timeout", reason="too slow", exception="VerifierTimeoutError", timed_out="verifier"),
        failed(exception="FileNotFoundError"),
    ],
)
def test_a_must_fail_case_that_raised_instead_of_being_graded_is_void(
    tmp_path: Path, outcome: Outcome
) -> None:
    judged = judge(NOP, outcome, tmp_path)
    assert (judged.kind, judged.met) == ("void", None)


def test_a_must_fail_case_whose_agent_timed_out_but_was_graded_counts(tmp_path: Path) -> None:
    outcome = failed(exception="AgentTimeoutError", timed_out="agent")
    assert judge(negative(), outcome, tmp_path).met is True


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("/tests/test.sh: line 3: pytest: command not found\n", "could not find a command"),
        ("/tests/test.sh: 3: uvx: not found\n", "could not find a command"),
        ("curl: (6) Could not resolve host: astral.sh\n", "could not reach the network"),
        ("/usr/bin/python3: No module named pytest\n", "lacks a module of its own"),
        ("=== no tests ran in 0.01s ===\n", "ran no test"),
        ("/tests/test.sh: line 9: syntax error near unexpected token `fi'\n", "script crashed"),
    ],
)
def test_a_verifier_that_crashed_makes_a_must_fail_case_void(
    tmp_path: Path, printed: str, reason: str
) -> None:
    outcome = judge(NOP, failed(), trial(tmp_path, verifier=printed))
    assert (outcome.kind, outcome.met) == ("void", None)
    assert reason in outcome.reason


def test_a_program_that_the_solution_should_have_made_may_be_missing(tmp_path: Path) -> None:
    printed = "/tests/test.sh: line 3: slugify: command not found\n"
    assert judge(NOP, failed(), trial(tmp_path, verifier=printed)).met is True


def test_a_check_that_failed_outweighs_noise_in_the_output(tmp_path: Path) -> None:
    outcome = failed(tests=(Test("t", "failed", "curl: command not found"),))
    printed = "curl: command not found\n"
    assert judge(NOP, outcome, trial(tmp_path, verifier=printed)).met is True


def test_a_reward_of_nothing_with_every_check_passed_is_void(tmp_path: Path) -> None:
    outcome = judge(NOP, failed(tests=(Test("t", "passed"),)), tmp_path)
    assert (outcome.kind, outcome.reason) == ("void", "the reward is 0, yet no check failed")


@pytest.mark.parametrize("name", ["test_b", "tests/test_x.py::test_b", "tests/test_x.py::test_b[1-2]"])
def test_named_tests_are_found_by_their_whole_name_or_its_end(tmp_path: Path, name: str) -> None:
    outcome = failed(tests=(Test(name, "failed"), Test("test_a", "passed")))
    assert judge(negative(fails=("test_b",)), outcome, tmp_path).met is True


def test_failing_for_another_reason_than_the_named_one_is_void(tmp_path: Path) -> None:
    outcome = failed(tests=(Test("test_a", "failed"), Test("test_b", "passed")))
    judged = judge(negative(fails=("test_b",)), outcome, tmp_path)
    assert judged.kind == "void"
    assert judged.reason == "it failed for another reason: test_b did not fail (test_a did)"


def test_naming_tests_where_the_verifier_names_none_is_void(tmp_path: Path) -> None:
    assert judge(negative(fails=("test_b",)), failed(), tmp_path).kind == "void"


def test_the_verifiers_output_must_match_where_the_case_says_so(tmp_path: Path) -> None:
    case = negative(output=r"^expected \d+")
    assert judge(case, failed(), trial(tmp_path, verifier="hm\nexpected 3\n")).met is True
    assert judge(case, failed(), trial(tmp_path, verifier="expected three\n")).kind == "void"


def test_an_alternative_solution_must_pass(tmp_path: Path) -> None:
    case = Case("other-way", "negative", "pass", script="negatives/other-way/solve.sh")
    assert judge(case, passed(), tmp_path).met is True
    assert judge(case, failed(), tmp_path).met is False


@pytest.mark.parametrize("kind", ["cancelled", "killed"])
def test_a_run_that_was_cut_short_meets_nothing(tmp_path: Path, kind: str) -> None:
    outcome = Outcome(kind=kind, reason="")  # type: ignore[arg-type]
    assert judge(ORACLE, outcome, tmp_path).met is None
    assert judge(NOP, outcome, tmp_path).met is None
