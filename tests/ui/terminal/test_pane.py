"""The shell pane: tabs, what became of shells, search, and where there is no emulator."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

import psutil
import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Button

from tests.ui.driving import screen_text
from tests.ui.terminal.driving import BASH, is_alive, program, shown, until
from workbench.machines.machine import HostCommand
from workbench.ui.terminal import emulator, pane
from workbench.ui.terminal.fallback import command_line
from workbench.ui.terminal.pane import ShellPane
from workbench.ui.terminal.terminal import Terminal


class PaneApp(App[None]):
    """A pane beside a button."""

    BINDINGS = [Binding("q", "note('q')", "Quit")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def compose(self) -> ComposeResult:
        """Both."""
        yield Button("elsewhere")
        yield ShellPane(way_in="4 or a click")

    def action_note(self, what: str) -> None:
        """Note that a binding of the app was used."""
        self.seen.append(what)

    def on_shell_pane_another_wanted(self, event: ShellPane.AnotherWanted) -> None:
        """Note it."""
        self.seen.append(f"another {event.key}")

    def on_shell_pane_ended(self, event: ShellPane.Ended) -> None:
        """Note it."""
        self.seen.append(f"ended {event.key}")

    def on_shell_pane_closed(self, event: ShellPane.Closed) -> None:
        """Note it."""
        self.seen.append(f"closed {event.key}")

    def on_shell_pane_left(self) -> None:
        """Note it."""
        self.seen.append("left")


@dataclass
class Driven:
    """An app with a pane."""

    app: PaneApp
    pilot: Pilot[None]

    @property
    def pane(self) -> ShellPane:
        """The pane."""
        return self.app.query_one(ShellPane)

    async def open(self, key: str, title: str, shell: HostCommand = BASH) -> Terminal:
        """Open a shell and wait for its prompt."""
        terminal = (await self.pane.open(key, title, shell, focus=True)).terminal
        assert terminal is not None
        if shell is BASH:
            await until(lambda: "$" in shown(terminal))
        return terminal

    async def see(self, *texts: str) -> None:
        """Wait until all are on the screen."""
        await until(
            lambda: all(text in screen_text(self.app) for text in texts), lambda: screen_text(self.app)
        )


@asynccontextmanager
async def opened(size: tuple[int, int] = (100, 24)) -> AsyncIterator[Driven]:
    app = PaneApp()
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Driven(app, pilot)


def test_the_emulator_is_not_loaded_before_a_shell_is_opened() -> None:
    code = "import sys, workbench.ui.terminal.pane; sys.exit('pyghostty' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_an_empty_pane_says_what_it_is_told_to() -> None:
    async with opened() as driven:
        driven.pane.say("A machine boots from python:3.12-slim …")
        await driven.see("A machine boots from python:3.12-slim …")
        assert driven.pane.active is None


async def test_a_shell_is_named_by_what_it_stands_on_and_by_what_runs_in_it() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "what [b]oracle[/b] left")
        await driven.see("Shell · what [b]oracle[/b] left", "^] leaves")
        terminal.write("printf '\\e]0;make [red]test[/red]\\a'\r")
        await driven.see("Shell · what [b]oracle[/b] left · make [red]test[/red]")


async def test_the_border_says_how_to_get_in_and_out() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "the image")
        await driven.see("^] leaves · F-keys stay the workbench's")
        await driven.pilot.press("ctrl+right_square_bracket")
        await driven.see("4 or a click to type")
        await until(lambda: driven.app.seen == ["left"])
        assert driven.app.focused is None
        driven.pane.enter()
        await until(lambda: terminal.has_focus)


async def test_several_shells_are_tabs_and_each_goes_on() -> None:
    async with opened() as driven:
        one = await driven.open("m1", "the image")
        assert "the image" not in screen_text(driven.app).splitlines()[4]
        two = await driven.open("m2", "what oracle left")
        await driven.see("the image", "Shell · what oracle left")
        assert [shell.title for shell in driven.pane.shells] == ["the image", "what oracle left"]
        await driven.pilot.press("f6")
        await driven.see("Shell · the image")
        await until(lambda: one.has_focus)
        two.write("echo $((40+2))\r")
        await until(lambda: "42" in two.text().splitlines())
        await driven.pilot.press("f6")
        await until(lambda: "42" in shown(two))


async def test_a_shell_that_ended_says_so_and_offers_another() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "the image")
        terminal.write("exit 7\r")
        await driven.see("✗ The shell ended with exit code 7.", "enter opens another")
        await until(lambda: driven.app.seen == ["ended m1"])
        await driven.pilot.press("q", "enter")
        await until(lambda: driven.app.seen == ["ended m1", "another m1"])


async def test_what_its_command_had_to_say_is_told_at_the_end() -> None:
    async with opened() as driven:
        relay = program("sh", "-c", "echo 'machine m1 is [b]not[/b] running' >&2; exit 1", relays=True)
        await driven.open("m1", "the image", relay)
        await driven.see("machine m1 is [b]not[/b] running", "exit code 1")


async def test_a_command_that_does_not_exist_is_told() -> None:
    async with opened() as driven:
        await driven.open("m1", "the image", program("no-such-vmm"))
        await driven.see("exit code 126", "no-such-vmm cannot be started: there is no such program")


async def test_a_shell_whose_machine_died_says_so_and_ends() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "the image")
        process = terminal._transport.process_id  # type: ignore[attr-defined]
        driven.pane.lose("m1", "the VMM was killed for memory")
        driven.pane.lose("m9", "nobody knows it")
        await driven.see("✗ The machine of this shell is gone: the VMM was killed for memory.")
        await until(lambda: not is_alive(process))
        await driven.pilot.press("enter")
        await until(lambda: driven.app.seen == ["another m1"])


async def test_a_shell_opened_under_the_same_key_takes_the_place_of_the_old_one() -> None:
    async with opened() as driven:
        old = await driven.open("m1", "the image")
        process = old._transport.process_id  # type: ignore[attr-defined]
        await driven.open("m1", "the image, built again")
        assert [shell.title for shell in driven.pane.shells] == ["the image, built again"]
        await until(lambda: not is_alive(process))


async def test_closing_ends_the_shell_and_goes_to_the_next_or_out() -> None:
    async with opened() as driven:
        await driven.open("m1", "the image")
        await driven.open("m2", "what oracle left")
        await driven.pilot.press("shift+f8")
        await driven.see("Shell · the image")
        await until(lambda: driven.app.seen == ["closed m2"])
        await driven.pilot.press("shift+f8")
        await until(lambda: driven.app.seen == ["closed m2", "closed m1", "left"])
        assert driven.pane.shells == []
        await driven.see("No shell is open.")


async def test_the_pane_can_close_a_shell_without_a_word() -> None:
    async with opened() as driven:
        await driven.open("m1", "the image")
        await driven.pane.close("m1")
        await driven.pane.close("m9")
        assert driven.pane.shells == []
        assert driven.app.seen == []


async def test_shells_closed_as_soon_as_they_are_opened_leave_no_process_behind() -> None:
    before = set(psutil.Process().children(recursive=True))
    async with opened() as driven:
        for _ in range(10):
            await driven.pane.open("m1", "the image", BASH)
            await driven.pane.close("m1")
        await until(lambda: set(psutil.Process().children(recursive=True)) <= before)


async def test_one_key_asks_for_another_on_the_same_state() -> None:
    async with opened() as driven:
        await driven.open("m1", "the image")
        await driven.pilot.press("f8")
        await until(lambda: driven.app.seen == ["another m1"])


async def test_a_search_goes_through_all_that_was_shown_and_ends_at_the_prompt() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "the image")
        terminal.write("seq 200\r")
        await until(lambda: "200" in shown(terminal))
        await driven.pilot.press("f4", "4", "2")
        await driven.see("1 of 2", "142")
        await driven.pilot.press("enter")
        await driven.see("2 of 2", "│42 ", "escape ends the search")
        await driven.pilot.press("down")
        await driven.see("1 of 2")
        await driven.pilot.press("escape")
        await until(lambda: terminal.has_focus and shown(terminal)[-1] == "$")
        assert not driven.pane.shells[0].has_class("-searching")


async def test_the_border_counts_the_lines_below() -> None:
    async with opened() as driven:
        terminal = await driven.open("m1", "the image")
        terminal.write("seq 200\r")
        await until(lambda: "200" in shown(terminal))
        await driven.pilot.press("shift+pageup")
        await driven.see(f"{terminal.size.height - 1} newer lines below")


@pytest.fixture
def no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where pyghostty has no wheel."""

    def missing() -> emulator.EmulatorFactory:
        raise emulator.EmulatorMissingError("no terminal emulator for this platform")

    monkeypatch.setattr(pane, "load_emulator", missing)


@pytest.mark.usefixtures("no_emulator")
async def test_without_an_emulator_the_users_own_terminal_is_offered() -> None:
    async with opened() as driven:
        shell = await driven.pane.open("m1", "the image", program("bash", "-l"), focus=True)
        assert shell.terminal is None
        await driven.see("no terminal emulator for this platform", "⏎ opens it over the whole screen")
        await driven.pilot.press("c")
        assert driven.app.clipboard == command_line(program("bash", "-l"))
        await driven.pilot.press("enter")
        await driven.see("This terminal cannot be lent out.")


@pytest.mark.usefixtures("no_emulator")
async def test_a_shell_in_the_users_own_terminal_ends_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PaneApp, "suspend", lambda app: nullcontext())
    async with opened() as driven:
        await driven.pane.open("m1", "the image", program("sh", "-c", "exit 3"), focus=True)
        await driven.pilot.press("enter")
        await driven.see("✗ The shell ended with exit code 3.")
        await until(lambda: driven.app.seen == ["ended m1"])


def test_the_command_to_paste_runs_the_same_program_in_the_same_environment() -> None:
    command = HostCommand(
        ("sh", "-c", 'printf "%s|" "$GREETING" "$0"', "a b"), {**os.environ, "GREETING": "it's"}
    )
    done = subprocess.run(command_line(command), shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "it's|a b|"
    assert command_line(HostCommand(("bash",), dict(os.environ))) == shlex.join(["bash"])
