"""Runs waiting for their turn, a few at a time, and no more than the host's memory takes."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import psutil

RESERVE = 512 << 20
"""Bytes of memory that stay free for the host; runs side by side wait for it."""
LOOK_SECONDS = 1.0
"""Between two looks whether there is memory again."""

type Work = Callable[[], Awaitable[None]]


@dataclass(order=True)
class Ticket:
    """One run's place in the queue; lower `order` first, then first come first served."""

    order: int
    number: int
    task: str = field(compare=False)
    case: str = field(compare=False)
    run: str = field(compare=False)
    work: Work = field(compare=False)
    dropped: Callable[[], None] = field(compare=False)
    """Called instead of `work` when it is cancelled before its turn."""
    begun: bool = field(default=False, compare=False)
    cancelled: bool = field(default=False, compare=False)


class Runner:
    """Runs at most `slots` at a time, in order; each can be cancelled, waiting or running."""

    def __init__(self, slots: int, patient: int = 1 << 30, memory: Callable[[], int] | None = None) -> None:
        """
        Args:
            slots: Runs side by side.
            patient: Runs of this order and later ones give their place to earlier ones.
            memory: Tells the bytes that are free now; the host's when None.
        """
        self._slots = slots
        self._patient = patient
        self._memory = memory or (lambda: int(psutil.virtual_memory().available))
        self._numbers = itertools.count()
        self._waiting: list[Ticket] = []
        self._running: dict[str, tuple[Ticket, asyncio.Task[None]]] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._closed = False

    def add(
        self, order: int, task: str, case: str, run: str, work: Work, dropped: Callable[[], None]
    ) -> None:
        """Queue a run."""
        self._waiting.append(Ticket(order, next(self._numbers), task, case, run, work, dropped))
        # What is queued together takes its places together: the first must not begin, only to make way.
        asyncio.get_running_loop().call_soon(self._pump)

    def busy(self, task: str, before: int | None = None) -> bool:
        """Whether anything of this task runs or waits; with `before`, only what comes before that order."""
        return any(
            ticket.task == task and (before is None or ticket.order < before) for ticket in self._tickets()
        )

    def runs(self, task: str, case: str | None = None) -> list[str]:
        """The runs of a task, or of one of its cases, that run or wait and were not cancelled."""
        return [
            t.run for t in self._tickets() if t.task == task and case in (None, t.case) and not t.cancelled
        ]

    def waiting(self, task: str, case: str) -> bool:
        """Whether a run of this case waits for its turn."""
        return any(ticket.task == task and ticket.case == case for ticket in self._waiting)

    def cancel(self, run: str) -> None:
        """End a run; one that waits is dropped, one that runs tidies up first. Unknown ones are let go."""
        for ticket in [ticket for ticket in self._waiting if ticket.run == run]:
            self._waiting.remove(ticket)
            ticket.dropped()
        if run in self._running:
            ticket, task = self._running[run]
            if not ticket.cancelled:
                # Once only: a second time would cut short what tidies up.
                ticket.cancelled = True
                task.cancel()

    def drop(self, run: str) -> None:
        """End a run that waits; one that runs may end by itself."""
        if run not in self._running:
            self.cancel(run)

    def advance(self, run: str, order: int) -> None:
        """Let a run that waits have its turn earlier."""
        for ticket in self._waiting:
            if ticket.run == run:
                ticket.order = min(ticket.order, order)

    async def close(self) -> None:
        """Cancel everything and wait until the last one has ended."""
        self._closed = True
        for ticket in self._tickets():
            self.cancel(ticket.run)
        while tasks := [task for _, task in self._running.values()]:
            await asyncio.wait(tasks)

    def _tickets(self) -> list[Ticket]:
        return [*self._waiting, *(ticket for ticket, _ in self._running.values())]

    def _pump(self) -> None:
        while self._waiting and not self._closed:
            first = min(self._waiting)
            if len(self._running) >= self._slots:
                self._make_way(first)
                return
            if self._running and self._memory() < RESERVE:
                self._look_again()
                return
            self._waiting.remove(first)
            task = asyncio.create_task(self._run(first), name=f"run {first.run}")
            self._running[first.run] = (first, task)
            task.add_done_callback(partial(self._done, first))

    def _make_way(self, first: Ticket) -> None:
        """Let a patient run give its place to one that somebody waits for."""
        running = [ticket for ticket, _ in self._running.values()]
        if first.order >= self._patient or any(ticket.cancelled for ticket in running):
            return
        if patient := [ticket for ticket in running if ticket.order >= self._patient]:
            self.cancel(max(patient).run)

    def _look_again(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._looked)

    def _looked(self) -> None:
        self._looking = None
        self._pump()

    async def _run(self, ticket: Ticket) -> None:
        ticket.begun = True
        try:
            await ticket.work()
        finally:
            self._leave(ticket)

    def _done(self, ticket: Ticket, task: asyncio.Task[None]) -> None:
        if not ticket.begun:  # it was cancelled before its first step, so `_run` was never entered
            ticket.dropped()
            self._leave(ticket)

    def _leave(self, ticket: Ticket) -> None:
        del self._running[ticket.run]
        self._pump()


def slots_here() -> int:
    """How many runs side by side this host takes: its cores, and half a GiB of free memory for each."""
    return max(1, min(os.cpu_count() or 1, int(psutil.virtual_memory().available) // RESERVE))
