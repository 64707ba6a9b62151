"""What the terminal face is besides its task: themes, moved keys, notices, and a clean end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual import events, on
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.message_pump import MessagePump
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget

from workbench.settings import Settings
from workbench.ui import theme_files
from workbench.ui.moved_keys import followed
from workbench.ui.once import once
from workbench.ui.visible import visible

_THEMES_LOOKED_AT = 1.0
"""Seconds between looks at the theme files."""
_NOTICES_KEPT = 500
_LONG_READ = 15


@dataclass(frozen=True)
class Told:
    """A notice that was shown."""

    at: float
    """Unix seconds."""
    severity: SeverityLevel
    message: str


class BaseApp(App[None]):
    """Dressed by files, its notices kept.

    Attributes:
        settings: What the user has set.
        told: The notices shown so far, oldest first.
    """

    TITLE = "Harbor Workbench"
    CSS_PATH = "app.tcss"
    ENDED_SAYS: ClassVar[str] = ""
    """What is said of an engine's end where that is nothing to worry about."""
    RESTART_DOES: ClassVar[str] = "starts another engine"
    """What the key does that there is for when an engine has ended."""

    def __init__(self, settings: Settings, theme: str) -> None:
        super().__init__()
        self.settings = settings
        self.told: deque[Told] = deque(maxlen=_NOTICES_KEPT)
        self._theme_stamp: object = None
        self._catching_up = False
        self._dress(theme or theme_files.DEFAULT)
        self.set_keymap(followed(settings.keys))

    @property
    def failure(self) -> Exception | None:
        """What brought the screen down, None when nothing did."""
        return self._exception

    @property
    def is_heard(self) -> bool:
        """Whether there is an engine that can do what the user wishes for, or that will be."""
        return True

    @property
    def can_run(self) -> bool:
        """Whether anything can run here, were there an engine."""
        return True

    def bars(self) -> ComposeResult:
        """What stands over the keys on every screen that fills the terminal."""
        yield from ()

    def other_tasks(self) -> list[Path]:
        """The tasks that can be opened in this one's place. May look at the disk."""
        return []

    def open_instead(self, task: Path) -> None:
        """Leave for another task."""
        raise NotImplementedError

    def now(self) -> float:
        """Unix seconds."""
        raise NotImplementedError

    def end_on_signals(self) -> None:
        """Leave the terminal as it was when the process is told to end."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            # Not every platform has both, and a test's loop may run in a thread.
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(getattr(signal, name), self.exit)

    def watch_theme_files(self) -> None:
        """Offer all themes, and take in files at every save."""
        self._dress_again()
        self.set_interval(_THEMES_LOOKED_AT, self._dress_again)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice, and keep it. What it says may come from outside, so it is never markup."""
        message = visible_lines(message)
        self.told.append(Told(self.now(), severity, f"{title}: {message}" if title else message))
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def tell_faults(self, title: str, faults: list[str]) -> None:
        """One notice for everything that was left out of files of the user's."""
        if faults:
            self.notify("\n".join(faults), title=title, severity="warning", timeout=_LONG_READ)

    def tell_desktop(self, text: str) -> None:
        """Ask the terminal for a desktop notice (OSC 9, which others leave alone)."""
        if self._driver and os.environ.get("TERM", "") not in ("linux", "dumb"):
            self._driver.write(f"\x1b]9;{visible(text)}\x07")

    async def is_command(self, event: events.Event) -> bool:
        """Do at once what a key is for, where no widget takes keys for itself; whether it was for anything.

        Textual lets a key wander up from the widget with the focus before it has any effect, so what is
        typed right after a key that goes to a shell, or opens a line to type in, would be commands.
        """
        if not isinstance(event, events.Key) or event.is_forwarded or not self.is_screen_there:
            return False
        focused = self.focused or self.screen
        if any(_takes_keys(type(node)) for node in focused.ancestors_with_self):
            return False
        self.app_focus = True
        return await self._check_bindings(event.key, priority=True) or await self._check_bindings(event.key)

    @property
    def is_screen_there(self) -> bool:
        """Whether there is a screen to look at."""
        return bool(self._screen_stacks.get(self._current_mode))

    def get_driver_class(self) -> type[Driver]:
        """The platform's, or on POSIX one that knows how far the terminal has come."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from workbench.ui.paced import PacedDriver

        return PacedDriver

    @on(Driver.SignalResume)
    def _draw_again(self) -> None:
        """Draw all after the shell had the terminal: Textual does so only where the size is another."""
        self.refresh(layout=True)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Draw, or do so later, with what there is to show then, where the terminal is behind."""
        if getattr(self._driver, "is_behind", False):
            from workbench.ui.paced import LOOK_AGAIN, regions

            screen._compositor._dirty_regions.update(regions(renderable))
            if not self._catching_up:
                self._catching_up = True
                once(self, LOOK_AGAIN, self._catch_up)
        else:
            super()._display(screen, renderable)

    def _catch_up(self) -> None:
        self._catching_up = False
        if self.is_screen_there:
            self.screen._compositor_refresh()

    def _fatal_error(self) -> None:
        """Leave without Textual's traceback, which says nothing to a user; the report has it."""
        self.bell()
        self._close_messages_no_wait()

    def _dress(self, only: str = "") -> list[str]:
        """Offer the themes that are files, and no others: Textual's lack the colours of this screen."""
        themes, faults = theme_files.load_all(only)
        if not themes:
            themes, _ = theme_files.load_all(theme_files.DEFAULT)
        names = {theme.name for theme in themes}
        for theme in themes:
            self.register_theme(theme)
        if self.theme not in names:
            self.theme = only if only in names else theme_files.DEFAULT
        for name in self.available_themes.keys() - names:
            self.unregister_theme(name)
        return faults

    def _dress_again(self) -> None:
        if (stamp := theme_files.stamp()) != self._theme_stamp:
            self._theme_stamp = stamp
            self.tell_faults("Themes left out", self._dress())
            self.mutate_reactive(App.theme)


def _takes_keys(kind: type[MessagePump]) -> bool:
    """Whether nodes of a class have a use for keys besides what is bound."""
    own = (vars(one) for one in kind.__mro__ if one not in (Widget, App))
    return any("on_key" in one or "_on_key" in one for one in own)


def visible_lines(text: str) -> str:
    """Text of several lines, each made harmless."""
    return "\n".join(visible(line) for line in text.split("\n"))
