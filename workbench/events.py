"""What happened: the facts that flow from the engine to every face.

One JSON object a line, tagged by `event`. A face shows nothing that is not a fold over these
(`workbench.session`), so the stream printed is `--json`, the stream kept is a recording, and the
stream fed to the terminal face is a test.

Every event carries `at`, Unix seconds by the engine's clock. Tasks are named by their absolute
directory, runs by an identifier that is unique across engines.
"""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from workbench.cases.case import Case, Expectation, Trace
from workbench.images.build_events import BuildEvent, RegistryAnswer
from workbench.machines.machine import GuestUsage, HostCommand
from workbench.proof.documents import ProofReceipt, Slower
from workbench.proof.verdict import Verdict
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, PhaseName

PROTOCOL = 1
"""Raised when a change of these messages would mislead an older face."""

type OutputSource = Literal["environment", "agent", "verifier"]
type NoticeLevel = Literal["info", "warning", "error"]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    at: float = msgspec.field(default_factory=time.time)


class Expected(msgspec.Struct, frozen=True):
    """How long a phase is likely to take."""

    phase: PhaseName
    seconds: float
    step: str = ""


class EngineStarted(_Event, frozen=True, kw_only=True, tag="engine-started"):
    """The first event of every engine."""

    pid: int
    version: str
    protocol: int = PROTOCOL


class EngineFailed(_Event, frozen=True, kw_only=True, tag="engine-failed"):
    """The machinery cannot go on: no provider, no Harbor, no room on the disk."""

    message: str
    hint: str = ""


class EngineStopped(_Event, frozen=True, kw_only=True, tag="engine-stopped"):
    """The last event of an engine that ended in order: its machines are gone."""


class ProviderChosen(_Event, frozen=True, kw_only=True, tag="provider-chosen"):
    """Who makes machines."""

    name: str
    """`smol`, `bubblewrap` or `harbor:TYPE`."""
    label: str
    """How every screen names it, such as "bubblewrap: namespaces, not a VM"."""
    why: str
    """Why this one was chosen."""
    limits: tuple[str, ...] = ()
    """What it cannot enforce or do here, one line each."""


class TaskOpened(_Event, frozen=True, kw_only=True, tag="task-opened"):
    """A task was read, or read again after a change."""

    task: str
    name: str
    """The name in task.toml (`org/name`), else the directory's."""
    image: str = ""
    """What machines boot: an image reference, a Dockerfile, or "image-free"."""
    in_registry: bool = False
    """Whether `image` is a name in a registry, rather than something on this machine."""
    verifier: Literal["shared", "separate"] = "shared"
    steps: tuple[str, ...] = ()
    network: str = "public"
    threshold: float = 1.0
    trials_dir: str = ""
    """Where the trial directories of this task are kept."""


class TaskUnreadable(_Event, frozen=True, kw_only=True, tag="task-unreadable"):
    """The task cannot be run as it stands; the problems say why. What was known of it stays."""

    task: str
    reason: str


class ProblemsFound(_Event, frozen=True, kw_only=True, tag="problems-found"):
    """All problems of the task's files now; replaces those before."""

    task: str
    problems: tuple[Problem, ...]


class CasesFound(_Event, frozen=True, kw_only=True, tag="cases-found"):
    """All cases of the task now, in the order to show them; replaces those before."""

    task: str
    cases: tuple[Case, ...]


class WatchingChanged(_Event, frozen=True, kw_only=True, tag="watching-changed"):
    """Whether saves start replays."""

    task: str
    watching: bool
    reason: str = ""


class TracingChanged(_Event, frozen=True, kw_only=True, tag="tracing-changed"):
    """Whose scripts' commands are told apart, from the next run on."""

    task: str
    trace: Trace


class FilesChanged(_Event, frozen=True, kw_only=True, tag="files-changed"):
    """A burst of saves, and the cases that it made stale."""

    task: str
    paths: tuple[str, ...]
    """Relative to the task."""
    stale: tuple[str, ...] = ()
    why: str = ""
    """Such as "tests/test.sh changed"."""


class CaseStale(_Event, frozen=True, kw_only=True, tag="case-stale"):
    """What is known of a case no longer speaks of the task's files; with `why` empty, it does again."""

    task: str
    case: str
    why: str


class RunQueued(_Event, frozen=True, kw_only=True, tag="run-queued"):
    """A run waits for its turn."""

    task: str
    case: str
    run: str
    why: str = ""
    """Such as "asked for" or "tests/test.sh changed"."""
    times: int = 1
    """How many runs of the case were asked for together, of which this is one."""


class RunStarted(_Event, frozen=True, kw_only=True, tag="run-started"):
    """A run has begun."""

    task: str
    case: str
    run: str
    trial_dir: str
    """The trial directory, an ordinary Harbor one."""
    whole: bool = True
    """True for a whole trial, False for a re-verification of a kept state."""
    expected: tuple[Expected, ...] = ()
    """How long its phases are likely to take, from the history; those that have none are missing."""


class PhaseStarted(_Event, frozen=True, kw_only=True, tag="phase-started"):
    """A run entered a phase; the phase before, if any, ended at the same moment."""

    run: str
    phase: PhaseName
    step: str = ""


class Output(_Event, frozen=True, kw_only=True, tag="output"):
    """A piece of what a run prints, live. Pieces need not end at a line's end."""

    run: str
    source: OutputSource
    text: str
    step: str = ""


class RunEnded(_Event, frozen=True, kw_only=True, tag="run-ended"):
    """What a run came to."""

    task: str
    case: str
    run: str
    outcome: Outcome
    slower: tuple[Slower, ...] = ()
    """Phases that took longer than their own spread over earlier runs."""


class RunRecalled(_Event, frozen=True, kw_only=True, tag="run-recalled"):
    """A receipt of an earlier run speaks of the files as they are, so the case need not run again."""

    task: str
    case: str
    run: str
    outcome: Outcome
    ran_at: float
    """Unix seconds when that run ended."""
    trial_dir: str
    """Its trial directory; it may be gone."""


class ConfirmationDiffered(_Event, frozen=True, kw_only=True, tag="confirmation-differed"):
    """A whole trial came out otherwise than the re-verification of the same files: the verdict depends on
    something that a trial has and a branch of its state has not, such as a running process."""

    task: str
    case: str
    run: str
    """The whole trial."""
    reverified: str
    """What the re-verification came to, in one line."""
    whole: str
    """What the whole trial came to, in one line."""


class ReceiptTold(_Event, frozen=True, kw_only=True, tag="receipt-told"):
    """The proof of a task as its receipts tell it."""

    task: str
    receipt: ProofReceipt


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of an earlier day, or of another task, whose trial directory is still there."""

    task: str
    """The task's absolute directory."""
    case: str
    expect: Expectation | None
    at: float
    """Unix seconds when it ended."""
    trial_dir: str
    outcome: Outcome


class EarlierRunsTold(_Event, frozen=True, kw_only=True, tag="earlier-runs-told"):
    """The newest runs that are kept, of whatever task, newest first; replaces those told before."""

    task: str
    runs: tuple[EarlierRun, ...]


class VerdictReached(_Event, frozen=True, kw_only=True, tag="verdict-reached"):
    """What the cases come to now. Sent when it changes, and when a replay has settled."""

    task: str
    verdict: Verdict


class Settled(_Event, frozen=True, kw_only=True, tag="settled"):
    """Nothing of this task runs or waits."""

    task: str


class ImageEvent(_Event, frozen=True, kw_only=True, tag="image"):
    """Something about an image that is built for the task."""

    task: str
    directory: str
    """What it is built from, relative to the task: `environment`, `tests` or `steps/NAME/tests`."""
    build: BuildEvent


class RegistriesAsked(_Event, frozen=True, kw_only=True, tag="registries-asked"):
    """Registries were asked, because it was wished, what the names of the task's images stand for."""

    task: str
    answers: tuple[RegistryAnswer, ...]


class ShellReady(_Event, frozen=True, kw_only=True, tag="shell-ready"):
    """A machine stands ready for a shell. The face runs the command in a pty of its own."""

    task: str
    shell: str
    """The name that the wish gave it."""
    title: str
    """What it stands on, such as "the image" or "what oracle left"."""
    command: HostCommand


class ShellFailed(_Event, frozen=True, kw_only=True, tag="shell-failed"):
    """No machine could be made for a shell."""

    task: str
    shell: str
    reason: str


class ShellLost(_Event, frozen=True, kw_only=True, tag="shell-lost"):
    """The machine under a shell ended."""

    task: str
    shell: str
    reason: str


class DraftWritten(_Event, frozen=True, kw_only=True, tag="draft-written"):
    """What a shell typed was written to a file of the task, for the author to edit."""

    task: str
    shell: str
    path: str
    """Relative to the task."""


class MachineCost(msgspec.Struct, frozen=True):
    """What a machine or a state costs the host now."""

    name: str
    stands_on: str
    """Such as "the image" or "what oracle left"; for a state, what it holds."""
    memory_bytes: int
    cpu_seconds: float = 0.0
    processes: int = 0
    run: str = ""
    """The run whose trial is on it; empty for a shell's machine and for a state."""
    guest: GuestUsage | None = None
    """What the machine itself says it uses, where it has a kernel of its own."""


class CostsMeasured(_Event, frozen=True, kw_only=True, tag="costs-measured"):
    """What the engine's machines and states cost now; sent while any are alive."""

    machines: tuple[MachineCost, ...]
    states: tuple[MachineCost, ...]


class Notice(_Event, frozen=True, kw_only=True, tag="notice"):
    """Something a person should hear of."""

    level: NoticeLevel
    message: str
    task: str = ""


type Event = (
    EngineStarted
    | EngineFailed
    | EngineStopped
    | ProviderChosen
    | TaskOpened
    | TaskUnreadable
    | ProblemsFound
    | CasesFound
    | WatchingChanged
    | TracingChanged
    | FilesChanged
    | CaseStale
    | RunQueued
    | RunStarted
    | PhaseStarted
    | Output
    | RunEnded
    | RunRecalled
    | ConfirmationDiffered
    | ReceiptTold
    | EarlierRunsTold
    | VerdictReached
    | Settled
    | ImageEvent
    | RegistriesAsked
    | ShellReady
    | ShellFailed
    | ShellLost
    | DraftWritten
    | CostsMeasured
    | Notice
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """The event as one line of JSON, newline included."""
    return _encoder.encode(event) + b"\n"


def decode(line: bytes | str) -> Event:
    """The event in one line of JSON.

    Raises:
        msgspec.DecodeError: the line is not an event.
    """
    return _decoder.decode(line)
