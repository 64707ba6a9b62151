"""From the cases' outcomes to a verdict."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from workbench.cases.case import Case
from workbench.proof.verdict import Verdict
from workbench.trials.outcome import Outcome


def decide(cases: Sequence[Case], outcomes: Mapping[str, Sequence[Outcome]]) -> Verdict:
    """What the cases come to.

    Args:
        cases: All of the task's.
        outcomes: By case name, every outcome that speaks of the files as they are, oldest first;
            cancelled ones left out.

    A broken oracle outweighs a harness that cannot fail, that one a flaky case, and that one a case that
    nothing is proven of.
    """
    expected = [case for case in cases if case.expect is not None]
    newest = {case.name: outcomes[case.name][-1] for case in expected if outcomes.get(case.name)}
    held = [name for name, outcome in newest.items() if outcome.met]

    def verdict(kind: str, reason: str, names: Sequence[str]) -> Verdict:
        return Verdict(kind, reason, tuple(names), len(held), len(expected))  # type: ignore[arg-type]

    unmet = [case for case in expected if case.name in newest and newest[case.name].met is False]
    if broken := [case for case in unmet if case.expect == "pass"]:
        name = broken[0].name
        reason = f"{name} must pass: {newest[name].reason}"
        if _alike(newest.get(name), newest.get("nop")):
            reason += "; nop fails the same way, so look at the harness before the solution"
        return verdict("broken", reason, [case.name for case in broken])
    if passed := [case.name for case in unmet]:
        others = f" (and {', '.join(passed[1:])})" if passed[1:] else ""
        return verdict("cannot fail", f"{passed[0]}{others} must fail, but passed", passed)
    for case in expected:
        if differs := _differs(outcomes.get(case.name, ())):
            return verdict("flaky", f"{case.name} does not come out the same: {differs}", [case.name])
    if open_ := [case.name for case in expected if case.name not in held]:
        outcome = newest.get(open_[0])
        why = f"{outcome.kind}: {outcome.reason}" if outcome else "has not run"
        return verdict("unproven", f"{open_[0]} {why}" if not outcome else f"{open_[0]} is {why}", open_)
    if not expected:
        return verdict("unproven", "no case has an expectation", ())
    return verdict("holds", f"all {len(held)} cases came out as they must", ())


def _alike(one: Outcome | None, other: Outcome | None) -> bool:
    if one is None or other is None or one.agent_exit_code is not None:
        return False
    return (one.exception, one.reward, [t.name for t in one.tests if t.status != "passed"]) == (
        other.exception,
        other.reward,
        [t.name for t in other.tests if t.status != "passed"],
    )


def _differs(outcomes: Sequence[Outcome]) -> str:
    graded = [outcome for outcome in outcomes if outcome.kind in ("passed", "failed")]
    for one, other in itertools.pairwise(graded):
        if one.rewards != other.rewards:
            return f"reward {one.reward:g}, then {other.reward:g}"
        before, after = ({(t.step, t.name): t.status for t in run.tests} for run in (one, other))
        if changed := sorted(key for key in before.keys() & after.keys() if before[key] != after[key]):
            key = changed[0]
            return f"{key[1]} {before[key]}, then {after[key]}"
    return ""
