"""What receipts and history tell others: plain data that faces share, without the database behind it."""

from __future__ import annotations

import msgspec

from workbench.cases.case import CaseKind, Expectation
from workbench.proof.verdict import Verdict
from workbench.trials.outcome import OutcomeKind, PhaseName, Test


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """All that an outcome depends on. Runs with equal inputs should come to the same."""

    agent_key: str
    """Of the agent stage: image, settings, instruction, the case's own files."""
    verdict_key: str
    """Of the verdict stage: the agent stage's key, tests, verifier settings, expectation."""
    harbor: str
    """Harbor's version."""
    provider: str
    """`smol`, `bubblewrap` or `harbor:TYPE`."""
    provider_version: str
    workbench: str
    """The workbench's version: it judges, so another one may judge otherwise."""
    platform: str
    """Operating system and architecture, such as `linux/x86_64`."""
    threshold: float = 1.0
    """The least reward that passes."""


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


class Slower(msgspec.Struct, frozen=True):
    """A phase that took longer than its spread allows."""

    phase: PhaseName
    before: float
    """Seconds, the median."""
    now: float
    """Seconds."""
    step: str = ""


class PhaseStats(msgspec.Struct, frozen=True, kw_only=True):
    """How long a phase takes, over the runs of one kind that are kept."""

    case: str
    phase: PhaseName
    step: str
    provider: str
    machine: str
    whole: bool
    sound: bool
    """Over runs that came out as they must, or over the others; never over both."""
    count: int
    median: float
    """Seconds."""
    p95: float
    """Seconds."""
