"""Serves wishes until there are no more, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import warnings
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from workbench import events as ev
from workbench import wishes as ws
from workbench.engine.choose import choose
from workbench.engine.opened import OpenedTask
from workbench.engine.provider import NoProviderError, Provider
from workbench.engine.records import Records
from workbench.engine.runner import Runner
from workbench.engine.services import Services, Settings
from workbench.engine.stream import Emitter, read_wishes
from workbench.machines.states import StateTree

STOP_DEADLINE = 1.5
"""Seconds for runs to tidy up before their machines are deleted under them."""

_log = logging.getLogger(__name__)


async def serve(emit: Emitter, *, provider: str, concurrency: int, settings: Settings, state: Path) -> None:
    """Serve one face.

    Args:
        emit: Takes the events.
        provider: By name; empty for the best that works here.
        concurrency: Runs side by side.
        settings: How to work.
        state: Where trial directories, receipts and machines are kept.
    """
    emit(ev.EngineStarted(pid=os.getpid(), version=version("harbor-workbench")))
    # Harbor warns of its own deprecations, which no author can do anything about.
    warnings.simplefilter("ignore", DeprecationWarning)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    try:
        chosen = await choose(provider, state)
    except NoProviderError as error:
        emit(ev.EngineFailed(message=str(error), hint=error.hint))
        emit(ev.EngineStopped())
        emit.close(1)
        return
    emit(chosen.chosen)
    services = _services(emit, chosen, concurrency, settings, state)
    engine = _Engine(emit, services)
    reading = asyncio.create_task(engine.read(), name="wishes")
    waiting = asyncio.create_task(stopping.wait(), name="signals")
    await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (reading, waiting):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    await engine.close()
    emit(ev.EngineStopped())
    emit.close(1)
    # Threads that still wait for a file or a program must not keep the process.
    os._exit(0)


def _services(
    emit: Emitter, provider: Provider, concurrency: int, settings: Settings, state: Path
) -> Services:
    def tell(message: str) -> None:
        emit(ev.Notice(level="warning", message=message))

    records = Records(state / "receipts.db", tell, provider.chosen.name, provider.version, settings.threshold)
    return Services(emit, Runner(concurrency), provider, records, StateTree(), settings, state)


@dataclass
class _Engine:
    """What was opened, and who hears of each wish."""

    emit: Emitter
    services: Services
    tasks: dict[str, OpenedTask] = field(default_factory=dict)

    async def read(self) -> None:
        """Take wishes until a `stop`, or until there are no more."""
        async for wish in read_wishes(self.emit):
            if isinstance(wish, ws.Stop):
                return
            try:
                await self._take(wish)
            except Exception as error:
                _log.exception("a wish could not be carried out")
                message = f"{type(error).__name__}: {error}"
                self.emit(ev.Notice(level="error", task=getattr(wish, "task", ""), message=message))

    async def close(self) -> None:
        """Cancel every run and delete every machine."""
        for task in self.tasks.values():
            await task.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.services.runner.close(), STOP_DEADLINE)
        await self.services.provider.close()
        self.services.records.close()

    async def _take(self, wish: ws.Wish) -> None:
        match wish:
            case ws.OpenTask():
                await self._open(wish)
            case ws.Replay():
                if task := self._task(wish.task):
                    task.replay(wish.cases, "asked for")
            case ws.LookAt():
                if task := self._task(wish.task):
                    task.look_at(wish.case)
            case ws.TellReceipt():
                task = self.tasks.get(wish.task) or OpenedTask(Path(wish.task), self.services)
                await task.tell_receipt()
            case ws.Cancel():
                if task := self._task(wish.task):
                    task.cancel(wish.run)
            case ws.SetWatching():
                if task := self._task(wish.task):
                    await task.set_watching(wish.watching)

    async def _open(self, wish: ws.OpenTask) -> None:
        task = self.tasks.get(wish.task)
        if task is None:
            task = self.tasks[wish.task] = OpenedTask(Path(wish.task), self.services)
        await task.open(watching=wish.watch, replaying=wish.replay, cached=wish.cached, only=wish.only)

    def _task(self, path: str) -> OpenedTask | None:
        if path not in self.tasks:
            self.emit(ev.Notice(level="error", task=path, message="this task is not open"))
        return self.tasks.get(path)
