"""The terminal face: what an engine, a recording or a test says, on a screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.message import Message
from textual.notifications import SeverityLevel

from workbench import events as ev
from workbench import wishes
from workbench.session import Session
from workbench.ui import theme_files
from workbench.ui.commands import APP, bindings
from workbench.ui.feed import batches
from workbench.ui.messages import Wished
from workbench.ui.screens.main import MainScreen
from workbench.ui.source import EventSource

_FRAME = 0.05
"""Seconds between redraws while much happens."""
_TICK = 0.1
"""Seconds between redraws while something runs and nothing happens."""
_SEVERITIES: dict[ev.NoticeLevel, SeverityLevel] = {
    "info": "information",
    "warning": "warning",
    "error": "error",
}


class WorkbenchApp(App[None]):
    """Shows one task, and sends wishes.

    Attributes:
        session: The fold over all events so far.
        clock: Tells Unix seconds.
        engine_lost: Why no engine could be started, empty when one was.
    """

    TITLE = "Harbor Workbench"
    BINDINGS = bindings(APP)
    session: Session

    class Came(Message):
        """Events came in."""

        def __init__(self, events: list[ev.Event]) -> None:
            super().__init__()
            self.events = events

    class Ended(Message):
        """The stream is at its end."""

        def __init__(self, error: str = "") -> None:
            super().__init__()
            self.error = error

    def __init__(
        self,
        source: EventSource,
        task: Path,
        *,
        paused: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            task: The task's absolute directory.
            paused: Replay and watch nothing until asked to.
        """
        super().__init__()
        self.session = Session()
        self.clock = clock
        self.engine_lost = ""
        self._source = source
        self._task_path = str(task)
        self._paused = paused
        self._drawn = 0.0
        self._due = False
        self._faults = self._dress()

    def _dress(self) -> list[str]:
        """Offer the themes that are files, and no others: Textual's lack the colours of this screen."""
        themes, faults = theme_files.load_all(theme_files.shipped_dir(), theme_files.user_dir())
        for name in list(self.available_themes):
            self.unregister_theme(name)
        for theme in themes:
            self.register_theme(theme)
        self.theme = theme_files.DEFAULT
        return faults

    def on_mount(self) -> None:
        """Show the screen, and begin to listen once it is painted."""
        if self._faults:
            self.notify("\n".join(self._faults), title="Themes left out", severity="warning", markup=False)
        self.main = MainScreen(self._task_path, self.session, self.clock)
        self.push_screen(self.main)
        self.set_interval(_TICK, self._tick)
        self.call_after_refresh(self._listen)

    def _listen(self, *, again: bool = False) -> None:
        self.run_worker(self._read(again), group="events", exclusive=True, exit_on_error=False)

    async def _read(self, again: bool) -> None:
        error = ""
        try:
            await (self._source.restart() if again else self._source.start())
            await self._source.send(
                wishes.OpenTask(task=self._task_path, watch=not self._paused, replay=not self._paused)
            )
            async for batch in batches(self._source.events()):
                self.post_message(self.Came(batch))
        except OSError as failure:
            error = str(failure)
        self.post_message(self.Ended(error))

    def on_workbench_app_came(self, message: Came) -> None:
        """Take events in."""
        for event in message.events:
            self.session.apply(event)
            if isinstance(event, ev.Notice):
                self.notify(event.message, severity=_SEVERITIES[event.level], markup=False)
        self._draw_soon()

    def on_workbench_app_ended(self, message: Ended) -> None:
        """Say that the engine is gone; what is shown stays."""
        self.engine_lost = message.error
        self.session.engine_died(self.clock())
        self._draw_soon()

    def on_wished(self, message: Wished) -> None:
        """Ask the engine for something."""
        self.run_worker(self._source.send(message.wish), group="wishes", exit_on_error=False)

    def action_restart_engine(self) -> None:
        """Start another engine after one ended."""
        if self.session.stopped or self.engine_lost:
            self.engine_lost = ""
            self._listen(again=True)
        else:
            self.notify("The engine is running.")

    async def on_unmount(self) -> None:
        """End the engine with the screen."""
        await self._source.stop()

    def _draw_soon(self) -> None:
        """Redraw at once, or at the end of the frame when the last redraw was just now."""
        if self._due:
            return
        wait = self._drawn + _FRAME - time.monotonic()
        if wait <= 0:
            self._draw()
        else:
            self._due = True
            self.set_timer(wait, self._draw)

    def _draw(self) -> None:
        self._due = False
        self._drawn = time.monotonic()
        if self.main.is_mounted:
            self.main.refresh_views(self.engine_lost)

    def _tick(self) -> None:
        if any(run.state == "running" for run in self.session.runs.values()):
            self._draw_soon()


def run(source: EventSource, task: Path, *, paused: bool = False) -> None:
    """Show a task until the user leaves.

    Args:
        source: An engine's stream, not yet started.
        task: The task's absolute directory.
        paused: Replay and watch nothing until asked to.
    """
    WorkbenchApp(source, task, paused=paused).run()
