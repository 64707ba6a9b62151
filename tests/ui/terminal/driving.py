"""A terminal in a small app, and hands and eyes on it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psutil
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from workbench.machines.machine import HostCommand
from workbench.ui.terminal.emulator import Effects, Emulator
from workbench.ui.terminal.load import load_emulator
from workbench.ui.terminal.terminal import Terminal
from workbench.ui.terminal.transport import Transport

PATIENCE = 60.0
"""Seconds; never waited for in full unless something is broken."""
PYTHON = sys.executable


def program(*argv: str, relays: bool = False, **env: str) -> HostCommand:
    """A program with a plain environment."""
    plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return HostCommand(argv, plain | env, relays)


BASH = program("bash", "--norc", "--noprofile", "-i", PS1="$ ", HISTFILE="/dev/null")


def script(text: str) -> HostCommand:
    """A Python program."""
    return program(PYTHON, "-c", text)


@dataclass
class Happened:
    """What an emulator made happen outside its screen."""

    replies: bytes = b""
    bells: int = 0
    titles: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)


def emulator(columns: int = 40, rows: int = 6) -> tuple[Emulator, Happened]:
    """A bare emulator."""
    happened = Happened()

    def reply(data: bytes) -> None:
        happened.replies += data

    def bell() -> None:
        happened.bells += 1

    effects = Effects(reply, bell, happened.titles.append, happened.copies.append)
    return load_emulator()(columns, rows, effects), happened


class TerminalApp(App[None]):
    """A terminal beside something else that takes the focus."""

    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+q", "quit", "Quit"),
        Binding("ctrl+p", "command_palette", "Commands"),
        Binding("f5", "note('f5')", "A use for F5"),
        Binding("x", "note('x')", "A use for x"),
    ]
    CSS = "Input { height: 3; }"

    def __init__(self, shell: HostCommand | Transport) -> None:
        super().__init__()
        self.terminal = Terminal(shell)
        self.seen: list[object] = []
        self.bells = 0

    def compose(self) -> ComposeResult:
        """The terminal first, so that it has the focus."""
        yield self.terminal
        yield Input()

    def on_mount(self) -> None:
        """Give the terminal the focus."""
        self.terminal.focus()

    def bell(self) -> None:
        """Count instead of ringing."""
        self.bells += 1

    def action_note(self, what: str) -> None:
        """Note that a binding of the app was used."""
        self.seen.append(what)

    def on_terminal_left(self) -> None:
        """Note it."""
        self.seen.append("left")

    def on_terminal_exited(self) -> None:
        """Note it."""
        self.seen.append(self.terminal.ended)

    def on_terminal_title_changed(self) -> None:
        """Note it."""
        self.seen.append(self.terminal.title_of_program)


@dataclass
class Driven:
    """An app with a terminal that runs."""

    app: TerminalApp
    pilot: Pilot[None]

    @property
    def terminal(self) -> Terminal:
        """The terminal."""
        return self.app.terminal

    @property
    def lines(self) -> list[str]:
        """What the terminal shows."""
        return shown(self.terminal)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the app run until something is so."""
        await until(condition, lambda: "\n".join([*self.lines, f"ended: {self.terminal.ended}"]))

    async def see(self, text: str) -> None:
        """Wait until `text` is on the screen, and the screen shows all that came."""
        await self.until(lambda: any(text in line for line in self.lines) and self.terminal.up_to_date)

    async def press(self, *keys: str) -> None:
        """Press keys; words of more than one letter that are no keys are typed letter by letter."""
        await self.pilot.press(*keys)

    def wheel(self, *, up: bool) -> None:
        """Turn the wheel over the terminal by one notch."""
        kind = events.MouseScrollUp if up else events.MouseScrollDown
        x, y = self.terminal.content_region.offset + Offset(3, 3)
        self.app.post_message(kind(None, x, y, 0, 0, 0, False, False, False, screen_x=x, screen_y=y))

    async def run(self, command: str) -> None:
        """Type a command line and send it off."""
        await self.pilot.press(*("space" if char == " " else char for char in command), "enter")


def shown(terminal: Terminal) -> list[str]:
    """The lines of a terminal's picture."""
    return [terminal.render_line(y).text.rstrip() for y in range(terminal.size.height)]


async def until(condition: Callable[[], bool], explain: Callable[[], str] = str) -> None:
    """Let the loop run until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"it never came to be:\n{explain()}"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def opened(shell: HostCommand | Transport, size: tuple[int, int] = (60, 19)) -> AsyncIterator[Driven]:
    """An app of that size whose terminal, three lines less high, runs."""
    app = TerminalApp(shell)
    async with app.run_test(size=size, notifications=True) as pilot:
        driven = Driven(app, pilot)
        await driven.until(lambda: app.terminal.up_to_date and bool(app.terminal.size))
        yield driven


def is_alive(pid: int) -> bool:
    """Whether a process runs; who adopted it may not have taken notice of its end yet."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
