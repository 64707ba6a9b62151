"""One opened task: what is known of it, what a save makes stale, and what to run for it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from workbench import events as ev
from workbench import places
from workbench.cases.agents import agent_of
from workbench.cases.case import Case
from workbench.cases.find import find_cases
from workbench.cases.judge import judge
from workbench.engine.provider import Provider
from workbench.engine.runner import Runner
from workbench.proof.decide import decide
from workbench.proof.verdict import Verdict
from workbench.task.diagnose import diagnose
from workbench.task.load import LoadedTask, load
from workbench.task.roles import Snapshot, affected
from workbench.task.watch import watch
from workbench.trials.observer import Source
from workbench.trials.outcome import Outcome, PhaseName
from workbench.trials.run import TrialRequest, run_trial

type Emit = Callable[[ev.Event], None]


@dataclass
class _Known:
    """What is known of one case."""

    case: Case
    outcomes: list[Outcome] = field(default_factory=list)
    """Those that speak of the files as they are, oldest first."""
    stale: str = ""


class OpenedTask:
    """Watches a task, replays its cases, and says what they come to."""

    def __init__(
        self, path: Path, emit: Emit, runner: Runner, provider: Provider, threshold: float, state: Path
    ) -> None:
        self.path = path
        self.task = str(path)
        self._emit = emit
        self._runner = runner
        self._provider = provider
        self._threshold = threshold
        self._trials_dir = places.trials_dir(state, path) / _session_name()
        self._loaded: LoadedTask | None = None
        self._snapshot: Snapshot | None = None
        self._known: dict[str, _Known] = {}
        self._only: tuple[str, ...] = ()
        self._watching = False
        self._watcher: asyncio.Task[None] | None = None
        self._verdict: Verdict | None = None
        self._order = 0

    async def open(self, wish_watch: bool, replay: bool, only: tuple[str, ...]) -> None:
        """Read the task, and start what was asked for."""
        self._only = only
        await self._read()
        if wish_watch and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(), name=f"watch {self.task}")
        self._say_watching(wish_watch)
        if replay and self._loaded is not None:
            self.replay((), "opened")
        self._settle()

    def replay(self, names: Iterable[str], why: str) -> None:
        """Queue whole trials of the cases named, of all when none is."""
        if self._loaded is None:
            self._emit(
                ev.Notice(level="error", task=self.task, message="the task cannot be run; see its problems")
            )
            return
        wanted = list(names) or list(self._known)
        for name in wanted:
            if name not in self._known:
                known = ", ".join(self._known) or "none"
                message = f"there is no case {name!r}; there are: {known}"
                self._emit(ev.Notice(level="error", task=self.task, message=message))
                continue
            for run in self._runner.runs(self.task, name):
                self._runner.cancel(run)
            self._queue(self._known[name], self._loaded, why)
        self._settle()

    def cancel(self, run: str) -> None:
        """End one run, or all of this task's when `run` is empty."""
        for one in [run] if run else self._runner.runs(self.task):
            self._runner.cancel(one)

    def set_watching(self, watching: bool) -> None:
        """Pause or resume; what went stale meanwhile is replayed on resuming."""
        self._say_watching(watching)
        if watching and (stale := [name for name, known in self._known.items() if known.stale]):
            self.replay(stale, "changed while paused")

    async def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    # Reading

    async def _read(self) -> None:
        """Read the task as it is now. What was known stays where it cannot be read."""
        loaded, problems = await asyncio.to_thread(load, self.path)
        cases: tuple[Case, ...] = ()
        if loaded is not None:
            found, case_problems = await asyncio.to_thread(find_cases, self.path)
            cases = found
            problems = (*problems, *case_problems, *await asyncio.to_thread(diagnose, loaded))
        self._emit(ev.ProblemsFound(task=self.task, problems=tuple(dict.fromkeys(problems))))
        errors = [problem for problem in problems if problem.severity == "error"]
        if loaded is None or errors:
            self._loaded = None
            reason = str(errors[0]) if errors else "it cannot be read"
            self._emit(ev.TaskUnreadable(task=self.task, reason=reason))
            return
        self._loaded = loaded
        self._snapshot = await asyncio.to_thread(Snapshot.of, self.path)
        self._emit(
            ev.TaskOpened(
                task=self.task,
                name=loaded.name,
                image=loaded.image,
                verifier=loaded.verifier,
                steps=loaded.step_names,
                network=loaded.network,
                threshold=self._threshold,
                trials_dir=str(self._trials_dir),
            )
        )
        self._take_cases(cases)

    def _take_cases(self, cases: tuple[Case, ...]) -> None:
        wanted = [case for case in cases if not self._only or case.name in self._only]
        for name in self._known.keys() - {case.name for case in wanted}:
            for run in self._runner.runs(self.task, name):
                self._runner.cancel(run)
        self._known = {case.name: self._known.get(case.name) or _Known(case) for case in wanted}
        for case in wanted:
            self._known[case.name].case = case
        self._emit(ev.CasesFound(task=self.task, cases=tuple(wanted)))
        for name in self._only:
            if name not in self._known:
                message = f"there is no case {name!r}"
                self._emit(ev.Notice(level="error", task=self.task, message=message))

    # Watching

    def _say_watching(self, watching: bool) -> None:
        self._watching = watching
        self._emit(ev.WatchingChanged(task=self.task, watching=watching))

    async def _watch(self) -> None:
        async for batch in watch(self.path):
            for message in batch.notices:
                self._emit(ev.Notice(level="warning", task=self.task, message=message))
            if batch.paths:
                await self._changed(tuple(sorted(batch.paths)))

    async def _changed(self, paths: tuple[str, ...]) -> None:
        before, known_before = self._snapshot, set(self._known)
        await self._read()
        if self._loaded is None or self._snapshot is None:
            self._emit(ev.FilesChanged(task=self.task, paths=paths, why="the task cannot be read"))
            self._settle()
            return
        found = affected(before, self._snapshot) if before else {}
        why = {name: reason for name, (_, reason) in found.items() if name in self._known}
        why |= dict.fromkeys(self._known.keys() - known_before, "new")
        self._emit(
            ev.FilesChanged(
                task=self.task,
                paths=paths,
                stale=tuple(name for name in self._known if name in why),
                why="; ".join(dict.fromkeys(why.values())),
            )
        )
        for name in self._known:
            if name in why:
                self._mark_stale(self._known[name], why[name])
        if self._watching and why:
            for name in self._known:
                if name in why:
                    self.replay([name], why[name])
        self._settle()

    def _mark_stale(self, known: _Known, why: str) -> None:
        known.stale = why
        known.outcomes.clear()
        for run in self._runner.runs(self.task, known.case.name):
            self._runner.cancel(run)
        self._emit(ev.CaseStale(task=self.task, case=known.case.name, why=why))

    # Running

    def _queue(self, known: _Known, loaded: LoadedTask, why: str) -> None:
        case = known.case
        run = f"{_slug(case.name)}__{time.strftime('%H%M%S')}-{secrets.token_hex(3)}"
        self._emit(ev.RunQueued(task=self.task, case=case.name, run=run, why=why))

        async def work() -> None:
            await self._run(known, loaded, run)

        def dropped() -> None:
            self._end(known, run, Outcome(kind="cancelled", reason="cancelled before it began"))

        failed_last = bool(known.outcomes) and known.outcomes[-1].met is False
        self._runner.add(0 if failed_last else 1, self.task, case.name, run, work, dropped)

    async def _run(self, known: _Known, loaded: LoadedTask, run: str) -> None:
        case, was_stale = known.case, known.stale
        trial_dir = self._trials_dir / run
        self._emit(ev.RunStarted(task=self.task, case=case.name, run=run, trial_dir=str(trial_dir)))
        outcome = Outcome(kind="cancelled", reason="cancelled")
        try:
            outcome = await self._replay(case, loaded, run)
        except asyncio.CancelledError:
            pass
        finally:
            if known.stale == was_stale and outcome.kind != "cancelled":
                known.stale = ""
            self._end(known, run, outcome)

    async def _replay(self, case: Case, loaded: LoadedTask, run: str) -> Outcome:
        request = TrialRequest(
            task_dir=self.path,
            trials_dir=self._trials_dir,
            trial_name=run,
            agent=agent_of(case, loaded),
            environment=await self._provider.environment(loaded),
            threshold=self._threshold,
        )
        outcome = await run_trial(request, _Telling(self._emit, run))
        return await asyncio.to_thread(judge, case, outcome, request.trial_dir)

    def _end(self, known: _Known, run: str, outcome: Outcome) -> None:
        self._emit(ev.RunEnded(task=self.task, case=known.case.name, run=run, outcome=outcome))
        if outcome.kind != "cancelled" and not known.stale:
            known.outcomes.append(outcome)
        asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        """Say the verdict when nothing is left to run."""
        if self._runner.busy(self.task):
            return
        if self._loaded is not None:
            cases = [known.case for known in self._known.values()]
            verdict = decide(cases, {name: known.outcomes for name, known in self._known.items()})
            if verdict != self._verdict:
                self._verdict = verdict
                self._emit(ev.VerdictReached(task=self.task, verdict=verdict))
        self._emit(ev.Settled(task=self.task))


@dataclass
class _Telling:
    """Turns what a trial says into events."""

    emit: Emit
    run: str

    def phase(self, name: PhaseName, step: str) -> None:
        self.emit(ev.PhaseStarted(run=self.run, phase=name, step=step))

    def output(self, source: Source, text: str, step: str) -> None:
        self.emit(ev.Output(run=self.run, source=source, text=text, step=step))

    def note(self, text: str) -> None:
        self.emit(ev.Notice(level="info", message=text))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]


def _session_name() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
