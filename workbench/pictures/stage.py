"""The terminal face without a terminal, shown a recording moment by moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip

from workbench import events as ev
from workbench.recording.recording import Recording
from workbench.settings import Loaded, Settings
from workbench.ui import theme_files
from workbench.ui.app import WorkbenchApp
from workbench.ui.playing import demo_of
from workbench.ui.screens.live import LiveScreen
from workbench.ui.screens.main import MainScreen
from workbench.wishes import Wish

type Size = tuple[int, int]
"""Columns and lines."""


_LOOKS = 3
"""In a row, that show the same on a screen at rest."""


class LeftError(Exception):
    """A key has closed the screen, so that there is nothing to draw."""


class Stage:
    """A screen on which a recording happens as fast as it can be drawn; time only goes forward."""

    def __init__(self, recording: Recording, task: str, theme: str) -> None:
        self._recording = recording
        self._source = _Source()
        self._told = 0
        self._now = recording.start
        self.app = WorkbenchApp(
            self._source,
            Path(task),
            demo=demo_of(recording, task),
            theme=theme,
            # Nobody's own settings are to be seen on it.
            settings=Loaded(Settings(remember=False), (), ()),
            clock=lambda: self._now,
        )
        self.app.animation_level = "none"
        self._pilot: Pilot[None] | None = None

    async def show(self, seconds: float) -> None:
        """Bring the screen to what it was so many seconds after the recording's start."""
        self._now = self._recording.start + seconds
        due = self._recording.count(seconds)
        if due == self._told and not self.app.session.busy:
            return
        self._source.tell(self._recording.events[self._told : due])
        self._told = due
        await self._settle()
        if isinstance(self.app.screen, MainScreen | LiveScreen):
            self.app.screen.refresh_views()
        await self._rest()

    def stays_until(self, seconds: float) -> float:
        """Until when the screen, shown at a moment, stays as it is; while anything runs, clocks tick."""
        if self.app.session.busy:
            return seconds
        due = self._recording.count(seconds)
        return self._recording.offset(due) if due < len(self._recording.events) else self._recording.duration

    async def press(self, *keys: str) -> None:
        """Press keys, named as Textual names them.

        Raises:
            LeftError: one of them closes the screen.
        """
        assert self._pilot
        await self._pilot.press(*keys)
        await self._settle()
        await self._rest()

    def strips(self) -> list[Strip]:
        """The screen's lines."""
        return self.app.screen._compositor.render_strips()  # Textual has no public way to read them.

    async def _settle(self) -> None:
        await self._pause()
        while not (self._source.all_taken and self.app.up_to_date):
            await self._pause()

    async def _rest(self) -> None:
        """Until nothing moves any more: what is shown may ask for another layout."""
        looks: list[list[str]] = []
        while len(looks) < _LOOKS or any(look != looks[-1] for look in looks[-_LOOKS:]):
            await self._pause()
            looks.append([strip.text for strip in self.strips()])

    async def _pause(self) -> None:
        assert self._pilot
        if not self.app.is_running:
            raise LeftError
        await self._pilot.pause()


@asynccontextmanager
async def staged(
    recording: Recording, task: str, size: Size, theme: str = theme_files.DEFAULT
) -> AsyncIterator[Stage]:
    """A stage with an empty screen."""
    stage = Stage(recording, task, theme)
    async with stage.app.run_test(size=size) as pilot:
        stage._pilot = pilot
        await stage._settle()
        yield stage


class _Source:
    """Tells what it is told to tell."""

    died: int | None = None

    def __init__(self) -> None:
        self._events: asyncio.Queue[ev.Event] = asyncio.Queue()
        self._waiting = False

    @property
    def all_taken(self) -> bool:
        """Whether nothing is left to tell."""
        return self._waiting and self._events.empty()

    def tell(self, events: Sequence[ev.Event]) -> None:
        """Let more happen."""
        for event in events:
            self._events.put_nowait(event)

    async def start(self) -> None: ...

    async def restart(self) -> None: ...

    async def events(self) -> AsyncIterator[ev.Event]:
        while True:
            self._waiting = True
            event = await self._events.get()
            self._waiting = False
            yield event

    async def send(self, wish: Wish) -> None: ...

    async def stop(self) -> None: ...
