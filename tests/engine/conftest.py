"""A real engine on a real task, and a way to wait for what it says."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import accumulate
from pathlib import Path

import pytest

from workbench import events as ev
from workbench import places, wishes
from workbench.link import EngineLink, EngineOptions
from workbench.session import CaseView, Session, TaskView
from workbench.trials.outcome import Outcome

PATIENCE = 60
"""Seconds; only a fault makes a test wait this long."""


class Engine:
    """An engine under test, and all that it has said."""

    def __init__(self, link: EngineLink, patience: float = PATIENCE) -> None:
        self.link = link
        self._patience = patience
        self.session = Session()
        self.events: list[ev.Event] = []
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for event in self.link.events():
            self.session.apply(event)
            async with self._news:
                self.events.append(event)
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until what the engine said makes `condition` true."""
        async with self._news:
            try:
                await asyncio.wait_for(self._news.wait_for(lambda: bool(condition())), self._patience)
            except TimeoutError:
                said = "\n".join(str(event)[:300] for event in self.events[-30:])
                pytest.fail(f"the engine never said so; its last words:\n{said}")

    async def ended(self) -> None:
        """Wait until the engine has ended."""
        await asyncio.wait_for(self._reading, self._patience)

    async def open(self, task: Path, *, watch: bool = True, replay: bool = True) -> TaskView:
        """Open a task, and wait until nothing of it runs or waits."""
        await self.link.send(wishes.OpenTask(task=str(task), watch=watch, replay=replay))
        view = self.session.task(str(task))
        await self.until(lambda: view.settled)
        return view

    def said[E](self, kind: type[E], since: int = 0) -> list[E]:
        """What it said of one kind, from the event numbered `since` on."""
        return [event for event in self.events[since:] if isinstance(event, kind)]

    def runs(self, view: TaskView) -> dict[str, int]:
        """How many runs each case has had."""
        return {name: len(case.runs) for name, case in view.cases.items()}


def outcome(case: CaseView) -> Outcome:
    """What the newest decided run of a case came to."""
    assert case.decided is not None
    assert case.decided.outcome is not None
    return case.decided.outcome


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    link = EngineLink(EngineOptions(provider="bubblewrap", concurrency=2, state_dir=tmp_path / "state"))
    async with link:
        yield Engine(link)


@pytest.fixture
def slugify(tmp_path: Path) -> Path:
    """A copy of the sample to edit."""
    return Path(shutil.copytree(places.shipped("sample_tasks") / "slugify", tmp_path / "slugify"))


def side_by_side(events: Iterable[ev.Event]) -> int:
    """How many runs there were at once, at the most."""
    starts = (isinstance(event, ev.RunStarted) - isinstance(event, ev.RunEnded) for event in events)
    return max(accumulate(starts), default=0)
