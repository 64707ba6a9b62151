"""The terminal face: what an engine, a recording or a test says, on a screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import App, ComposeResult
from textual.command import Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.widgets import Static

from workbench import events as ev
from workbench import wishes
from workbench.session import Session
from workbench.ui import theme_files
from workbench.ui.commands import APP
from workbench.ui.feed import batches
from workbench.ui.messages import Came, Ended, Wished
from workbench.ui.source import EventSource
from workbench.ui.visible import visible

if TYPE_CHECKING:
    from workbench.ui.screens.main import MainScreen

_FRAME = 0.05
"""Seconds between redraws while much happens."""
_TICK = 0.1
"""Seconds between redraws while something runs and nothing happens."""
_THEMES_LOOKED_AT = 1.0
"""Seconds between looks at the theme files."""
_SEVERITIES: dict[ev.NoticeLevel, SeverityLevel] = {
    "info": "information",
    "warning": "warning",
    "error": "error",
}


def _palette() -> type[Provider]:
    from workbench.ui.palette import CommandProvider

    return CommandProvider


class WorkbenchApp(App[None]):
    """Shows one task, and sends wishes.

    Attributes:
        session: The fold over all events so far.
        clock: Tells Unix seconds.
    """

    TITLE = "Harbor Workbench"
    CSS_PATH = "app.tcss"
    OFFER = APP
    BINDINGS = APP.bindings()
    COMMANDS = {_palette}  # noqa: RUF012

    def __init__(
        self,
        source: EventSource,
        task: Path,
        *,
        paused: bool = False,
        shell: bool = False,
        theme: str = theme_files.DEFAULT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            task: The task's absolute directory.
            paused: Replay and watch nothing until asked to.
            shell: Open a shell on the task's image at once.
            theme: The name of the theme to begin with.
        """
        super().__init__()
        self.session = Session()
        self.clock = clock
        self._main: MainScreen | None = None
        self._shell = shell
        self._source = source
        self._opening = wishes.OpenTask(task=str(task), watch=not paused, replay=not paused)
        self._engine_lost = ""
        self._ended = False
        self._drawn = 0.0
        self._due = False
        self._undrawn = 0
        self._theme_stamp: object = None
        self._dress(theme)

    @property
    def up_to_date(self) -> bool:
        """Whether the screen shows all that came in."""
        return self._main is not None and self._undrawn == 0 and not self._due

    def compose(self) -> ComposeResult:
        """A first frame, in place of the title bar to come, while the screen proper is loaded."""
        name = visible(Path(self._opening.task).name)
        yield Static(Content.assemble((f" {name}", "bold $accent"), ("\n Opening ...", "$muted")))

    def on_mount(self) -> None:
        """Start the engine once the first frame is painted, and load the screen meanwhile."""
        self._ticking = self.set_interval(_TICK, self._draw_soon, pause=True)
        self.call_after_refresh(self._listen)
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        from workbench.ui.screens.main import MainScreen

        self._main = MainScreen(self._opening.task, self.session, self.clock, shell=self._shell)
        self.push_screen(self._main)
        self._dress_again()
        self.set_interval(_THEMES_LOOKED_AT, self._dress_again)

    @work(group="events", exclusive=True)
    async def _listen(self, again: bool = False) -> None:
        """Post the source's events, from its start to its end."""
        error = ""
        try:
            await (self._source.restart() if again else self._source.start())
            await self._source.send(self._opening)
            async for batch in batches(self._source.events()):
                self._undrawn += 1
                self.post_message(Came(batch))
        except OSError as failure:
            error = str(failure)
        self.post_message(Ended(error))

    def on_came(self, message: Came) -> None:
        """Take events in."""
        self._undrawn -= 1
        for event in message.events:
            self.session.apply(event)
            if isinstance(event, ev.Notice):
                self.notify(visible(event.message), severity=_SEVERITIES[event.level], markup=False)
        self._draw_soon()

    def on_ended(self, message: Ended) -> None:
        """Say that the engine is gone; what is shown stays."""
        self._engine_lost = message.error
        self._ended = True
        self.session.engine_died(self.clock())
        self._draw_soon()

    @on(Wished)
    async def _pass_on(self, message: Wished) -> None:
        await self._source.send(message.wish)

    def action_restart_engine(self) -> None:
        """Start another engine after one ended."""
        if not self._ended:
            self.notify("The engine is running.")
            return
        self._ended = False
        self._engine_lost = ""
        self._listen(again=True)
        self._draw_soon()

    async def on_unmount(self) -> None:
        """End the engine with the screen."""
        await self._source.stop()

    def action_help(self) -> None:
        """Show what can be done here."""
        from workbench.ui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.screen))

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
        if self.session.busy:
            self._ticking.resume()
        else:
            self._ticking.pause()
        if self._main and self._main.is_mounted:
            # A timer may fire while the screen is being taken down, widget by widget.
            with suppress(NoMatches):
                self._main.refresh_views(self._engine_lost)

    def _dress(self, only: str = "") -> list[str]:
        """Offer the themes that are files, and no others: Textual's lack the colours of this screen."""
        themes, faults = theme_files.load_all(only)
        names = {theme.name for theme in themes}
        for theme in themes:
            self.register_theme(theme)
        if self.theme not in names:
            self.theme = only or theme_files.DEFAULT
        for name in self.available_themes.keys() - names:
            self.unregister_theme(name)
        return faults

    def _dress_again(self) -> None:
        """Take in theme files that were changed, so that an author of one sees it at every save."""
        if (stamp := theme_files.stamp()) != self._theme_stamp:
            self._theme_stamp = stamp
            self._say(self._dress())
            self.mutate_reactive(App.theme)

    def _say(self, faults: list[str]) -> None:
        if faults:
            text = visible("\n".join(faults))
            self.notify(text, title="Themes left out", severity="warning", timeout=15, markup=False)


def run(source: EventSource, task: Path, *, paused: bool = False, shell: bool = True) -> None:
    """Show a task until the user leaves.

    Args:
        source: An engine's stream, not yet started.
        task: The task's absolute directory.
        paused: Replay and watch nothing until asked to.
        shell: Open a shell on the task's image at once.
    """
    WorkbenchApp(source, task, paused=paused, shell=shell).run()
