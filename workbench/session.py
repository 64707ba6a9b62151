"""The fold: events in, what there is to show out.

Faces read these views and never keep a truth of their own beside them. Feeding the same events gives
the same session, whether they come from an engine, a recording or a test.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from workbench import events as ev
from workbench.cases.case import Case, Trace
from workbench.images.build_events import RegistryAnswer
from workbench.images.image_view import ImageView
from workbench.proof.documents import ProofReceipt, Slower
from workbench.proof.verdict import Verdict
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, Phase, PhaseName, Test

OUTPUT_LIMIT = 8 * 1024 * 1024
"""Characters of output kept for one run; older pieces are dropped. The trial directory has all."""
PIECE_COST = 200
"""What a piece takes besides its characters, about, so that a million tiny ones are bounded too."""
RUNS_KEPT = 200
"""Ended runs kept for one task; older ones are dropped."""

type RunState = Literal["queued", "running", "ended"]


@dataclass
class Run:
    """One run of a case, as it stands."""

    id: str
    task: str
    case: str
    why: str = ""
    state: RunState = "queued"
    queued_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    trial_dir: str = ""
    phases: list[Phase] = field(default_factory=list)
    """The last one has no end while the run lasts."""
    output: deque[ev.Output] = field(default_factory=deque, repr=False)
    output_size: int = 0
    """Characters in `output`, and `PIECE_COST` more for each piece."""
    output_seen: int = 0
    """Pieces of output that came in, dropped ones included."""
    outcome: Outcome | None = None
    whole: bool = True
    """True for a whole trial, False for a re-verification."""
    recalled: bool = False
    """It ran before this engine began; a receipt tells of it."""
    expected: tuple[ev.Expected, ...] = ()
    slower: tuple[Slower, ...] = ()
    memory_bytes: int = 0
    """Of its machine, when that was last measured."""

    @property
    def lasting_id(self) -> str:
        """What it is known by next time, too: recalled, it has another `id` and the same directory."""
        return self.trial_dir or self.id

    def is_known_as(self, name: str) -> bool:
        """Whether this is its `id` or its `lasting_id`."""
        return name in (self.id, self.lasting_id)

    @property
    def has_begun(self) -> bool:
        """Whether there is anything of it to look at: it neither waits nor was cancelled while it did."""
        return self.started_at is not None or self.recalled

    @property
    def tests(self) -> tuple[Test, ...]:
        """Those that its verifier named, once it has ended."""
        return self.outcome.tests if self.outcome else ()

    def did_without(self, phase: PhaseName) -> bool:
        """Whether phases of it are known, and none of this name."""
        return bool(self.phases) and all(known.name != phase for known in self.phases)

    @property
    def phase(self) -> Phase | None:
        """The phase it is in, None before and after."""
        return self.phases[-1] if self.state == "running" and self.phases else None

    def text(self, source: ev.OutputSource) -> str:
        """All that was kept of one source's output."""
        return "".join(piece.text for piece in self.output if piece.source == source)


@dataclass
class CaseView:
    """A case and its runs."""

    case: Case
    runs: list[Run] = field(default_factory=list)
    """Oldest first."""
    stale: str = ""
    """Why what is known no longer speaks of the files; empty when it does."""

    @property
    def current(self) -> Run | None:
        """The newest run, whatever its state."""
        return self.runs[-1] if self.runs else None

    @property
    def begun(self) -> Run | None:
        """The newest run that has begun."""
        return next((run for run in reversed(self.runs) if run.has_begun), None)

    @property
    def decided(self) -> Run | None:
        """The newest run that came to an outcome other than cancelled."""
        return next((r for r in reversed(self.runs) if r.outcome and r.outcome.kind != "cancelled"), None)


@dataclass
class TaskView:
    """A task: its cases, problems and verdict."""

    path: str
    opened: ev.TaskOpened | None = None
    unreadable: str = ""
    """Why it cannot be run as it stands; empty when it can."""
    problems: tuple[Problem, ...] = ()
    looked: bool = False
    """Whether its files were looked through for problems."""
    cases: dict[str, CaseView] = field(default_factory=dict)
    """By name, in the order to show them."""
    watching: bool = False
    trace: Trace = "negatives"
    """Whose scripts' commands are told apart."""
    changed: ev.FilesChanged | None = None
    """The newest burst of saves."""
    verdict: Verdict | None = None
    differed: dict[str, ev.ConfirmationDiffered] = field(default_factory=dict)
    """By case: the newest confirmation, where it disagreed with the re-verification before it."""
    receipt: ProofReceipt | None = None
    earlier: tuple[ev.EarlierRun, ...] = ()
    """Runs that are kept, of this task and of others, newest first, as last told."""
    images: dict[str, ImageView] = field(default_factory=dict)
    """By the directory that they are built from."""
    registries: dict[str, RegistryAnswer] = field(default_factory=dict)
    """By an image's name: what its registry said when it was last asked."""
    shells: dict[str, ev.ShellReady | ev.ShellFailed | ev.ShellLost] = field(default_factory=dict)
    """The newest word of each shell, by its name."""
    drafts: deque[ev.DraftWritten] = field(default_factory=lambda: deque(maxlen=50))
    """Scripts that were written of what shells typed, oldest first."""
    settled: bool = False
    """Nothing runs or waits."""

    @property
    def name(self) -> str:
        """The task's own name, else its directory's."""
        return self.opened.name if self.opened else self.path.rstrip("/").rpartition("/")[2]

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is no task at all, but trials that were made elsewhere."""
        return self.opened is not None and self.opened.trials_dir == self.path


@dataclass
class Session:
    """All that the events so far say."""

    tasks: dict[str, TaskView] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    engine: ev.EngineStarted | None = None
    provider: ev.ProviderChosen | None = None
    failed: ev.EngineFailed | None = None
    stopped: bool = False
    costs: ev.CostsMeasured | None = None
    """What machines and states cost."""
    notices: deque[ev.Notice] = field(default_factory=lambda: deque(maxlen=500))

    def task(self, path: str) -> TaskView:
        """The view of the task at `path`, made when it is first heard of."""
        return self.tasks.setdefault(path, TaskView(path))

    @property
    def busy(self) -> bool:
        """Whether anything runs or is being built."""
        running = any(run.state == "running" for run in self.runs.values())
        return running or any(
            image.building for task in self.tasks.values() for image in task.images.values()
        )

    def clear(self) -> None:
        """Forget all that was told."""
        vars(self).update(vars(Session()))

    def apply(self, event: ev.Event) -> None:
        """Take one event in. Events about runs or cases that were never announced are let go."""
        match event:
            case ev.EngineStarted():
                self._restart(event)
            case ev.EngineFailed():
                self.failed = event
            case ev.EngineStopped():
                self.stopped = True
            case ev.ProviderChosen():
                self.provider = event
            case ev.Notice():
                self.notices.append(event)
            case ev.CostsMeasured():
                self.costs = event
                for cost in event.machines:
                    if run := self.runs.get(cost.run):
                        run.memory_bytes = cost.memory_bytes
            case ev.RunQueued():
                self._queue(event)
            case ev.RunRecalled():
                self._recall(event)
            case ev.RunStarted() | ev.PhaseStarted() | ev.Output() | ev.RunEnded():
                if run := self.runs.get(event.run):
                    _advance(run, event)
                if isinstance(event, ev.RunEnded) and event.outcome.kind != "cancelled":
                    self._decided(event)
            case ev.CaseStale():
                if view := self._case(event.task, event.case):
                    view.stale = event.why
            case _:
                _update(self.task(event.task), event)

    def engine_died(self, at: float) -> None:
        """Settle what an engine left open when it ended without saying so; what is shown stays."""
        self.stopped = True
        lost = Outcome(kind="cancelled", reason="the engine ended before this run did")
        for run in self.runs.values():
            if run.state != "ended":
                _advance(run, ev.RunEnded(task=run.task, case=run.case, run=run.id, outcome=lost, at=at))
        for task in self.tasks.values():
            task.watching = False
            task.settled = True
            for image in task.images.values():
                image.started = None
            for shell in task.shells:
                task.shells[shell] = ev.ShellLost(
                    task=task.path, shell=shell, reason="the engine ended", at=at
                )

    def _restart(self, event: ev.EngineStarted) -> None:
        if self.engine is not None:
            self.engine_died(event.at)
        self.engine, self.failed, self.stopped = event, None, False

    def _decided(self, event: ev.RunEnded) -> None:
        if view := self._case(event.task, event.case):
            view.stale = ""
        if event.outcome.whole:
            # Whether this whole trial differs, too, is told after its end.
            self.task(event.task).differed.pop(event.case, None)

    def _case(self, task: str, case: str) -> CaseView | None:
        return self.task(task).cases.get(case)

    def _queue(self, event: ev.RunQueued) -> None:
        task = self.task(event.task)
        task.settled = False
        if view := task.cases.get(event.case):
            run = Run(event.run, event.task, event.case, event.why, queued_at=event.at)
            self.runs[run.id] = run
            view.runs.append(run)
            self._trim(task)

    def _recall(self, event: ev.RunRecalled) -> None:
        task = self.task(event.task)
        if view := task.cases.get(event.case):
            run = recalled(event)
            self.runs[run.id] = run
            view.runs.append(run)
            view.stale = ""

    def _trim(self, task: TaskView) -> None:
        ended = [run for view in task.cases.values() for run in view.runs[:-1] if run.state == "ended"]
        for run in sorted(ended, key=lambda run: run.queued_at)[: max(0, len(ended) - RUNS_KEPT)]:
            task.cases[run.case].runs.remove(run)
            del self.runs[run.id]


def recalled(event: ev.RunRecalled) -> Run:
    """A run that ended before this engine began."""
    run = Run(event.run, event.task, event.case, "receipt", "ended", queued_at=event.at)
    run.trial_dir, run.ended_at, run.outcome = event.trial_dir, event.ran_at, event.outcome
    run.phases, run.whole, run.recalled = list(event.outcome.phases), event.outcome.whole, True
    return run


def _update(task: TaskView, event: ev.Event) -> None:
    match event:
        case ev.TaskOpened():
            task.opened, task.unreadable = event, ""
        case ev.TaskUnreadable():
            task.unreadable = event.reason
        case ev.ProblemsFound():
            task.problems, task.looked = event.problems, True
        case ev.CasesFound():
            task.cases = {
                case.name: CaseView(case, *_kept(task.cases.get(case.name))) for case in event.cases
            }
        case ev.WatchingChanged():
            task.watching = event.watching
        case ev.TracingChanged():
            task.trace = event.trace
        case ev.FilesChanged():
            task.changed = event
        case ev.VerdictReached():
            task.verdict = event.verdict
        case ev.ConfirmationDiffered():
            task.differed[event.case] = event
        case ev.ReceiptTold():
            task.receipt = event.receipt
        case ev.EarlierRunsTold():
            task.earlier = event.runs
        case ev.ShellReady() | ev.ShellFailed() | ev.ShellLost():
            task.shells[event.shell] = event
        case ev.DraftWritten():
            task.drafts.append(event)
        case ev.ImageEvent():
            image = task.images.setdefault(event.directory, ImageView(event.directory))
            image.apply(event.build, event.at)
        case ev.RegistriesAsked():
            task.registries |= {answer.name: answer for answer in event.answers}
        case ev.Settled():
            task.settled = True


def _kept(view: CaseView | None) -> tuple[list[Run], str]:
    return (view.runs, view.stale) if view else ([], "")


def _advance(run: Run, event: ev.RunStarted | ev.PhaseStarted | ev.Output | ev.RunEnded) -> None:
    match event:
        case ev.RunStarted():
            run.state, run.started_at, run.trial_dir = "running", event.at, event.trial_dir
            run.whole, run.expected = event.whole, event.expected
        case ev.PhaseStarted():
            _close_phase(run, event.at)
            run.phases.append(Phase(event.phase, event.at, None, event.step))
        case ev.Output():
            run.output.append(event)
            run.output_seen += 1
            run.output_size += len(event.text) + PIECE_COST
            while run.output_size > OUTPUT_LIMIT and len(run.output) > 1:
                run.output_size -= len(run.output.popleft().text) + PIECE_COST
        case ev.RunEnded():
            _close_phase(run, event.at)
            run.state, run.ended_at, run.outcome = "ended", event.at, event.outcome
            run.slower = event.slower
            if event.outcome.phases:
                run.phases = list(event.outcome.phases)


def _close_phase(run: Run, at: float) -> None:
    if run.phases and run.phases[-1].ended_at is None:
        last = run.phases[-1]
        run.phases[-1] = Phase(last.name, last.started_at, at, last.step)
