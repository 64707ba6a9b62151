"""A task's proof as one document, for a review: what each case came to, on what, and whether it still speaks
of the files as they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from workbench.cases.case import Case, CaseKind, Expectation
from workbench.proof.decide import decide
from workbench.proof.receipts import Inputs, Receipt, Receipts, stale_why
from workbench.proof.verdict import Verdict
from workbench.trials.outcome import OutcomeKind, Test

NEVER_RUN = "it has not run"
_NOT_KNOWN: Mapping[str, str] = MappingProxyType({})


class CaseReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """One case's newest run, and whether it speaks of the files as they are."""

    case: str
    kind: CaseKind
    expect: Expectation | None
    stale: str
    """Why the run says nothing of the files as they are; empty when it does."""
    outcome: OutcomeKind | None = None
    """What the run came to; this and all below are None where there has been none."""
    met: bool | None = None
    """Whether the expectation was met."""
    reason: str | None = None
    reward: float | None = None
    tests: tuple[Test, ...] | None = None
    seconds: float | None = None
    whole: bool | None = None
    """True for a whole trial, False for a re-verification."""
    date: str | None = None
    """When it ended, UTC, ISO 8601."""
    age_seconds: float | None = None
    image: str | None = None
    machine: str | None = None
    inputs: Inputs | None = None
    task_digest: str | None = None
    """Of the task's files then; another digest than now's with equal inputs means that no file changed that
    this case depends on."""
    trial_dir: str | None = None
    trial_gone: bool | None = None
    """Whether the trial directory is no longer there."""


class ProofReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a task's cases come to as far as receipts say, and on which versions."""

    task: str
    """Absolute directory."""
    name: str
    digest: str
    """Of the task's files as they are."""
    verdict: Verdict
    """From the receipts that speak of the files as they are, and from no others."""
    stale: tuple[str, ...]
    """Why it proves nothing of the files as they are, one line a case; empty when it does."""
    whole: bool
    """Whether every case's run was a whole trial."""
    harbor: str
    provider: str
    provider_version: str
    workbench: str
    platform: str
    threshold: float
    date: str
    """When the oldest of the runs ended that it stands on, UTC, ISO 8601; empty when it stands on none."""
    cases: tuple[CaseReceipt, ...]


def describe(
    task: str,
    name: str,
    digest: str,
    cases: Sequence[Case],
    now: Mapping[str, Inputs],
    receipts: Receipts,
    changed: Mapping[str, str] = _NOT_KNOWN,
    at: float | None = None,
) -> ProofReceipt:
    """The proof of a task as its receipts tell it.

    Args:
        task: Absolute directory.
        name: The task's own name.
        digest: Of the task's files as they are.
        cases: All of the task's.
        now: The inputs of each case as they are, by its name; all on the same versions.
        changed: What changed since each case's newest receipt, in words, by its name; see `stale_why`.
        at: Unix seconds to count ages from; now when None.

    Raises:
        ValueError: there are no cases.
        DatabaseError: the receipts cannot be read.
    """
    if not cases:
        raise ValueError(f"{task}: a task without cases has no receipt")
    at = time.time() if at is None else at
    repeats = {case.name: receipts.repeats(case.name, now[case.name]) for case in cases}
    newest = receipts.of_task(task) | {name: found[-1] for name, found in repeats.items() if found}
    described = tuple(
        _case(case, now[case.name], newest.get(case.name), changed.get(case.name, ""), at) for case in cases
    )
    fresh = [newest[case.case] for case in described if not case.stale and case.expect is not None]
    inputs = now[cases[0].name]
    return ProofReceipt(
        task=task,
        name=name,
        digest=digest,
        verdict=decide(cases, {name: [one.outcome for one in found] for name, found in repeats.items()}),
        stale=tuple(f"{c.case}: {c.stale}" for c in described if c.stale and c.expect is not None),
        whole=bool(fresh) and all(receipt.whole for receipt in fresh),
        harbor=inputs.harbor,
        provider=inputs.provider,
        provider_version=inputs.provider_version,
        workbench=inputs.workbench,
        platform=inputs.platform,
        threshold=inputs.threshold,
        date=_date(min(receipt.at for receipt in fresh)) if fresh else "",
        cases=described,
    )


def _case(case: Case, now: Inputs, receipt: Receipt | None, changed: str, at: float) -> CaseReceipt:
    if receipt is None:
        return CaseReceipt(case=case.name, kind=case.kind, expect=case.expect, stale=NEVER_RUN)
    outcome = receipt.outcome
    return CaseReceipt(
        case=case.name,
        kind=case.kind,
        expect=case.expect,
        stale=stale_why(receipt, now, changed),
        outcome=outcome.kind,
        met=outcome.met,
        reason=outcome.reason,
        reward=outcome.reward,
        tests=outcome.tests,
        seconds=outcome.seconds,
        whole=receipt.whole,
        date=_date(receipt.at),
        age_seconds=round(at - receipt.at, 3),
        image=receipt.image,
        machine=receipt.machine,
        inputs=receipt.inputs,
        task_digest=receipt.task_digest,
        trial_dir=receipt.trial_dir,
        trial_gone=receipt.trial_gone,
    )


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
