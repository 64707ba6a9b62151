"""The runs of one task's cases: queued, recorded, confirmed, and what they come to together."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import replace as with_changes
from pathlib import Path

from workbench import events as ev
from workbench.cases.case import Case
from workbench.engine.known import KnownCase
from workbench.engine.reading import Reading, read_after
from workbench.engine.replay import NotReusableError, Replay, replay
from workbench.engine.services import Services
from workbench.proof.decide import decide
from workbench.proof.documents import Slower
from workbench.proof.keys import StageKeys, made_as
from workbench.proof.verdict import Verdict
from workbench.task.roles import affected, feeds
from workbench.trials.outcome import Outcome

_log = logging.getLogger(__name__)

FAILED_FIRST, LOOKED_AT, IN_TURN, CONFIRMING = range(4)
"""The order in which runs get their turn."""


class CaseRuns:
    """Runs a task's cases.

    Attributes:
        known: What is known of each case, by name, in the order to show them.
        watching: Whether a save starts runs.
        looked_at: The case whose runs go before those of others.
        trace: Whose scripts' commands are told apart.
        nothing_because: Why no case can run, where that is not for a case's own reason.
        image_stale: Why the images that serve are not those that the files ask for; empty when they are.
    """

    def __init__(self, task: str, services: Services, trials_dir: Path) -> None:
        self.known: dict[str, KnownCase] = {}
        self.watching = False
        self.looked_at = ""
        self.trace = services.settings.trace
        self.nothing_because = ""
        self.image_stale = ""
        self._task = task
        self._services = services
        self._emit = services.emit
        self._runner = services.runner
        self._trials_dir = trials_dir
        self._now: Reading | None = None
        self._tried: KnownCase | None = None
        self._confirming: asyncio.TimerHandle | None = None
        self._verdict: Verdict | None = None

    def take(self, now: Reading | None, only: tuple[str, ...] = ()) -> None:
        """Take the task's cases as they are now; None keeps those known while the task cannot be read."""
        self._now = now
        if now is None:
            return
        wanted = {case.name: case for case in now.cases if not only or case.name in only or case.spec}
        for name in self.known.keys() - wanted.keys():
            self.end(name)
        self.known = {
            name: self.known.get(name) or KnownCase(case, *now.keys_of(case), stale="it has not run")
            for name, case in wanted.items()
        }
        for name, case in wanted.items():
            self.known[name].case = case
        self._say_cases()

    def tried(self, case: Case, keys: StageKeys) -> KnownCase:
        """A case that shows what is tried in shells, beside the task's own."""
        if self._tried is None:
            self._tried = KnownCase(case, keys, {})
            self._say_cases()
        return self._tried

    async def recall(self, names: Iterable[str], *, whole: bool = False) -> set[str]:
        """Take receipts for what they speak of; the cases that have one.

        Args:
            whole: Of whole trials only.
        """
        keys = {name: self.known[name].keys for name in names}
        recalled = set()
        for name, found in (await self._services.records.fresh(keys)).items():
            receipts = tuple(receipt for receipt in found if receipt.whole or not whole)
            if not receipts:
                continue
            recalled.add(name)
            known = self.known[name]
            known.outcomes[:] = [receipt.outcome for receipt in receipts]
            known.stale = ""
            newest = receipts[-1]
            self._emit(
                ev.RunRecalled(
                    task=self._task,
                    case=name,
                    run=run_name(name),
                    outcome=newest.outcome,
                    ran_at=newest.at,
                    trial_dir=newest.trial_dir,
                )
            )
            self._say_stale(name)
        return recalled

    def take_images(self, stale: str) -> None:
        """Take in whether the images that serve are those that the files ask for.

        What ran on others proves nothing of the files, whether or not a save starts runs; it counts again
        when an edit is undone.
        """
        if stale == self.image_stale:
            return
        self.image_stale = stale
        for name, known in self.known.items():
            if not known.stale:
                self._emit(ev.CaseStale(task=self._task, case=name, why=stale))
        self.settle()

    async def expect(self) -> None:
        """Learn from the history how long runs are likely to take."""
        for name, known in list(self.known.items()):
            for whole in (True, False):
                known.expected[whole] = await self._services.records.expected(self._task, name, whole)

    def mark_stale(self, name: str, why: str) -> None:
        """What is known of a case no longer speaks of the files; its runs end."""
        known = self.known[name]
        known.stale = why
        known.outcomes.clear()
        settings = self._services.settings
        for run in self._runner.runs(self._task, name):
            if settings.on_change == "wait":
                self._runner.drop(run)
            elif settings.grace_seconds:
                asyncio.get_running_loop().call_later(settings.grace_seconds, self._runner.cancel, run)
            else:
                self._runner.cancel(run)
        self._emit(ev.CaseStale(task=self._task, case=name, why=why))

    def find_stale(
        self, before: Reading, now: Reading, paths: tuple[str, ...], *, building: bool = False
    ) -> dict[str, str]:
        """The cases to run again, and why in words.

        Args:
            paths: That were saved between the two readings.
            building: Runs wait for an image that is built of the saves.
        """
        words = {name: reason for name, (_, reason) in affected(before.snapshot, now.snapshot).items()}
        touched = {name for path in paths for name in feeds(now.snapshot, path)}
        why = {}
        for name, known in self.known.items():
            own = made_as(known.case)
            keys, ingredients = now.keys_of(known.case)
            running = self.running(name)
            if keys.verdict != known.keys.verdict or (name not in before.names and not running):
                why[name] = words.get(own, "its image changed")
            elif running and own in touched and not building:
                # It may have read the file before, between or after the saves.
                why[name] = f"{paths[0]} changed"
            known.keys, known.ingredients = keys, ingredients
        return why

    async def go_stale(self, why: dict[str, str]) -> None:
        """Replay these cases, if saves start runs, but for what receipts know of them."""
        for name in [name for name in self.known if name in why]:
            self.mark_stale(name, why[name])
        await self.recall(why)
        if self.watching:
            self.replay_stale()
        self.settle()

    def replay_stale(self) -> None:
        """Queue what is stale, unless it runs already."""
        for known in self.known.values():
            running = self._runner.runs(self._task, known.case.name)
            if known.stale and known.runs_unasked and not running:
                self.queue(known, known.stale, reusing=True)

    def running(self, name: str) -> bool:
        """Whether the case runs or waits."""
        return bool(self._runner.runs(self._task, name))

    def end(self, name: str = "") -> None:
        """End the runs of a case, or all of this task's."""
        for run in self._runner.runs(self._task, name or None):
            self._runner.cancel(run)

    def look_at(self, case: str) -> None:
        """The runs of this case go before those of others."""
        self.looked_at = case
        for run in self._runner.runs(self._task, case):
            self._runner.advance(run, LOOKED_AT)

    def queue(
        self,
        known: KnownCase,
        why: str,
        *,
        times: int = 1,
        reusing: bool = False,
        confirming: bool = False,
    ) -> None:
        """Queue a run of a case.

        Args:
            times: Of how many that are asked for together it is one.
            reusing: Verify what an agent left, where that is all that is stale.
            confirming: Its outcome is known already; it goes after all others.
        """
        if self._now is None:
            return
        name = known.case.name
        what = Replay(
            run=run_name(name),
            known=known,
            keys=known.keys,
            loaded=self._now.loaded,
            trials_dir=self._trials_dir,
            why=why,
            times=times,
            digest=self._now.digest,
            reuse=known.reusable() if reusing else None,
            trace=self.trace == "all" or (self.trace == "negatives" and known.case.kind == "negative"),
        )
        self.add(what, CONFIRMING if confirming else self._order(known))

    def add(self, what: Replay, order: int = LOOKED_AT) -> None:
        """Queue a run as it is described."""
        name = what.known.case.name
        self._emit(ev.RunQueued(task=self._task, case=name, run=what.run, why=what.why, times=what.times))
        self._runner.add(
            order,
            self._task,
            name,
            what.run,
            lambda: self._run(what),
            lambda: self._ended(what, Outcome(kind="cancelled", reason="cancelled before it began")),
        )

    def settle(self) -> None:
        """Say the verdict when nothing is left to run, and that it is so."""
        more_to_come = self._runner.busy(self._task, CONFIRMING)
        self._say_verdict(more_to_come=more_to_come)
        if more_to_come or self._runner.busy(self._task):
            return
        self._emit(ev.Settled(task=self._task))
        if self._services.settings.confirm == "idle" and self.watching:
            self.close()
            delay = self._services.settings.idle_seconds
            self._confirming = asyncio.get_running_loop().call_later(delay, self._confirm)

    def _say_verdict(self, *, more_to_come: bool) -> None:
        """Say what the cases come to, when that has changed and what is to come cannot change it."""
        if self._now is None:
            return
        cases: list[Case] = [known.case for known in self.known.values()]
        counted = {} if self.image_stale else {name: known.outcomes for name, known in self.known.items()}
        verdict = decide(cases, counted)
        stale = f"the image is stale: {self.image_stale}" if self.image_stale else ""
        because = "; ".join(filter(None, (stale, self.nothing_because)))
        if because and not any(counted.values()):
            verdict = Verdict("unproven", because, verdict.cases, 0, verdict.total)
        decided = verdict.kind in ("broken", "cannot fail", "flaky")
        if verdict != self._verdict and (decided or not more_to_come):
            self._verdict = verdict
            self._emit(ev.VerdictReached(task=self._task, verdict=verdict))

    def _say_stale(self, name: str) -> None:
        if self.image_stale:
            self._emit(ev.CaseStale(task=self._task, case=name, why=self.image_stale))

    def close(self) -> None:
        """Confirm nothing more."""
        if self._confirming is not None:
            self._confirming.cancel()

    def _say_cases(self) -> None:
        shown = [known.case for known in self.known.values()]
        tried = [self._tried.case] if self._tried else []
        self._emit(ev.CasesFound(task=self._task, cases=(*shown, *tried)))

    def _order(self, known: KnownCase) -> int:
        if known.failed:
            return FAILED_FIRST
        return LOOKED_AT if known.case.name == self.looked_at else IN_TURN

    async def _run(self, what: Replay) -> None:
        outcome = Outcome(kind="cancelled", reason="cancelled")
        slower: tuple[Slower, ...] = ()
        try:
            self._say_started(what)
            try:
                outcome = await replay(what, self._services)
            except NotReusableError as error:
                message = f"{what.known.case.name} needs a whole trial: {error}"
                self._emit(ev.Notice(level="info", task=self._task, message=message))
                what = with_changes(what, reuse=None, again=True)
                self._say_started(what)
                outcome = await replay(what, self._services)
            slower = await self._record(what, outcome)
        except asyncio.CancelledError:
            pass
        except Exception as error:
            _log.exception("a run could not be held")
            outcome = Outcome(kind="error", reason=f"{type(error).__name__}: {error}")
        finally:
            self._ended(what, outcome, slower)

    def _say_started(self, what: Replay) -> None:
        whole = what.reuse is None
        self._emit(
            ev.RunStarted(
                task=self._task,
                case=what.known.case.name,
                run=what.run,
                trial_dir=str(what.trial_dir),
                whole=whole,
                expected=what.known.expected.get(whole, ()),
            )
        )

    async def _record(self, what: Replay, outcome: Outcome) -> tuple[Slower, ...]:
        """Keep a receipt, if the files are still those that the run was queued for."""
        if outcome.kind == "cancelled" or not what.counts:
            return ()
        before = self._now
        after = await read_after(before, what.known.case, self._services) if before else None
        if after is None or after.keys_of(what.known.case)[0] != what.keys:
            return ()
        records = self._services.records
        receipt = records.receipt(
            self._task,
            after.digest,
            what.known.case,
            what.keys,
            what.loaded.image,
            outcome=outcome,
            trial_dir=str(what.trial_dir),
        )
        return await records.record(receipt, what.known.ingredients)

    def _ended(self, what: Replay, outcome: Outcome, slower: tuple[Slower, ...] = ()) -> None:
        known, name = what.known, what.known.case.name
        self._emit(ev.RunEnded(task=self._task, case=name, run=what.run, outcome=outcome, slower=slower))
        if outcome.kind != "cancelled":
            self._say_stale(name)
        if outcome.kind != "cancelled" and what.counts:
            known.failed = outcome.met is False
            if known.keys.verdict == what.keys.verdict:
                known.stale = ""
                self._take_outcome(what, outcome)
            elif self.watching and known.runs_unasked and not self._runner.waiting(self._task, name):
                # It was let end although a save had made it stale.
                self.queue(known, known.stale, reusing=True)
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
                        task=self._task,
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
        self.settle()

    def _confirm(self) -> None:
        """Replay as whole trials what was only re-verified."""
        for known in self.known.values():
            if (
                known.reverified
                and not self.image_stale
                and known.case.kind != "agent"
                and not self.running(known.case.name)
            ):
                self.queue(known, "confirming", confirming=True)


def run_name(case: str) -> str:
    """A fresh identifier for a run, which is its trial directory's name too."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", case)[:60]
    return f"{name}__{time.strftime('%H%M%S')}-{secrets.token_hex(3)}"
