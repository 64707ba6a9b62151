"""One opened task: what is known of it, what a save makes stale, and what to run for it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import replace as with_changes
from pathlib import Path

from workbench import events as ev
from workbench import places
from workbench.cases.case import Case
from workbench.engine.known import KnownCase
from workbench.engine.reading import Reading, read
from workbench.engine.replay import Replay, replay
from workbench.engine.services import Services
from workbench.proof.decide import decide
from workbench.proof.documents import Slower
from workbench.proof.verdict import Verdict
from workbench.task.roles import affected, feeds
from workbench.task.watch import watch
from workbench.trials.outcome import Outcome

FAILED_FIRST, LOOKED_AT, IN_TURN, CONFIRMING = range(4)
"""The order in which runs get their turn."""


class OpenedTask:
    """Watches a task, replays its cases, and says what they come to."""

    def __init__(self, path: Path, services: Services) -> None:
        self.path = path
        self.task = str(path)
        self._services = services
        self._emit = services.emit
        self._runner = services.runner
        self._trials_dir = places.trials_dir(services.state_dir, path) / _session_name()
        self._now: Reading | None = None
        """The task as last read; None while it cannot be read."""
        self._last: Reading | None = None
        """The task as it was when it could last be read."""
        self._known: dict[str, KnownCase] = {}
        self._only: tuple[str, ...] = ()
        self._looked_at = ""
        self._watching = False
        self._watcher: asyncio.Task[None] | None = None
        self._confirming: asyncio.TimerHandle | None = None
        self._verdict: Verdict | None = None
        self._lock = asyncio.Lock()

    async def open(
        self, *, watching: bool, replaying: bool, cached: bool = False, only: tuple[str, ...] = ()
    ) -> None:
        """Read the task, and start what was asked for."""
        self._only = only
        async with self._lock:
            await self._read()
            recalled = await self._recall(self._known) if watching or cached else set()
        if watching and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(), name=f"watch {self.task}")
        self._say_watching(watching)
        if replaying:
            for known in self._known.values():
                if known.case.name not in recalled:
                    self._queue(known, "opened")
                elif not cached:
                    # Its proof is shown already; the run keeps its state for what comes next.
                    self._queue(known, "opened", confirming=True)
        self._say_verdict()
        self._settle()

    def replay(self, names: Iterable[str], why: str) -> None:
        """Queue whole trials of the cases named, of all when none is."""
        if self._now is None:
            self._notice("the task cannot be run; see its problems")
            return
        for name in list(names) or list(self._known):
            if name not in self._known:
                self._notice(f"there is no case {name!r}; there are: {', '.join(self._known) or 'none'}")
                continue
            self._end_runs(name)
            self._queue(self._known[name], why)
        self._settle()

    def cancel(self, run: str) -> None:
        """End one run, or all of this task's when `run` is empty."""
        for one in [run] if run else self._runner.runs(self.task):
            self._runner.cancel(one)

    def look_at(self, case: str) -> None:
        """The runs of this case go before those of others."""
        self._looked_at = case
        for run in self._runner.runs(self.task, case):
            self._runner.advance(run, LOOKED_AT)

    async def set_watching(self, watching: bool) -> None:
        """Pause or resume; what went stale meanwhile is replayed on resuming."""
        async with self._lock:
            self._say_watching(watching)
            if watching:
                self._replay_stale()

    async def close(self) -> None:
        """Stop watching."""
        if self._confirming is not None:
            self._confirming.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    async def tell_receipt(self) -> None:
        """Tell the proof of the task as its receipts have it."""
        async with self._lock:
            await self._read()
        if self._now is None:
            return
        now = self._now
        keys = {known.case.name: now.keys_of(known.case) for known in self._known.values()}
        receipt = await self._services.records.describe(
            self.task,
            now.loaded.name,
            now.digest,
            [known.case for known in self._known.values()],
            {name: of_case for name, (of_case, _) in keys.items()},
            {name: ingredients for name, (_, ingredients) in keys.items()},
        )
        if receipt is not None:
            self._emit(ev.ReceiptTold(task=self.task, receipt=receipt))
        self._settle()

    # Reading

    async def _read(self) -> None:
        """Read the task as it is now. What was known stays where it cannot be read."""
        problems, now = await read(self.path, self._services.provider)
        self._emit(ev.ProblemsFound(task=self.task, problems=problems))
        self._now = now
        if now is None:
            reason = next((str(problem) for problem in problems if problem.severity == "error"), "")
            self._emit(ev.TaskUnreadable(task=self.task, reason=reason or "it cannot be read"))
            return
        self._last = now
        loaded = now.loaded
        self._emit(
            ev.TaskOpened(
                task=self.task,
                name=loaded.name,
                image=loaded.image,
                verifier=loaded.verifier,
                steps=loaded.step_names,
                network=loaded.network,
                threshold=self._services.settings.threshold,
                trials_dir=str(self._trials_dir),
            )
        )
        self._take_cases(now)

    def _take_cases(self, now: Reading) -> None:
        wanted = {case.name: case for case in now.cases if not self._only or case.name in self._only}
        for name in self._known.keys() - wanted.keys():
            self._end_runs(name)
        self._known = {
            name: self._known.get(name) or KnownCase(case, *now.keys_of(case), stale="it has not run")
            for name, case in wanted.items()
        }
        self._emit(ev.CasesFound(task=self.task, cases=tuple(wanted.values())))
        for name in self._only:
            if name not in wanted:
                self._notice(f"there is no case {name!r}")

    async def _recall(self, names: Iterable[str]) -> set[str]:
        """Take receipts for what they speak of; the cases that have one."""
        recalled = set()
        for name in list(names):
            known = self._known[name]
            receipts = await self._services.records.fresh(known.case, known.keys)
            if not receipts:
                continue
            recalled.add(name)
            known.outcomes[:] = [receipt.outcome for receipt in receipts]
            known.stale = ""
            newest = receipts[-1]
            self._emit(
                ev.RunRecalled(
                    task=self.task,
                    case=name,
                    run=_run_name(known.case),
                    outcome=newest.outcome,
                    ran_at=newest.at,
                    trial_dir=newest.trial_dir,
                )
            )
        return recalled

    # Watching

    def _say_watching(self, watching: bool) -> None:
        self._watching = watching
        self._emit(ev.WatchingChanged(task=self.task, watching=watching))

    async def _watch(self) -> None:
        async for batch in watch(self.path):
            for message in batch.notices:
                self._notice(message, "warning")
            async with self._lock:
                await self._changed(tuple(sorted(batch.paths)))

    async def _changed(self, paths: tuple[str, ...]) -> None:
        """Take a batch of saves in; the first one of a watcher, without paths, only looks again."""
        before = self._last
        await self._read()
        now = self._now
        if now is None or before is None:
            if paths:
                self._emit(ev.FilesChanged(task=self.task, paths=paths, why="the task cannot be read"))
            self._settle()
            return
        why = self._find_stale(before, now, paths)
        if not paths and not why:
            return
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
        await self._recall(why)
        self._say_verdict()
        if self._watching:
            self._replay_stale()
        self._settle()

    def _replay_stale(self) -> None:
        for known in self._known.values():
            if known.stale and not self._runner.runs(self.task, known.case.name):
                self._queue(known, known.stale, reusing=True)

    def _find_stale(self, before: Reading, now: Reading, paths: tuple[str, ...]) -> dict[str, str]:
        """The cases to run again, and why in words."""
        words = {name: reason for name, (_, reason) in affected(before.snapshot, now.snapshot).items()}
        touched = {name for path in paths for name in feeds(now.snapshot, path)}
        why = {}
        for name, known in self._known.items():
            keys, ingredients = now.keys_of(known.case)
            known.case = next(case for case in now.cases if case.name == name)
            running = bool(self._runner.runs(self.task, name))
            if keys.verdict != known.keys.verdict or (name not in before.names and not running):
                why[name] = words.get(name, "it is new")
            elif running and name in touched:
                # It may have read the file before, between or after the saves.
                why[name] = f"{paths[0]} changed"
            known.keys, known.ingredients = keys, ingredients
        return why

    def _mark_stale(self, known: KnownCase, why: str) -> None:
        known.stale = why
        known.outcomes.clear()
        self._end_runs(known.case.name, grace=True)
        self._emit(ev.CaseStale(task=self.task, case=known.case.name, why=why))

    def _end_runs(self, name: str, *, grace: bool = False) -> None:
        settings = self._services.settings
        for run in self._runner.runs(self.task, name):
            if grace and settings.on_change == "wait":
                self._runner.drop(run)
            elif grace and settings.grace_seconds:
                asyncio.get_running_loop().call_later(settings.grace_seconds, self._runner.cancel, run)
            else:
                self._runner.cancel(run)

    # Running

    def _queue(self, known: KnownCase, why: str, *, reusing: bool = False, confirming: bool = False) -> None:
        now = self._now
        if now is None:
            return
        what = Replay(
            run=_run_name(known.case),
            known=known,
            keys=known.keys,
            loaded=now.loaded,
            trials_dir=self._trials_dir,
            why=why,
            confirming=confirming,
            reuse=known.reusable() if reusing else None,
        )
        name = known.case.name
        self._emit(ev.RunQueued(task=self.task, case=name, run=what.run, why=why))
        self._runner.add(
            CONFIRMING if confirming else self._order(known),
            self.task,
            name,
            what.run,
            lambda: self._run(what),
            lambda: self._ended(what, Outcome(kind="cancelled", reason="cancelled before it began")),
        )

    def _order(self, known: KnownCase) -> int:
        if known.failed:
            return FAILED_FIRST
        return LOOKED_AT if known.case.name == self._looked_at else IN_TURN

    async def _run(self, what: Replay) -> None:
        case = what.known.case
        self._emit(
            ev.RunStarted(
                task=self.task,
                case=case.name,
                run=what.run,
                trial_dir=str(what.trial_dir),
                whole=what.reuse is None,
                expected=await self._services.records.expected(self.task, case.name, what.reuse is None),
            )
        )
        outcome = Outcome(kind="cancelled", reason="cancelled")
        slower: tuple[Slower, ...] = ()
        try:
            outcome = await replay(what, self._services)
            if outcome.exception == "RegradeError":
                self._notice(f"{case.name} needs a whole trial: {outcome.reason}", "info")
                outcome = await replay(with_changes(what, reuse=None), self._services)
            slower = await self._record(what, outcome)
        except asyncio.CancelledError:
            pass
        finally:
            self._ended(what, outcome, slower)

    async def _record(self, what: Replay, outcome: Outcome) -> tuple[Slower, ...]:
        """Keep a receipt, if the files are still those that the run was queued for."""
        if outcome.kind == "cancelled":
            return ()
        _, after = await read(self.path, self._services.provider)
        if after is None or after.keys_of(what.known.case)[0] != what.keys:
            return ()
        records = self._services.records
        receipt = records.receipt(
            self.task,
            after.digest,
            what.known.case,
            what.keys,
            what.loaded.image,
            outcome=outcome,
            trial_dir=str(what.trial_dir),
        )
        slower = await records.slower(self.task, receipt)
        await records.record(receipt, what.known.ingredients)
        return slower

    def _ended(self, what: Replay, outcome: Outcome, slower: tuple[Slower, ...] = ()) -> None:
        known, name = what.known, what.known.case.name
        self._emit(ev.RunEnded(task=self.task, case=name, run=what.run, outcome=outcome, slower=slower))
        if outcome.kind != "cancelled":
            known.failed = outcome.met is False
            if known.keys.verdict == what.keys.verdict:
                known.stale = ""
                self._take_outcome(what, outcome)
            elif self._watching and not self._runner.waiting(self.task, name):
                # It was let end although a save had made it stale.
                self._queue(known, known.stale, reusing=True)
        asyncio.get_running_loop().call_soon(self._after_run)

    def _take_outcome(self, what: Replay, outcome: Outcome) -> None:
        known = what.known
        before = known.reverified
        if before is not None and outcome.whole:
            # The whole trial is the real thing: what was re-verified counts no more.
            known.outcomes = [one for one in known.outcomes if one.whole]
            if (before.kind, before.rewards, before.met) != (outcome.kind, outcome.rewards, outcome.met):
                self._emit(
                    ev.ConfirmationDiffered(
                        task=self.task,
                        case=known.case.name,
                        run=what.run,
                        reverified=f"{before.kind}: {before.reason}",
                        whole=f"{outcome.kind}: {outcome.reason}",
                    )
                )
        known.outcomes.append(outcome)

    def _after_run(self) -> None:
        if self._services.settings.confirm == "always":
            self._confirm()
        self._settle()

    def _settle(self) -> None:
        """Say the verdict when nothing is left to run, and that it is so."""
        if self._runner.busy(self.task, CONFIRMING):
            return
        self._say_verdict()
        if self._runner.busy(self.task):
            return
        self._emit(ev.Settled(task=self.task))
        if self._services.settings.confirm == "idle" and self._watching:
            if self._confirming is not None:
                self._confirming.cancel()
            delay = self._services.settings.idle_seconds
            self._confirming = asyncio.get_running_loop().call_later(delay, self._confirm)

    def _confirm(self) -> None:
        """Replay as whole trials what was only re-verified."""
        for known in self._known.values():
            if known.reverified and not self._runner.runs(self.task, known.case.name):
                self._queue(known, "confirming", confirming=True)

    def _say_verdict(self) -> None:
        if self._now is None:
            return
        cases: list[Case] = [known.case for known in self._known.values()]
        verdict = decide(cases, {name: known.outcomes for name, known in self._known.items()})
        if verdict != self._verdict:
            self._verdict = verdict
            self._emit(ev.VerdictReached(task=self.task, verdict=verdict))

    def _notice(self, message: str, level: ev.NoticeLevel = "error") -> None:
        self._emit(ev.Notice(level=level, task=self.task, message=message))


def _run_name(case: Case) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", case.name)[:60]
    return f"{name}__{time.strftime('%H%M%S')}-{secrets.token_hex(3)}"


def _session_name() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
