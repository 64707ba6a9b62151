"""A program of the host in a pty."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
import pytest

from tests.ui.terminal.driving import BASH, is_alive, program, until
from workbench.machines.machine import HostCommand
from workbench.ui.terminal.pty import HostPty
from workbench.ui.terminal.transport import Exit, TransportError


@dataclass
class Running:
    """A program that runs, and what came of it."""

    pty: HostPty
    output: bytearray = field(default_factory=bytearray)
    exits: list[Exit] = field(default_factory=list)

    async def see(self, text: bytes) -> None:
        """Wait until it has written `text`."""
        await until(lambda: text in self.output, lambda: repr(bytes(self.output)))

    async def end(self) -> tuple[bytes, Exit]:
        """Wait until it has ended; what it wrote, and how it ended."""
        await until(lambda: bool(self.exits), lambda: repr(bytes(self.output)))
        return bytes(self.output), self.exits[0]


async def start(command: HostCommand, columns: int = 80, rows: int = 24) -> Running:
    running = Running(HostPty(command))
    await running.pty.start(columns, rows, running.output.extend, running.exits.append)
    return running


def sh(text: str, *, relays: bool = False) -> HostCommand:
    return program("bash", "-c", text, relays=relays)


async def test_a_program_has_a_terminal_of_the_size_asked_for_from_the_start() -> None:
    output, exit_ = await (await start(sh("stty size; echo $TERM $COLORTERM"), 132, 43)).end()
    assert output == b"43 132\r\nxterm-256color truecolor\r\n"
    assert exit_ == Exit(0)


async def test_a_program_leads_a_session_whose_terminal_is_its_own() -> None:
    running = await start(sh("ps -o pid=,sid=,tpgid= -p $$; [ -t 0 -a -t 1 -a -t 2 ] && echo tty"))
    output, _ = await running.end()
    pid, session, foreground = map(int, output.splitlines()[0].split())
    assert pid == session == foreground
    assert output.splitlines()[1] == b"tty"


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -HUP $$", 129)])
async def test_the_exit_code_comes_back(command: str, code: int) -> None:
    assert (await (await start(sh(command))).end())[1].code == code


async def test_all_output_comes_before_the_end() -> None:
    output, _ = await (await start(sh("seq 20000; exit 3"))).end()
    assert output.splitlines()[-1] == b"20000"
    assert len(output.splitlines()) == 20000


async def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(TransportError, match="no-such-program cannot be started: there is no such program"):
        await start(program("no-such-program"))


async def test_the_end_is_told_though_something_left_running_has_the_terminal_open() -> None:
    running = await start(sh("trap '' HUP; sleep 1000 & echo $!; exit 4"))
    output, exit_ = await running.end()
    assert exit_.code == 4
    await running.pty.close()
    await until(lambda: not is_alive(int(output)))


async def test_a_new_size_reaches_the_program() -> None:
    running = await start(sh("trap 'stty size; exit' WINCH; echo ready; while :; do read -t 1; done"))
    await running.see(b"ready")
    running.pty.resize(100, 30)
    assert (await running.end())[0].endswith(b"30 100\r\n")


async def test_notes_of_a_command_that_relays_stay_off_the_screen_and_are_told_at_its_end() -> None:
    output, exit_ = await (await start(sh("echo note >&2; echo shown", relays=True))).end()
    assert output == b"shown\r\n"
    assert exit_ == Exit(0, "note")


async def test_errors_of_a_local_shell_are_on_the_screen() -> None:
    output, exit_ = await (await start(sh("echo oops >&2"))).end()
    assert (output, exit_.notes) == (b"oops\r\n", "")


@pytest.mark.parametrize(("size", "relays"), [(200_000, False), (5_000, True)])
async def test_nothing_of_a_long_paste_is_lost(size: int, relays: bool) -> None:
    pasted = os.urandom(size // 2).hex().encode()
    running = await start(sh(f"stty raw -echo; echo ready; head -c {size} | md5sum", relays=relays))
    await running.see(b"ready")
    running.pty.write(pasted)
    assert hashlib.md5(pasted).hexdigest().encode() in (await running.end())[0]


async def test_a_relay_gets_input_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    running = await start(sh("stty raw -echo; echo ready; head -c 1600 | wc -c", relays=True))
    await running.see(b"ready")
    sizes = []

    def write(fd: int, data: bytes, really: Callable[[int, bytes], int] = os.write) -> int:
        sizes.append(len(data))
        return really(fd, data)

    monkeypatch.setattr(os, "write", write)
    running.pty.write(b"x" * 1600)
    assert (await running.end())[0].split() == [b"ready", b"1600"]
    assert [size for size in sizes if size > 1] == [512, 512, 512, 64]


async def test_input_for_a_program_that_does_not_read_is_bounded() -> None:
    running = await start(sh("stty raw -echo; echo ready; sleep 1000"))
    await running.see(b"ready")
    for _ in range(100):
        running.pty.write(b"x" * 1_000_000)
    await running.pty.close()
    running.pty.write(b"late")
    running.pty.resize(10, 10)


async def test_hanging_up_ends_the_whole_session_and_leaves_no_zombie() -> None:
    running = await start(BASH)
    running.pty.write(b"nohup sleep 1001 >/dev/null 2>&1 & sleep 1002 & sleep 1003 | sleep 1004\r")
    process = running.pty.process_id
    assert process is not None

    def names() -> list[str]:
        return sorted(" ".join(child.cmdline()) for child in psutil.Process(process).children(recursive=True))

    await until(lambda: names() == [f"sleep {n}" for n in (1001, 1002, 1003, 1004)])
    children = psutil.Process(process).children(recursive=True)
    await running.pty.close()
    await until(lambda: not any(is_alive(child.pid) for child in children))
    assert not psutil.pid_exists(process)
    assert running.exits == []


async def test_a_program_that_ignores_the_hangup_is_killed() -> None:
    running = Running(HostPty(sh("trap '' HUP TERM INT; echo ready; while :; do sleep 1; done"), grace=0.05))
    await running.pty.start(80, 24, running.output.extend, running.exits.append)
    await running.see(b"ready")
    process = running.pty.process_id
    await running.pty.close()
    await running.pty.close()
    assert process is not None
    assert not psutil.pid_exists(process)


async def test_closing_before_the_start_does_nothing() -> None:
    await HostPty(BASH).close()


async def test_a_program_that_is_hung_up_on_while_it_starts_ends() -> None:
    pty = HostPty(BASH)
    exits: list[Exit] = []
    starting = asyncio.create_task(pty.start(80, 24, bytearray().extend, exits.append))
    await asyncio.sleep(0)
    await pty.close()
    await starting
    assert pty.process_id is not None
    assert not psutil.pid_exists(pty.process_id)
    assert exits == []


async def test_a_start_that_is_cancelled_leaves_no_file_open() -> None:
    await HostPty(BASH).close()
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        exits: list[Exit] = []
        starting = asyncio.create_task(HostPty(BASH).start(80, 24, bytearray().extend, exits.append))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert len(os.listdir("/dev/fd")) == before


async def test_the_loop_has_its_turn_while_a_program_floods() -> None:
    running = await start(sh("yes | head -c 5000000"))
    turns = 0
    while not running.exits:
        await asyncio.sleep(0)
        turns += 1
    assert len(running.output) > 5_000_000
    assert turns > 100
