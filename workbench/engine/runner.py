"""Runs waiting for their turn, a few at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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


class Runner:
    """Runs at most `slots` at a time, in order; each can be cancelled, waiting or running."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._numbers = itertools.count()
        self._waiting: list[Ticket] = []
        self._running: dict[str, tuple[Ticket, asyncio.Task[None]]] = {}
        self._closed = False

    def add(
        self, order: int, task: str, case: str, run: str, work: Work, dropped: Callable[[], None]
    ) -> None:
        """Queue a run."""
        self._waiting.append(Ticket(order, next(self._numbers), task, case, run, work, dropped))
        self._pump()

    def busy(self, task: str, before: int | None = None) -> bool:
        """Whether anything of this task runs or waits; with `before`, only what comes before that order."""
        return any(
            ticket.task == task and (before is None or ticket.order < before) for ticket in self._tickets()
        )

    def runs(self, task: str, case: str | None = None) -> list[str]:
        """The runs of a task, or of one of its cases, that run or wait."""
        return [t.run for t in self._tickets() if t.task == task and case in (None, t.case)]

    def waiting(self, task: str, case: str) -> bool:
        """Whether a run of this case waits for its turn."""
        return any(ticket.task == task and ticket.case == case for ticket in self._waiting)

    def cancel(self, run: str) -> None:
        """End a run; one that waits is dropped, one that runs tidies up first. Unknown ones are let go."""
        for ticket in [ticket for ticket in self._waiting if ticket.run == run]:
            self._waiting.remove(ticket)
            ticket.dropped()
        if run in self._running:
            self._running[run][1].cancel()

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
        while self._waiting and len(self._running) < self._slots and not self._closed:
            ticket = min(self._waiting)
            self._waiting.remove(ticket)
            task = asyncio.create_task(self._run(ticket), name=f"run {ticket.run}")
            self._running[ticket.run] = (ticket, task)

    async def _run(self, ticket: Ticket) -> None:
        try:
            await ticket.work()
        finally:
            del self._running[ticket.run]
            self._pump()
