"""The shell of a microVM in a pty, as the shell pane runs it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from workbench.machines.machine import HostCommand
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.session import SmolSession
from workbench.ui.terminal.pty import HostPty
from workbench.ui.terminal.transport import Exit


class Shell:
    """What a shell prints, and how it ends."""

    def __init__(self) -> None:
        self._printed = ""
        self._more = asyncio.Event()
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @classmethod
    @asynccontextmanager
    async def on(cls, command: HostCommand) -> AsyncIterator[tuple[Shell, HostPty]]:
        shell, pty = cls(), HostPty(command)
        await pty.start(80, 24, shell.receive, shell.ended.set_result)
        try:
            yield shell, pty
        finally:
            await pty.close()

    def receive(self, data: bytes) -> None:
        self._printed += data.decode(errors="replace")
        self._more.set()

    async def until(self, pattern: str) -> str:
        """All that was printed up to and with `pattern`, which is then forgotten."""
        while not (found := re.search(pattern, self._printed)):
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), 60)
            except TimeoutError:
                pytest.fail(f"{pattern!r} never came, only {self._printed[-2000:]!r}")
        seen, self._printed = self._printed[: found.end()], self._printed[found.end() :]
        return seen


async def test_a_shell_has_a_prompt_takes_keys_follows_the_window_and_ends_with_its_code(
    machine: SmolMachine,
) -> None:
    async with Shell.on(machine.shell(env={"GREETING": "good day"})) as (shell, pty):
        await shell.until(r"# ")
        pty.write(b'echo "$GREETING, $TERM, $COLORTERM"\r')
        assert "good day, xterm-256color, truecolor\r\n" in await shell.until(r"truecolor\r\n")
        pty.write(b"stty size\r")
        await shell.until(r"24 80\r\n")
        pty.write(b"trap 'echo resized to $(stty size)' WINCH; echo tra''pped\r")
        await shell.until(r"trapped\r\n")
        pty.resize(133, 44)
        await shell.until(r"resized to 44 133\r\n")

        # What prints this is what is interrupted: the shell itself may lose Ctrl-C while it starts a command.
        pty.write(b"sh -c 'echo sleep\"\"s; exec sleep 600'\r")
        await shell.until(r"sleeps\r\n")
        pty.write(b"\x03")
        await shell.until(r"# ")
        pty.write(b"echo inter''rupted $?\r")
        await shell.until(r"interrupted 130\r\n")

        pty.write(b"seq 500 > /tmp/numbers; vi /tmp/numbers\r")
        first = await shell.until(r"\x1b\[\?1049h[\s\S]*?43\r?\n?")
        assert "\x1b[?1049h" in first
        pty.write(b":q\r")
        await shell.until(r"\x1b\[\?1049l")

        paste = "x" * 3000
        pty.write(f"wc -c <<'END'\r{paste}\rEND\r".encode())
        await shell.until(r"3001\r\n")
        pty.write(b"exit 7\r")
        ended = await asyncio.wait_for(shell.ended, 30)
    assert ended.code == 7


async def test_a_shell_of_another_user_can_be_interrupted_too(machine: SmolMachine) -> None:
    async with Shell.on(machine.shell(user="nobody")) as (shell, pty):
        await shell.until(r"\$ ")
        pty.write(b"sh -c 'id -un; tty; exec sleep 600'\r")
        await shell.until(r"nobody\r\n/dev/pts/\d+\r\n")
        pty.write(b"\x03")
        await shell.until(r"\$ ")
        pty.write(b"exit 9\r")
        assert (await asyncio.wait_for(shell.ended, 30)).code == 9


async def test_a_shell_whose_machine_dies_ends_and_says_so(session: SmolSession, image_key: str) -> None:
    doomed = await session.states.branch(image_key, "doomed")
    assert isinstance(doomed, SmolMachine)
    async with Shell.on(doomed.shell()) as (shell, _):
        await shell.until(r"# ")
        assert doomed.alive
        assert doomed.vm.process is not None
        doomed.vm.process.kill()
        await asyncio.to_thread(doomed.vm.process.wait, 30)
        ended = await asyncio.wait_for(shell.ended, 30)
    assert ended.code != 0
    assert "connection" in ended.notes.lower()
    assert not doomed.alive
    await doomed.delete()
