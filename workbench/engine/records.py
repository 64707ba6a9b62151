"""What the engine keeps of its runs: receipts and durations, written off its loop."""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from workbench.cases.case import Case
from workbench.events import EarlierRun, Expected
from workbench.proof.database import Database, DatabaseError
from workbench.proof.describe import describe
from workbench.proof.documents import Inputs, ProofReceipt, Slower
from workbench.proof.history import Durations, History, RunKind
from workbench.proof.keys import StageKeys
from workbench.proof.receipts import Receipt, Receipts
from workbench.task.roles import words_for

_EARLIER_RUNS = 500
"""Told at most."""


class Records:
    """Receipts and history of one engine. What cannot be read or kept is told once, and does no harm."""

    def __init__(
        self, path: Path, tell: Callable[[str], None], provider: str, provider_version: str, threshold: float
    ) -> None:
        self._tell = tell
        self._told: set[str] = set()
        self._database = Database.open(path, tell)
        self._receipts = Receipts(self._database)
        self._history = History(self._database)
        self._machine = platform.node()
        self._now = Inputs(
            agent_key="",
            verdict_key="",
            harbor=version("harbor"),
            provider=provider,
            provider_version=provider_version,
            workbench=version("harbor-workbench"),
            platform=f"{sys.platform}/{platform.machine()}",
            threshold=threshold,
        )

    async def fresh(self, cases: Mapping[str, StageKeys]) -> dict[str, tuple[Receipt, ...]]:
        """The receipts that speak of cases as they are, oldest first; none of a case whose newest receipt
        was not graded."""

        def work() -> dict[str, tuple[Receipt, ...]]:
            found = {name: self._receipts.repeats(name, self._inputs(keys)) for name, keys in cases.items()}
            return {name: receipts for name, receipts in found.items() if receipts and receipts[-1].graded}

        nothing: dict[str, tuple[Receipt, ...]] = {}
        return await self._do(work, nothing)

    async def expected(self, task: str, case: str, whole: bool) -> tuple[Expected, ...]:
        """How long each phase of a run is likely to take."""
        nothing: Durations = {}
        found = await self._do(lambda: self._history.expected(self._kind(task, case, whole)), nothing)
        return tuple(Expected(phase, seconds, step) for (phase, step), seconds in found.items())

    async def record(self, receipt: Receipt, ingredients: Mapping[str, str]) -> tuple[Slower, ...]:
        """Keep what a run came to and how long it took.

        Returns:
            Its phases that took longer than those of the runs before it.
        """
        kind = self._kind(receipt.task, receipt.case, receipt.whole)

        def work() -> tuple[Slower, ...]:
            slower = self._history.slower(kind, receipt.outcome)
            self._receipts.record(receipt, ingredients)
            self._history.record(kind, receipt.outcome, receipt.at)
            return slower

        nothing: tuple[Slower, ...] = ()
        return await self._do(work, nothing)

    async def describe(
        self,
        task: str,
        name: str,
        digest: str,
        cases: Sequence[Case],
        keys: Mapping[str, StageKeys],
        ingredients: Mapping[str, Mapping[str, str]],
    ) -> ProofReceipt | None:
        """The proof of a task as its receipts tell it; None where they cannot be read."""
        now = {case: self._inputs(of_case) for case, of_case in keys.items()}

        def work() -> ProofReceipt:
            was = self._receipts.ingredients(task)
            changed = {
                case: words_for(was[case], of_case) or "its image changed"
                for case, of_case in ingredients.items()
                if case in was
            }
            return describe(task, name, digest, cases, now, self._receipts, changed)

        return await self._do(work, None)

    async def newest(self) -> tuple[EarlierRun, ...]:
        """The newest runs of all tasks whose trial directories are still there, newest first."""

        def work() -> tuple[EarlierRun, ...]:
            return tuple(
                EarlierRun(
                    task=one.task,
                    case=one.case,
                    expect=one.expect,
                    at=one.at,
                    trial_dir=one.trial_dir,
                    outcome=one.outcome,
                )
                for one in self._receipts.newest(_EARLIER_RUNS)
                if not one.trial_gone
            )

        nothing: tuple[EarlierRun, ...] = ()
        return await self._do(work, nothing)

    def receipt(
        self, task: str, digest: str, case: Case, keys: StageKeys, image: str, **more: object
    ) -> Receipt:
        """A receipt of a run that ends now; `more` is its outcome and trial directory."""
        return Receipt(
            task=task,
            task_digest=digest,
            case=case.name,
            expect=case.expect,
            inputs=self._inputs(keys),
            image=image,
            machine=self._machine,
            at=time.time(),
            **more,  # type: ignore[arg-type]
        )

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _inputs(self, keys: StageKeys) -> Inputs:
        return msgspec.structs.replace(self._now, agent_key=keys.agent, verdict_key=keys.verdict)

    def _kind(self, task: str, case: str, whole: bool) -> RunKind:
        return RunKind(task=task, case=case, provider=self._now.provider, machine=self._machine, whole=whole)

    async def _do[T](self, work: Callable[[], T], otherwise: T) -> T:
        try:
            return await asyncio.to_thread(work)
        except DatabaseError as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                self._tell(str(error))
            return otherwise
