"""Whose turn it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workbench.engine.runner import RESERVE, Runner


class Runs:
    """Runs that end when told to."""

    def __init__(self, slots: int, memory: Callable[[], int] = lambda: 1 << 40) -> None:
        self.runner = Runner(slots, patient=3, memory=memory)
        self.began: list[str] = []
        self.cancelled: list[str] = []
        self.dropped: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def add(self, name: str, order: int = 1) -> None:
        self._gates[name] = asyncio.Event()
        self.runner.add(
            order, "task", name, name, lambda: self._work(name), lambda: self.dropped.append(name)
        )

    def end(self, name: str) -> None:
        self._gates[name].set()

    async def _work(self, name: str) -> None:
        self.began.append(name)
        try:
            await self._gates[name].wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_run_than_there_are_slots_and_earlier_orders_go_first() -> None:
    runs = Runs(1)
    runs.add("first", 1)
    await turns()
    runs.add("later", 2)
    runs.add("failed", 0)
    await turns()
    assert runs.began == ["first"]
    runs.end("first")
    await turns()
    assert runs.began == ["first", "failed"]


async def test_a_run_that_is_looked_at_goes_before_those_that_came_earlier() -> None:
    runs = Runs(1)
    for name in ("running", "one", "two"):
        runs.add(name, 2)
    await turns()
    runs.runner.advance("two", 1)
    runs.end("running")
    await turns()
    assert runs.began == ["running", "two"]


async def test_a_confirmation_gives_its_place_to_a_run_that_somebody_waits_for() -> None:
    runs = Runs(1)
    runs.add("confirmation", 3)
    await turns()
    runs.add("wanted", 1)
    await turns()
    assert runs.cancelled == ["confirmation"]
    assert runs.began == ["confirmation", "wanted"]


async def test_what_is_queued_together_takes_its_places_by_its_order() -> None:
    runs = Runs(1)
    for name, order in (("confirmation", 3), ("wanted", 1)):
        runs.add(name, order)
    await turns()
    assert runs.began == ["wanted"]
    runs.end("wanted")
    await turns()
    assert runs.began == ["wanted", "confirmation"]
    assert runs.cancelled == runs.dropped == []


async def test_a_run_cancelled_before_its_first_step_frees_its_place_and_is_said_to_be_dropped() -> None:
    runs = Runs(1)
    runs.add("one", 1)
    runs.add("two", 1)
    while not runs.runner._running:
        await asyncio.sleep(0)
    assert runs.began == []
    runs.runner.cancel("one")
    await turns()
    assert (runs.began, runs.dropped) == (["two"], ["one"])
    runs.end("two")
    await turns()
    assert not runs.runner.busy("task")
    await asyncio.wait_for(runs.runner.close(), 10)


async def test_a_second_run_waits_while_memory_is_short_and_the_first_never_does() -> None:
    free = RESERVE - 1
    runs = Runs(2, lambda: free)
    runs.add("one")
    runs.add("two")
    await turns()
    assert runs.began == ["one"]
    free = RESERVE
    runs.end("one")
    await turns()
    assert runs.began == ["one", "two"]


async def test_a_run_that_waits_is_dropped_and_one_that_runs_is_ended() -> None:
    runs = Runs(1)
    runs.add("running")
    runs.add("waiting")
    await turns()
    runs.runner.cancel("waiting")
    runs.runner.cancel("running")
    assert runs.runner.runs("task") == []
    assert runs.runner.busy("task")
    await turns()
    assert (runs.dropped, runs.cancelled) == (["waiting"], ["running"])
    assert not runs.runner.busy("task")


async def test_closing_ends_all_and_begins_none() -> None:
    runs = Runs(1)
    runs.add("running")
    runs.add("waiting")
    await turns()
    await runs.runner.close()
    runs.add("late")
    await turns()
    assert runs.began == ["running"]
    assert runs.cancelled == ["running"]
