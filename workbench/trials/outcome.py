"""What a run came to: plain data that faces, receipts and recordings share."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

type OutcomeKind = Literal["passed", "failed", "void", "error", "timeout", "killed", "cancelled"]
type PhaseName = Literal["environment", "agent setup", "agent", "transfer", "verifier", "teardown"]
type TestStatus = Literal["passed", "failed", "skipped", "error"]


class Phase(msgspec.Struct, frozen=True):
    """A stretch of a run."""

    name: PhaseName
    started_at: float
    """Unix seconds."""
    ended_at: float | None = None
    """Unix seconds; None while it lasts."""
    step: str = ""
    """The step of a multi-step task."""

    @property
    def seconds(self) -> float | None:
        """How long it took, None while it lasts."""
        return None if self.ended_at is None else self.ended_at - self.started_at


class Test(msgspec.Struct, frozen=True):
    """One check of the verifier, as its CTRF or JUnit report tells it."""

    __test__: ClassVar[bool] = False
    """Keeps pytest from taking it for a test of its own."""

    name: str
    status: TestStatus
    message: str = ""
    seconds: float | None = None
    reruns: int = 0
    """How often its runner tried it again, as runners do with flaky ones; `status` is the last try's."""
    trace: str = ""
    """What its runner tells besides the message: often where it failed, which the message does not say."""
    step: str = ""
    """The step of a multi-step task; steps often repeat the tests of those before."""

    @property
    def full_name(self) -> str:
        """Its name, after that of its step where the task has steps."""
        return f"{self.step}: {self.name}" if self.step else self.name

    @property
    def said(self) -> str:
        """Message and trace, as one text."""
        return "\n\n".join(part for part in (self.message.strip("\n"), self.trace.strip("\n")) if part)


class StepOutcome(msgspec.Struct, frozen=True):
    """What one step of a multi-step task came to."""

    name: str
    reward: float | None
    """None: the step has no result, which Harbor leaves out of the mean."""
    rewards: dict[str, float] = {}
    exception: str = ""
    reason: str = ""


class Outcome(msgspec.Struct, frozen=True):
    """What a run came to, always with its reason."""

    kind: OutcomeKind
    reason: str
    """One line in plain words."""
    reward: float | None = None
    """The reward that decides: the key `reward`, else the lowest of all keys; None when none was given."""
    rewards: dict[str, float] = {}
    """Every key of the reward file."""
    met: bool | None = None
    """Whether the case's expectation holds; None where it has none or where this run cannot tell."""
    detail: tuple[str, ...] = ()
    """Further lines that explain the reason, such as the last lines of a failing solve.sh."""
    exception: str = ""
    """Harbor's exception class, where the trial has one."""
    timed_out: Literal["", "agent", "verifier", "environment"] = ""
    """Which timeout struck, also when the run was graded all the same."""
    agent_exit_code: int | None = None
    """Exit code of the case's script when it was not 0."""
    tests: tuple[Test, ...] = ()
    steps: tuple[StepOutcome, ...] = ()
    phases: tuple[Phase, ...] = ()
    whole: bool = True
    """True for a whole trial, False for a re-verification of a kept state."""
    notes: tuple[str, ...] = ()
    """Things worth knowing that do not change the outcome, such as a limit that was not enforced."""

    @property
    def seconds(self) -> float:
        """From the first phase's start to the last phase's end."""
        ends = [phase.ended_at for phase in self.phases if phase.ended_at is not None]
        return max(ends) - self.phases[0].started_at if ends else 0.0
