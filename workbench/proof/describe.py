"""A task's proof as one document, for a review: what each case came to, on what, and whether it still speaks
of the files as they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from workbench.cases.case import Case
from workbench.proof.decide import decide
from workbench.proof.documents import CaseReceipt, Inputs, ProofReceipt
from workbench.proof.receipts import Receipt, Receipts, stale_why

NEVER_RUN = "it has not run"
_NOT_KNOWN: Mapping[str, str] = MappingProxyType({})


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
