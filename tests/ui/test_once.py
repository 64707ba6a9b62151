"""Timers of a process that is held up."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual.app import App

from tests.ui.driving import opened, until
from tests.ui.streams import TASK, holding
from workbench import events as ev
from workbench.ui.once import once


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one step of a timer that strikes once to its next, an hour goes by."""
    hours = 0

    def get_time() -> float:
        nonlocal hours
        task = asyncio.current_task()
        if task and task.get_name().startswith("set_timer#"):
            hours += 1
        return time.monotonic() + 3600 * hours

    monkeypatch.setattr("textual.timer._time.get_time", get_time)


async def test_what_is_to_be_done_once_is_done_however_late(held_up: None) -> None:
    app = App[None]()
    done: list[str] = []
    async with app.run_test() as pilot:
        app.set_timer(0.001, lambda: done.append("textual"))
        once(app, 0.001, lambda: done.append("once"))
        await until(pilot, lambda: "once" in done)
    # Where Textual's is called too, `once` is no longer needed.
    assert done == ["once"]


async def test_a_screen_that_was_held_up_still_shows_what_comes(held_up: None) -> None:
    async with opened(holding()) as driven:
        for watching in (False, True, False):
            driven.source.feed(ev.WatchingChanged(at=holding().now, task=TASK, watching=watching))
            await driven.pilot.pause()
        await driven.settle()
        assert "○ not watching" in driven.text
