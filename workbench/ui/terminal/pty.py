"""A program of the host in a pty."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import shutil
import signal
import struct
import termios
import time
from collections.abc import Callable

import psutil

from workbench.machines.machine import HostCommand
from workbench.ui.terminal.transport import Exit, TransportError

_log = logging.getLogger(__name__)

_READ_SECONDS = 0.004
"""After so long a read hands the loop back, so that keys and frames have their turn."""
_READ_BYTES = 65_536
_PENDING_LIMIT = 4 * 1024 * 1024
"""Bytes of input kept for a program that does not read; more is dropped, as by any terminal."""
_NOTES_BYTES = 8192
_FULL_SECONDS = 0.02
"""When to try again with a program that does not read."""
_DRAIN_SECONDS = 0.2
"""How long the last output is waited for when the program has ended but its terminal is still open."""
_POLL_SECONDS = 0.02
_TAKE_TERMINAL = 'terminal=$1; shift; exec "$@" <>"$terminal" >&0'
_TAKE_TERMINAL_WHOLE = _TAKE_TERMINAL + " 2>&0"
"""Makes the terminal the controlling one: the leader of a session without one gets it by opening it. To
have `subprocess` do that between fork and exec would copy the whole process first, 70 ms of the loop."""


class HostPty:
    """A `Transport` for a `HostCommand`.

    The program leads a session of its own with the pty as its controlling terminal, so Ctrl-C and a
    change of size reach what runs in the foreground, and hanging up finds all that it started.
    """

    def __init__(
        self, command: HostCommand, *, piece: int = 512, gap: float | None = None, grace: float = 1.0
    ) -> None:
        """
        Args:
            piece: Most bytes of input sent at once.
            gap: Seconds between pieces. 0.01 where the command relays: a relay may drop what its far
                end has no room for, as smolmachines' guest agent does.
            grace: Seconds that a program has to end when it is hung up on, before it is killed.
        """
        self._command = command
        self._piece = piece
        self._gap = gap if gap is not None else 0.01 * command.relays
        self._grace = grace
        self._process: asyncio.subprocess.Process | None = None
        self._master = -1
        """-1 before the start and after the end."""
        self._over = False
        self._pending = bytearray()
        self._drained = asyncio.Event()
        self._notes = bytearray()
        self._watch: asyncio.Task[None] | None = None
        self._hung_up = False

    @property
    def process_id(self) -> int | None:
        """The program's, which is its session's too; None before the start."""
        return self._process.pid if self._process else None

    async def start(
        self,
        columns: int,
        rows: int,
        receive: Callable[[bytes], None],
        ended: Callable[[Exit], None],
    ) -> None:
        self._receive, self._ended = receive, ended
        program = self._command.argv[0]
        if shutil.which(program, path=self._command.env.get("PATH")) is None:
            raise TransportError(f"{program} cannot be started: there is no such program")
        self._master, self._slave = os.openpty()
        self._notes_fd, notes = os.pipe()
        _set_size(self._slave, columns, rows)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", _TAKE_TERMINAL if self._command.relays else _TAKE_TERMINAL_WHOLE),
                *("sh", os.ttyname(self._slave), *self._command.argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=notes,
                env={**self._command.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
                start_new_session=True,
            )
        except BaseException as error:
            for fd in (self._master, self._slave, self._notes_fd):
                os.close(fd)
            self._master = -1
            if isinstance(error, OSError):
                raise TransportError(f"{program} cannot be started: {error.strerror}") from error
            raise
        finally:
            os.close(notes)
        loop = asyncio.get_running_loop()
        for fd, reader in ((self._master, self._read), (self._notes_fd, self._read_notes)):
            os.set_blocking(fd, False)
            loop.add_reader(fd, reader)
        self._watch = loop.create_task(self._wait(self._process))
        self._send()  # what was typed ahead
        if self._hung_up:  # while it was being started
            await self.close()

    def write(self, data: bytes) -> None:
        if self._over or len(self._pending) + len(data) > _PENDING_LIMIT:
            return
        idle = not self._pending
        self._pending += data
        if idle and data:
            self._send()

    def resize(self, columns: int, rows: int) -> None:
        if self._master >= 0:
            _set_size(self._master, columns, rows)

    async def close(self) -> None:
        self._hung_up = True
        if self._process is None or self._watch is None or self._watch.done():
            return
        await _end_session(self._process.pid, self._grace)
        await self._watch

    def _read(self) -> None:
        deadline = time.monotonic() + _READ_SECONDS
        while self._read_once() and time.monotonic() < deadline:
            pass

    def _read_once(self) -> bool:
        """Take what is there, at most `_READ_BYTES`; whether there may be more."""
        try:
            data = os.read(self._master, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:  # EIO: no program has the terminal open any more
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
            self._drained.set()
            return False
        self._receive(data)
        return True

    def _read_notes(self) -> None:
        try:
            data = os.read(self._notes_fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._notes_fd)
        for line in data.decode("utf-8", "replace").splitlines():
            _log.info("%s: %s", self._command.argv[0], line)
        self._notes = (self._notes + data)[-_NOTES_BYTES:]

    def _send(self) -> None:
        if self._master < 0 or not self._pending:
            return
        try:
            sent = os.write(self._master, self._pending[: self._piece])
        except BlockingIOError:
            sent = 0
        except OSError:  # the program is gone, which `_wait` tells
            self._pending.clear()
            return
        del self._pending[:sent]
        if self._pending:
            asyncio.get_running_loop().call_later(self._gap if sent else _FULL_SECONDS, self._send)

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        os.close(self._slave)  # held until now, for a terminal that nobody has open yet reads as ended
        with contextlib.suppress(TimeoutError):  # something left running may keep the terminal open
            await asyncio.wait_for(self._drained.wait(), _DRAIN_SECONDS)
        self._read_notes()
        loop = asyncio.get_running_loop()
        for fd in (self._master, self._notes_fd):
            loop.remove_reader(fd)
            os.close(fd)
        self._master, self._over = -1, True
        if not self._hung_up:
            notes = self._notes.decode("utf-8", "replace").strip()
            self._ended(Exit(code if code >= 0 else 128 - code, notes))
        await _end_session(process.pid, self._grace)


def _set_size(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


async def _end_session(leader: int, grace: float) -> None:
    """Hang up on every process of a session, and kill those that are there after `grace` seconds."""
    deadline = time.monotonic() + grace
    _signal(_session(leader), signal.SIGHUP, signal.SIGCONT)
    while (members := _session(leader)) and time.monotonic() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
    _signal(members, signal.SIGKILL)


def _session(leader: int) -> list[int]:
    members = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader:
                members.append(pid)
    return members


def _signal(pids: list[int], *signals: signal.Signals) -> None:
    for pid in pids:
        for number in signals:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
