"""Driving the app without an engine, and reading its screen."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from tests.ui.resting import is_about_to_change
from tests.ui.streams import TASK, RecordedSource, Stream
from workbench.settings import Loaded, Settings
from workbench.ui.app import WorkbenchApp

_PATIENCE = 30.0
"""Seconds."""
_STILL = 4
"""Looks in a row that show the same."""


@dataclass
class Driven:
    """An app that runs, and the hands on it."""

    app: WorkbenchApp
    source: RecordedSource
    pilot: Pilot[None]

    async def press(self, *keys: str) -> None:
        """Press keys and let their effects come."""
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Wait until everything that was told is drawn."""
        await until(self.pilot, lambda: self.source.all_taken and self.app.up_to_date)
        await self.pilot.pause()

    @property
    def text(self) -> str:
        """What is on the screen."""
        return screen_text(self.app)


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the app run until something is so."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        await pilot.pause()
        if condition():
            return
    raise AssertionError("it never came to be")


async def still(pilot: Pilot[None]) -> None:
    """Let the app run until nothing moves on its screen any more."""
    before: list[str] = []
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        await pilot.pause()
        if is_about_to_change(pilot.app):
            before.clear()
        before.append(screen_text(pilot.app))
        if len(before) >= _STILL and len(set(before[-_STILL:])) == 1:
            return
    raise AssertionError("the screen never came to rest")


def screen_text(app: App[None]) -> str:
    """The characters on the screen, a line each."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def app_for(
    stream: Stream,
    source: RecordedSource | None = None,
    *,
    paused: bool = False,
    shell: bool = False,
    theme: str = "",
    settings: Loaded = Loaded(Settings(), (), ()),  # noqa: B008
) -> WorkbenchApp:
    """An app on a recorded stream, its clock standing at the stream's end."""
    return WorkbenchApp(
        source or RecordedSource(stream.events),
        Path(TASK),
        paused=paused,
        shell=shell,
        theme=theme,
        settings=settings,
        clock=lambda: stream.now,
    )


@asynccontextmanager
async def opened(stream: Stream, size: tuple[int, int] = (160, 50), **options: Any) -> AsyncIterator[Driven]:
    """The app, with everything of the stream on its screen.

    Args:
        options: As of `app_for`.
    """
    source = RecordedSource(stream.events)
    app = app_for(stream, source, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        driven = Driven(app, source, pilot)
        await driven.settle()
        yield driven
