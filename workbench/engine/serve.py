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
from workbench import places
from workbench import wishes as ws
from workbench.engine.case_runs import CONFIRMING
from workbench.engine.choose import choose
from workbench.engine.costs import Guests, measure
from workbench.engine.images import Images
from workbench.engine.opened import OpenedTask
from workbench.engine.provider import NoProviderError, Provider
from workbench.engine.records import Records
from workbench.engine.runner import Runner, slots_here
from workbench.engine.services import Services, Settings
from workbench.engine.stream import Emitter, read_wishes
from workbench.machines.states import StateTree

STOP_DEADLINE = 1.5
"""Seconds for runs to tidy up before their machines are deleted under them."""

MEASURE_SECONDS = 1.0
"""Between two looks at what machines cost."""

_log = logging.getLogger(__name__)


async def serve(
    emit: Emitter, *, provider: str, concurrency: int | None, settings: Settings, state: Path
) -> None:
    """Serve one face.

    Args:
        emit: Takes the events.
        provider: By name; empty for the best that works here.
        concurrency: Runs side by side; as many as the host takes when None.
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
    measuring = asyncio.create_task(engine.measure(), name="costs")
    await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (reading, waiting, measuring):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    await engine.close()
    emit(ev.EngineStopped())
    emit.close(1)
    # Threads that still wait for a file or a program must not keep the process.
    os._exit(0)


def _services(
    emit: Emitter, provider: Provider, concurrency: int | None, settings: Settings, state: Path
) -> Services:
    def tell(message: str) -> None:
        emit(ev.Notice(level="warning", message=message))

    records = Records(
        places.records_file(state), tell, provider.chosen.name, provider.version, settings.threshold
    )
    images = Images(
        places.images_dir(),
        emit,
        settings.builder,
        provider.image_prefix,
        trees=provider.unpacks,
        guest=provider.builder(settings.builder_image) if settings.builder_image else None,
    )
    runner = Runner(concurrency or slots_here(), CONFIRMING)
    states = StateTree(settings.states)
    return Services(emit, runner, provider, records, states, images, settings, state)


@dataclass
class _Engine:
    """What was opened, and who hears of each wish."""

    emit: Emitter
    services: Services
    tasks: dict[str, OpenedTask] = field(default_factory=dict)
    _taking: set[asyncio.Task[None]] = field(default_factory=set)

    async def read(self) -> None:
        """Take wishes until a `stop`, or until there are no more. None waits for another to be fulfilled."""
        async for wish in read_wishes(self.emit):
            if isinstance(wish, ws.Stop):
                return
            taking = asyncio.create_task(self._try(wish), name=type(wish).__name__)
            self._taking.add(taking)
            taking.add_done_callback(self._taking.discard)

    async def close(self) -> None:
        """Cancel every run and delete every machine."""
        for taking in self._taking:
            taking.cancel()
        for task in self.tasks.values():
            await task.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE):
                await self.services.runner.close()
                await asyncio.gather(*(task.shells.close_all() for task in self.tasks.values()))
        await self.services.provider.close()
        self.services.records.close()

    async def measure(self) -> None:
        """Tell what machines and states cost, while there are any."""
        told, guests = False, Guests()
        while True:
            await asyncio.sleep(MEASURE_SECONDS)
            shells = [task.shells for task in self.tasks.values()]
            costs = await measure(shells, self.services.states, guests)
            alive = bool(costs.machines or costs.states)
            if alive or told:
                self.emit(costs)
            told = alive

    async def _try(self, wish: ws.Wish) -> None:
        try:
            await self._take(wish)
        except Exception as error:
            _log.exception("a wish could not be carried out")
            message = f"{type(error).__name__}: {error}"
            task: str = getattr(wish, "task", "")
            self.emit(ev.Notice(level="error", task=task, message=message))
            if isinstance(wish, ws.OpenTask):
                # Whoever waits for this task must not wait for ever.
                self.emit(ev.TaskUnreadable(task=task, reason=message))
                self.emit(ev.Settled(task=task))

    async def _take(self, wish: ws.Wish) -> None:
        if isinstance(wish, ws.Stop):
            return
        if isinstance(wish, ws.OpenTask | ws.TellReceipt):
            task = self.tasks.setdefault(wish.task, OpenedTask(Path(wish.task), self.services))
        elif wish.task in self.tasks:
            task = self.tasks[wish.task]
        else:
            self.emit(ev.Notice(level="error", task=wish.task, message="this task is not open"))
            return
        match wish:
            case ws.OpenTask():
                await task.open(
                    watching=wish.watch,
                    replaying=wish.replay,
                    cached=wish.cached,
                    only=wish.only,
                    agents=wish.agents,
                )
            case ws.TellReceipt():
                await task.tell_receipt()
            case ws.TellEarlierRuns():
                await task.tell_earlier_runs()
            case ws.Replay():
                await task.replay(wish.cases, "asked for")
            case ws.Repeat():
                await task.repeat(wish.case, wish.times)
            case ws.LookAt():
                task.runs.look_at(wish.case)
            case ws.Cancel():
                task.cancel(wish.run)
            case ws.CancelBuild():
                task.cancel_build()
            case ws.SetWatching():
                await task.set_watching(wish.watching)
            case ws.AskRegistries():
                await task.ask_registries(fetch=wish.fetch)
            case ws.SetTracing():
                task.set_tracing(wish.trace)
            case ws.OpenShell():
                await task.open_shell(wish.shell, wish.on)
            case ws.CloseShell():
                await task.shells.close(wish.shell)
            case ws.TryHere():
                await task.shells.try_here(wish.shell)
            case ws.BringIn():
                await task.shells.bring_in(wish.shell)
            case ws.Draft():
                await task.shells.draft(wish.shell, wish.name)
