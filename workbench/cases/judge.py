"""Whether a run meets its case's expectation, and for the right reason.

Harbor decides the reward. A must-fail case is met only by a verifier that ran, wrote a reward below the
threshold, and did so because a check failed; anything else is void and proves nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from workbench.cases.case import Case
from workbench.trials.outcome import Outcome, Test
from workbench.trials.plain_words import INFRASTRUCTURE
from workbench.trials.read import Printed, last_lines
from workbench.trials.reports import ran_none

# Programs that a verifier brings or expects; where one is missing, it is not the solution that failed.
_TOOLS = (
    r"(?:python[\d.]*|pip[\d.]*|pytest|uv|uvx|tox|nox|node|npm|npx|yarn|pnpm|bun|deno|curl|wget|git|jq|"
    r"bash|make|cmake|gcc|g\+\+|cargo|go|java|javac|mvn|gradle|ruby|rspec|bundle|php|phpunit|perl|prove|"
    r"apt|apt-get|apk|conda|diff|timeout|bc)"
)
_CRASHES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            rf"\b({_TOOLS}): (?:command )?not found\b|exec: \"?({_TOOLS})\"?: executable file not found"
        ),
        "the verifier could not find a command: {line}",
    ),
    (
        re.compile(
            r"Could not resolve host|Temporary failure in name resolution|Name or service not known|"
            r"Network is unreachable|Temporary failure resolving|Failed to fetch: |"
            r"Failed to establish a new connection"
        ),
        "the verifier could not reach the network: {line}",
    ),
    (
        re.compile(r"^/tests/test\.sh: line \d+: syntax error.*|bad interpreter.*", re.MULTILINE),
        "the verifier's script crashed: {line}",
    ),
    (
        re.compile(r"No module named '?(?:pytest|pip|uv|pytest_\w+|ctrf\w*)'?"),
        "the verifier lacks a module of its own: {line}",
    ),
    (
        re.compile(r"Interrupted: \d+ errors? during collection|INTERNALERROR>"),
        "the verifier's tests could not be collected: {line}",
    ),
)


def judge(case: Case, outcome: Outcome, trial_dir: Path) -> Outcome:
    """The outcome, with whether the case's expectation is met and a reason that says so.

    Args:
        case: What was expected.
        outcome: What the run came to.
        trial_dir: The run's trial directory, whose output is looked into for causes.
    """
    if outcome.kind in ("cancelled", "killed") or case.expect is None:
        return outcome
    printed = Printed(trial_dir)
    if case.expect == "pass":
        return _must_pass(case, outcome, printed)
    return _must_fail(case, outcome, printed)


def _must_pass(case: Case, outcome: Outcome, printed: Printed) -> Outcome:
    never_began = outcome.exception and not outcome.phases
    if never_began or outcome.exception in INFRASTRUCTURE:
        return outcome
    reasons = [outcome.reason]
    if (code := outcome.agent_exit_code) is not None:
        script = case.script.rpartition("/")[2] or "solve.sh"
        reasons.insert(0, f"{script} exited with {code}")
        step = next((s.name for s in outcome.steps if printed.exit_code(s.name)), "")
        outcome = msgspec.structs.replace(outcome, detail=last_lines(printed.agent(step)) or outcome.detail)
    reasons += [f"step {step.name} has no result" for step in outcome.steps if step.reward is None]
    met = outcome.kind == "passed" and not outcome.exception and len(reasons) == 1
    if not met and outcome.kind == "failed" and not outcome.detail:
        step = next((s.name for s in outcome.steps if s.reward is not None and s.reward < 1), "")
        outcome = msgspec.structs.replace(outcome, detail=_failures(outcome, printed, step))
    return msgspec.structs.replace(outcome, met=met, reason="; ".join(reasons))


def _failures(outcome: Outcome, printed: Printed, step: str) -> tuple[str, ...]:
    failed = tuple(f"{test.name}: {test.message}".rstrip(": ") for test in _failed(outcome))
    return failed[:12] or last_lines(printed.verifier(step))


def _must_fail(case: Case, outcome: Outcome, printed: Printed) -> Outcome:
    if outcome.kind == "passed":
        return msgspec.structs.replace(
            outcome, met=False, reason=f"{outcome.reason}, but it must fail: the harness cannot fail here"
        )
    if outcome.kind != "failed":
        return _void(outcome, f"it was not graded: {outcome.reason}")
    if why := _why_void(case, outcome, printed):
        return _void(outcome, why)
    return msgspec.structs.replace(outcome, met=True, reason=_why_met(case, outcome))


def _void(outcome: Outcome, reason: str) -> Outcome:
    return msgspec.structs.replace(outcome, kind="void", met=None, reason=reason)


def _why_void(case: Case, outcome: Outcome, printed: Printed) -> str:
    """Why a reward below the threshold proves nothing; empty when it proves what it should."""
    steps = [step.name for step in outcome.steps] or [""]
    said = "\n".join(printed.verifier(step) for step in steps)
    failed = _failed(outcome)
    if outcome.exception and outcome.timed_out != "agent":
        return f"it was not graded for its work: {outcome.reason}"
    if outcome.tests and not failed:
        return f"the reward is {outcome.reward:g}, yet no check failed"
    if not failed and ran_none(said):
        return "the verifier ran no test"
    if not failed and (crash := _crash(said)):
        return crash
    if case.fails and not outcome.tests:
        return "it names the tests that must fail, but the verifier reports no tests by name"
    names = [test.name for test in failed]
    if missing := [name for name in case.fails if not any(_same(name, other) for other in names)]:
        return f"it failed for another reason: {', '.join(missing)} did not fail ({_list(names)} did)"
    if case.output and not re.search(case.output, said, re.MULTILINE):
        return f"the verifier's output does not match {case.output!r}"
    return ""


def _crash(said: str) -> str:
    for pattern, reason in _CRASHES:
        if match := pattern.search(said):
            start = said.rfind("\n", 0, match.start()) + 1
            line = said[start:].split("\n", 1)[0].strip()
            return reason.format(line=line)
    return ""


def _failed(outcome: Outcome) -> list[Test]:
    return [test for test in outcome.tests if test.status in ("failed", "error")]


def _same(wanted: str, name: str) -> bool:
    """Whether a test's name is the one an author means: whole, or its last part."""
    bare = re.sub(r"\[.*\]$", "", name)
    return any(
        candidate == wanted or re.search(rf"(?:::|\.|/){re.escape(wanted)}$", candidate)
        for candidate in (name, bare)
    )


def _why_met(case: Case, outcome: Outcome) -> str:
    failed = [test.name for test in _failed(outcome)]
    return f"{outcome.reason}: {_list(failed)} failed" if failed else outcome.reason


def _list(names: list[str]) -> str:
    shown = ", ".join(name.rpartition("::")[2] for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown or "nothing"
