"""How the shell pane looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from tests.ui.terminal.driving import shown, until
from workbench.ui.terminal.pane import ShellPane
from workbench.ui.terminal.transport import Exit

type Compare = Callable[..., bool]

TEST_RUN = (
    "\x1b[?2004h\x1b[1;32mroot@slugify\x1b[0m:\x1b[1;34m/app\x1b[0m# pytest -q tests\r\n"
    "\x1b[32m.\x1b[0m\x1b[31mF\x1b[0m\x1b[32m...\x1b[0m\r\n"
    "E   AssertionError: \x1b[1m'crème-brûlée'\x1b[0m != \x1b[4m'creme-brulee'\x1b[0m\r\n"
    "\x1b[38;2;255;176;0m日本語 👨‍👩‍👧 24-bit\x1b[0m \x1b[7mreverse\x1b[0m \x1b[3mitalic\x1b[0m\x1b[0m "
    + "".join(f"\x1b[48;5;{n}m  " for n in range(196, 208))
    + "\x1b[0m\r\n\x1b[31m1 failed\x1b[0m, \x1b[32m4 passed\x1b[0m in 0.12s\r\n"
    "\x1b[1;32mroot@slugify\x1b[0m:\x1b[1;34m/app\x1b[0m# cat /logs/verifier/reward.txt\r\n0.0\r\n"
    "\x1b[1;32mroot@slugify\x1b[0m:\x1b[1;34m/app\x1b[0m# "
)


class Written:
    """A program that has written something, and then ended or not."""

    def __init__(self, text: str, exit_: Exit | None = None) -> None:
        self._text = text
        self._exit = exit_

    async def start(
        self, columns: int, rows: int, receive: Callable[[bytes], None], ended: Callable[[Exit], None]
    ) -> None:
        receive(self._text.encode())
        if self._exit:
            ended(self._exit)

    def write(self, data: bytes) -> None:
        pass

    def resize(self, columns: int, rows: int) -> None:
        pass

    async def close(self) -> None:
        pass


class PaneApp(App[None]):
    """A pane under a line."""

    def compose(self) -> ComposeResult:
        """Both."""
        yield Static("slugify · what else is on the screen")
        yield ShellPane(way_in="4 or a click")


async def a_shell(pane: ShellPane, pilot: Pilot[None]) -> None:
    await opened(pane, "what oracle left", Written(TEST_RUN))


async def a_shell_out_of_focus(pane: ShellPane, pilot: Pilot[None]) -> None:
    await opened(pane, "what oracle left", Written(TEST_RUN))
    await pilot.press("ctrl+right_square_bracket")


async def a_search(pane: ShellPane, pilot: Pilot[None]) -> None:
    await opened(pane, "what oracle left", Written("".join(f"line {n}\r\n" for n in range(90))))
    await pilot.press("f4", *"line", "space", "7")
    await pilot.press("enter")


async def two_shells_one_ended(pane: ShellPane, pilot: Pilot[None]) -> None:
    await opened(pane, "the image", Written("$ "))
    await opened(pane, "what oracle left", Written("$ exit 7\r\nexit\r\n", Exit(7)))


async def a_machine_that_died(pane: ShellPane, pilot: Pilot[None]) -> None:
    shell = await opened(pane, "what hard-coded left", Written(TEST_RUN))
    pane.lose(shell, "the VMM was killed for memory")


async def nothing_yet(pane: ShellPane, pilot: Pilot[None]) -> None:
    pane.say("A machine boots from python:3.12-slim; a shell stands ready here in a moment.")


async def opened(pane: ShellPane, title: str, program: Written) -> str:
    """Open a shell and wait until it shows what its program wrote; its key."""
    shell = await pane.open(title, title, program, focus=True)
    terminal = shell.terminal
    assert terminal is not None
    await until(lambda: any(shown(terminal)) and terminal.up_to_date)
    return shell.key


STATES = [a_shell, a_shell_out_of_focus, a_search, two_shells_one_ended, a_machine_that_died, nothing_yet]


@pytest.mark.parametrize("size", [(100, 18), (60, 12)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_the_shell_pane(
    snap_compare: Compare, state: Callable[[ShellPane, Pilot[None]], Awaitable[None]], size: tuple[int, int]
) -> None:
    app = PaneApp()

    async def prepare(pilot: Pilot[None]) -> None:
        await state(app.query_one(ShellPane), pilot)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
