"""The terminal face: what an engine, a recording or a test says, on a screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from textual import events, on, work
from textual.app import ComposeResult
from textual.command import Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.widgets import Static

from workbench import events as ev
from workbench import settings, wishes
from workbench.cases.case import AgentSpec
from workbench.session import Session
from workbench.settings import Loaded, Settings
from workbench.ui import crash, own_process, remembered, theme_files, words
from workbench.ui.base_app import BaseApp
from workbench.ui.commands import key_shown
from workbench.ui.drawing import draw_now
from workbench.ui.feed import batches
from workbench.ui.messages import Came, Ended, Wished
from workbench.ui.once import once
from workbench.ui.screen_commands import APP
from workbench.ui.slices import after_keys, key_pressed, since_key
from workbench.ui.source import EventSource
from workbench.ui.visible import visible

if TYPE_CHECKING:
    from workbench.ui.screens.main import MainScreen

_FRAME = 0.1
"""Seconds between redraws while much happens."""
_LONG_READ = 20
_REST = 5.0
"""Seconds without a key after which none is expected at once."""
_TICK = 0.25
"""Seconds between redraws while something runs and nothing happens."""
_NO_SETTINGS = Loaded(Settings(), (), ())
_SEVERITIES: dict[ev.NoticeLevel, SeverityLevel] = {
    "info": "information",
    "warning": "warning",
    "error": "error",
}


@dataclass(frozen=True)
class Demo:
    """Many trials of one case, to begin with."""

    case: str
    times: int
    large: bool = False
    """Larger letters and fewer words."""


def _palette() -> type[Provider]:
    from workbench.ui.palette import CommandProvider

    return CommandProvider


class WorkbenchApp(BaseApp):
    """Shows one task, and sends wishes.

    Attributes:
        session: The fold over all events so far.
        clock: Tells Unix seconds.
        leaves_for: The task that the user left this one for; None for the shell.
    """

    OFFER = APP
    BINDINGS = APP.bindings()
    COMMANDS = {_palette}  # noqa: RUF012

    def __init__(
        self,
        source: EventSource,
        task: Path,
        *,
        paused: bool = False,
        agents: tuple[AgentSpec, ...] = (),
        shell: bool = False,
        demo: Demo | None = None,
        newcomer: bool = False,
        can_open_others: bool = False,
        theme: str = "",
        settings: Loaded = _NO_SETTINGS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            task: The task's absolute directory.
            paused: Replay and watch nothing until asked to.
            agents: Agents to try the task on.
            shell: Open a shell on the task's image at once.
            demo: Begin with many trials of one case.
            newcomer: Say where to find what can be done.
            can_open_others: Whether whoever runs this opens the task that it is left for.
            theme: The name of the theme to begin with; empty for what is set or was chosen last.
            settings: What the user has set.
        """
        self.clock = clock
        look = remembered.load() if settings.settings.remember else remembered.Look()
        super().__init__(settings.settings, theme or settings.settings.theme or look.theme)
        self.session = Session()
        self._setting_faults = settings.faults
        self._look = look.tasks.get(str(task), remembered.TaskLook())
        self._main: MainScreen | None = None
        self._shell = shell
        self._demo = demo
        self._newcomer = newcomer
        self._can_open_others = can_open_others
        self.leaves_for: Path | None = None
        self.owns_process = False
        """Whether nothing else lives in this process."""
        self._source = source
        self._opening = wishes.OpenTask(
            task=str(task),
            watch=not paused,
            replay=not paused,
            # What is known already is shown, but for many trials, which are to speak for themselves.
            cached=paused and demo is None,
            agents=agents,
        )
        self._engine_lost = ""
        self._ended = False
        self._drawn = 0.0
        self._due = False
        self._undrawn = 0
        self._taken = asyncio.Event()
        self._verdict = ""
        """The kind of the verdict that was shown last."""

    def now(self) -> float:
        """Unix seconds."""
        return self.clock()

    @property
    def is_heard(self) -> bool:
        """Whether there is an engine that can do what the user wishes for, or that will be."""
        return not self._ended

    @property
    def can_run(self) -> bool:
        """Whether anything can run here, were there an engine."""
        return not self.session.task(self._opening.task).is_elsewhere

    def other_tasks(self) -> list[Path]:
        """The tasks that can be opened in this one's place. Looks at the disk."""
        from workbench.ui import tasks

        return tasks.others(Path(self._opening.task)) if self._can_open_others else []

    def open_instead(self, task: Path) -> None:
        """Leave for another task."""
        self.leaves_for = task
        self.exit()

    @property
    def up_to_date(self) -> bool:
        """Whether the screen shows all that came in."""
        if self._main is None or not self._main.is_mounted:
            return False
        return self._undrawn == 0 and not self._due and self._main.up_to_date

    def compose(self) -> ComposeResult:
        """A first frame, in place of the title bar to come, while the screen proper is loaded."""
        name = visible(Path(self._opening.task).name)
        yield Static(Content.assemble((f" {name}", "bold $accent"), ("\n Opening ...", "$muted")))

    def on_mount(self) -> None:
        """Start the engine once the first frame is painted, and load the screen meanwhile."""
        self.end_on_signals()
        self._ticking = self.set_interval(_TICK, self._draw_soon, pause=True)
        self.call_after_refresh(self._listen)
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        from workbench.ui.screens.main import MainScreen

        self._main = MainScreen(
            self._opening.task, self.session, self.clock, shell=self._shell, look=self._look
        )
        self.push_screen(self._main)
        if self.owns_process:
            self.call_after_refresh(own_process.keep_what_is_loaded)
            self.set_interval(_REST, self._collect)
        if demo := self._demo:
            self._main.show_trials(demo.case, demo.times, large=demo.large)
        self.watch_theme_files()
        self._tell_settings()
        if self._newcomer:
            keys = {command.id: key_shown(self, command) for command in APP.commands}
            self.notify(
                f"{keys['help']} lists all keys, and {keys['palette']} finds any command by its name. "
                "Everything on the screen can be clicked, too.",
                title="The first time here",
                timeout=_LONG_READ,
            )

    def _tell_settings(self) -> None:
        faults = [str(fault) for fault in self._setting_faults]
        faults += theme_files.unknown(self.settings.theme, self.available_themes)
        if self.settings.keys:
            from workbench.ui import keymap

            known = keymap.all_commands()
            faults += [
                f"unknown command `{name}` in [keys]{settings.nearest(name, known)}"
                for name in self.settings.keys
                if name not in known
            ]
            faults += keymap.faults(self.settings.keys)
        self.tell_faults("Settings left out", faults)

    @work(group="events", exclusive=True)
    async def _listen(self, again: bool = False) -> None:
        """Post the source's events, from its start to its end."""
        error = ""
        try:
            await (self._source.restart() if again else self._source.start())
            await self._source.send(self._opening)
            if self._demo and not again:
                demo = self._demo
                task = self._opening.task
                await self._source.send(wishes.Repeat(task=task, case=demo.case, times=demo.times))
            async for batch in batches(self._source.events()):
                self._undrawn += 1
                await after_keys()
                self._taken.clear()
                self.post_message(Came(batch))
                # No further than the screen keeps up: a key must not wait behind a queue of output.
                await self._taken.wait()
        except OSError as failure:
            error = str(failure)
        self.post_message(Ended(error))

    def on_came(self, message: Came) -> None:
        """Take events in."""
        self._undrawn -= 1
        self._taken.set()
        for event in message.events:
            self.session.apply(event)
            if isinstance(event, ev.Notice):
                self.notify(event.message, severity=_SEVERITIES[event.level])
        self._draw_soon()

    def on_ended(self, message: Ended) -> None:
        """Say that the engine is gone; what is shown stays."""
        self._engine_lost = message.error
        self._ended = True
        self.session.engine_died(self.clock())
        self._draw_soon()

    @on(Wished)
    async def _pass_on(self, message: Wished) -> None:
        if self.is_heard:
            await self._source.send(message.wish)
        elif not isinstance(message.wish, wishes.UNASKED):
            self.refuse()

    def refuse(self) -> None:
        """Say why nothing comes of a wish."""
        key = key_shown(self, APP["engine.restart"])
        self.notify(f"No engine runs that could do this; {key} {self.RESTART_DOES}.", severity="warning")

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

    def exit(self, *arguments: Any, **options: Any) -> None:
        """Keep how the task was looked at, and leave."""
        if self._main and self._main.is_mounted and self.settings.remember:
            remembered.keep(self._opening.task, self.theme, self._main.look)
        super().exit(*arguments, **options)

    def action_notices(self) -> None:
        """Show what notices have said, and no longer the toasts that say the same."""
        from workbench.ui.screens.notices import NoticesScreen

        self.clear_notifications()
        self.push_screen(NoticesScreen(self.told))

    def action_help(self) -> None:
        """Show what can be done here."""
        from workbench.ui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.screen))

    async def on_event(self, event: events.Event) -> None:
        """Note when the user did something, whose effect comes before what else there is to draw."""
        if isinstance(event, events.InputEvent):
            key_pressed()
        if await self.is_command(event):
            draw_now(self.screen)
        else:
            await super().on_event(event)

    def _collect(self) -> None:
        if since_key() > _REST:
            own_process.collect()

    def _draw_soon(self) -> None:
        """Redraw at once, or at the end of the frame when the last redraw or a key was just now."""
        if self._due:
            return
        wait = _FRAME - min(time.monotonic() - self._drawn, since_key())
        if wait <= 0:
            self._draw()
        else:
            self._due = True
            once(self, wait, self._draw)

    def _draw(self) -> None:
        self._due = False
        self._drawn = time.monotonic()
        self._tell_turn()
        if self.session.busy:
            self._ticking.resume()
        else:
            self._ticking.pause()
        if self._main and self._main.is_mounted:
            # A timer may fire while the screen is being taken down, widget by widget.
            with suppress(NoMatches):
                self._main.refresh_views(self._engine_lost)

    def _tell_turn(self) -> None:
        """Ring where the verdict turned while the user looked elsewhere."""
        verdict = self.session.task(self._opening.task).verdict
        kind = verdict.kind if verdict else ""
        if kind and self._verdict and kind != self._verdict and not self.app_focus and self.settings.bell:
            mark = words.verdict_mark(verdict)
            self.bell()
            self.tell_desktop(f"{Path(self._opening.task).name}: {mark.word}")
        self._verdict = kind or self._verdict


def run(
    source: EventSource,
    task: Path,
    *,
    paused: bool = False,
    agents: tuple[AgentSpec, ...] = (),
    shell: bool = True,
    demo: Demo | None = None,
    config: Path | None = None,
    bell: bool = True,
) -> Path | None:
    """Show a task until the user leaves.

    Args:
        source: An engine's stream, not yet started.
        task: The task's absolute directory.
        paused: Replay and watch nothing until asked to.
        agents: Agents to try the task on.
        shell: Open a shell on the task's image at once.
        demo: Begin with many trials of one case.
        config: Settings that go before the task's and the user's.
        bell: Whether a verdict that turns unseen may ring, where that is not set otherwise.

    Returns:
        The task to open next, None for none.
    """
    loaded = settings.load(task, config)
    if not bell:
        quiet = msgspec.structs.replace(loaded.settings, bell=False)
        loaded = replace(loaded, settings=quiet)
    app = WorkbenchApp(
        source,
        task,
        paused=paused,
        agents=agents,
        shell=shell,
        demo=demo,
        newcomer=loaded.settings.remember and not remembered.is_there(),
        can_open_others=demo is None,
        settings=loaded,
    )
    app.owns_process = True
    with own_process.answering():
        app.run()
    crash.end_with(app.failure, visible(str(task)))
    return app.leaves_for
