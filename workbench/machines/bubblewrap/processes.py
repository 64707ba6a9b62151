"""Running a program to its end: live output, a bound on memory, and nothing left behind when time is up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import psutil

from workbench.machines.bubblewrap.keyring import forget_keys
from workbench.machines.machine import Finished, OnOutput, Stream
from workbench.niceness import session_is_worth_as_much

_PIECE = 65536
OUTPUT_LIMIT = 32 * 1024 * 1024
"""Bytes kept of each stream: the first and the last half of it."""
_STOPPING = 1.0
"""Seconds to wait for processes to stop; one that waits for a disk takes its time."""
UMASK = 0o022
"""Docker's, whatever the user's own is."""
_WAKING = 0.05
"""Seconds to look after processes that were woken."""
_ENDING = 0.1
"""Seconds in which nsenter ends after its child."""
GRACE = 0.05
"""Seconds that a command's background children may still print after it ended."""


class Kept:
    """The first and the last bytes of a stream."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, piece: bytes) -> None:
        """Take a piece in."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > 2 * self._half:
            self._trim()

    def bytes(self) -> bytes:
        """What was kept, with a line that says how much is missing in the middle, if any is."""
        self._trim()
        gap = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head) + gap + bytes(self._tail)

    def _trim(self) -> None:
        extra = len(self._tail) - self._half
        if extra > 0:
            del self._tail[:extra]
            self._dropped += extra


async def readable(fd: int) -> None:
    """Wait until `fd` can be read, or has ended."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(fd)


async def run(
    argv: Sequence[str],
    *,
    env: dict[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
    timeout: float | None = None,
    on_output: OnOutput | None = None,
    keep_output: bool = True,
    adopt: Callable[[int], None] = os.close,
    started: Callable[[int], None] = lambda pid: None,
) -> Finished:
    """Run a program until it ends.

    It gets a session of its own. When `timeout` strikes, or the caller is cancelled, its session and all its
    descendants are killed. Children that it leaves running are let be.

    Args:
        stdout: A descriptor, or PIPE to collect it.
        adopt: Given each pipe that a child which goes on still holds; closing it would end that child.
        started: Told the process id.

    Raises:
        TimeoutError: it took longer than `timeout`.
        Exception: `on_output` raised it.
    """
    forget_keys()
    process = subprocess.Popen(
        argv,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
        start_new_session=True,
        umask=UMASK,
    )
    session_is_worth_as_much(process.pid)
    started(process.pid)
    loop = asyncio.get_running_loop()
    kept: dict[Stream, Kept] = {"stdout": Kept(), "stderr": Kept()}
    pumps: list[_Pump] = []
    for pipe, stream in _pipes(process):
        keep = kept[stream].add if keep_output else None
        pumps.append(_Pump(os.dup(pipe.fileno()), stream, keep, on_output, adopt))
        pipe.close()
    pidfd = os.pidfd_open(process.pid)
    try:
        async with asyncio.timeout(timeout), asyncio.TaskGroup() as group:
            for pump in pumps:
                group.create_task(pump.run())
            await readable(pidfd)
            for pump in pumps:
                loop.call_later(GRACE, pump.end)
    except BaseException as error:
        await asyncio.shield(_kill(process.pid, pidfd))
        if isinstance(error, BaseExceptionGroup):
            raise error.exceptions[0] from None
        raise
    finally:
        code = process.wait()
        os.close(pidfd)
    return Finished(code if code >= 0 else 128 - code, kept["stdout"].bytes(), kept["stderr"].bytes())


def _pipes(process: subprocess.Popen[bytes]) -> Iterator[tuple[IO[bytes], Stream]]:
    if process.stdout is not None:
        yield process.stdout, "stdout"
    if process.stderr is not None:
        yield process.stderr, "stderr"


class _Pump:
    """Reads a pipe to its end, or until the program ended and only its children hold the pipe."""

    def __init__(
        self,
        fd: int,
        stream: Stream,
        keep: Callable[[bytes], None] | None,
        on_output: OnOutput | None,
        adopt: Callable[[int], None],
    ) -> None:
        self._fd = fd
        self._stream = stream
        self._keep = keep
        self._on_output = on_output
        self._adopt = adopt
        self._ended = False
        self._woken = asyncio.Event()
        os.set_blocking(fd, False)

    def end(self) -> None:
        """The program ended a while ago: take what the pipe holds, and leave."""
        self._ended = True
        self._woken.set()

    async def run(self) -> None:
        try:
            while await self._step():
                pass
        finally:
            os.close(self._fd)

    async def _step(self) -> bool:
        last = self._ended
        try:
            piece = os.read(self._fd, _PIECE)
        except BlockingIOError:
            if not last:
                await self._wait()
                return True
            piece = b""
            self._adopt(os.dup(self._fd))
        else:
            if piece and last:  # a pipe holds no more than a piece, so what follows was printed later
                self._adopt(os.dup(self._fd))
        if piece and self._keep:
            self._keep(piece)
        if piece and self._on_output:
            await self._on_output(piece, self._stream)
        return bool(piece) and not last

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._fd, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            loop.remove_reader(self._fd)
            self._woken.clear()


async def _kill(pid: int, pidfd: int) -> None:
    """End the session and all descendants of a program, and wait for it.

    The program is nsenter, most often, which ends when its child does. It is killed only where it does not:
    its child's remains would be left to the host's init, and until that takes them, if it ever does, the
    machine's first process cannot end (pid_namespaces(7)).
    """
    while True:
        await asyncio.to_thread(_kill_others, pid)
        try:
            async with asyncio.timeout(_ENDING):
                return await readable(pidfd)
        except TimeoutError:
            if not await asyncio.to_thread(_session, pid):
                signal_all([pid], signal.SIGKILL)


def _kill_others(root: int) -> None:
    """Kill what runs in the session of `root` or descends from it, but not `root`."""
    deadline = time.monotonic() + _STOPPING
    while (members := _session(root)) and time.monotonic() < deadline:
        entered = {pid for pid in members if _parent(pid) == root}
        stopped = Stopped()
        while fresh := {pid for pid in _session(root) if pid not in stopped and pid not in entered}:
            stopped.stop(fresh)
        signal_all(stopped.pids | entered, signal.SIGKILL)


def _session(root: int) -> set[int]:
    """All that live, but `root` itself."""
    found = set()
    with contextlib.suppress(psutil.NoSuchProcess):
        found = {child.pid for child in psutil.Process(root).children(recursive=True)}
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == root:
                found.add(pid)
    return {pid for pid in found - {root} if _state(pid) not in "ZX"}


class Stopped:
    """Processes that were stopped, so that they change nothing and start none.

    Never the child of an nsenter: nsenter answers its child's stop by stopping itself, whenever it gets to
    it, and no one would wake it if this process were killed. Those children are shells of ours that wait.
    """

    def __init__(self) -> None:
        self.pids: set[int] = set()

    def __contains__(self, pid: int) -> bool:
        return pid in self.pids

    def stop(self, pids: set[int]) -> None:
        """Stop these, and return when they are. Blocks."""
        signal_all(pids, signal.SIGSTOP)
        _wait_until(lambda: all(_state(pid) in "TtZX" for pid in pids), _STOPPING)
        self.pids |= pids

    def wake(self) -> None:
        """Let all go on, also those that answer a child's stop by one of their own, as su does. Blocks."""
        signal_all(self.pids, signal.SIGCONT)
        _wait_until(self._awake, _WAKING)

    def _awake(self) -> bool:
        asleep = [pid for pid in self.pids if _state(pid) == "T"]
        signal_all(asleep, signal.SIGCONT)
        return not asleep


def _wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.0005)


def _state(pid: int) -> str:
    """The letter that ps shows, `X` for a process that is gone."""
    return _status(pid)[0]


def _parent(pid: int) -> int:
    return int(_status(pid)[1])


def _status(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "0"]


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def discard(fd: int) -> bool:
    """Read and forget what a pipe holds; whether more may come."""
    with contextlib.suppress(BlockingIOError):
        return bool(os.read(fd, _PIECE))
    return True
