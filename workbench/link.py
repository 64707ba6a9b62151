"""The face's end of the stream: an engine as a child process, wishes in, events out.

The engine runs in a session of its own, so a Ctrl-C meant for the face does not reach it. If the face
dies, the engine sees its standard input close; if the engine dies, the face sees its output end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import msgspec

from workbench import events as ev
from workbench import places, wishes

LINE_LIMIT = 64 << 20
"""Bytes of the longest line that is read; a longer one is dropped, with a notice."""
HELD_LIMIT = 1 << 20
"""Bytes read ahead of the face; beyond them the engine has to wait."""
STOP_GRACE = 15.0
"""Seconds an engine may take to delete its machines before it is killed."""
LOGS_KEPT = 50
_DRAIN = 0.5
_LAST_LINES = 12
_TAIL_BYTES = 16_384


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to start an engine."""

    provider: str = ""
    """`smol`, `bubblewrap` or `harbor:TYPE`; empty for the engine's own choice."""
    concurrency: int | None = None
    """Runs side by side; None for the engine's own number."""
    threshold: float | None = None
    """The reward from which a run passes; None for the engine's own, 1.0."""
    confirm: str = ""
    """`idle`, `always` or `never`: when whole trials confirm re-verifications; empty for the engine's own."""
    idle: float | None = None
    """Seconds without a save after which saves have settled; None for the engine's own."""
    on_change: str = ""
    """`kill` or `wait`: what a save does to the runs that it makes stale; empty for the engine's own."""
    grace: float | None = None
    """Seconds that a stale run may still go on; None for the engine's own."""
    trace: str = ""
    """`none`, `negatives` or `all`: whose scripts' commands are told apart; empty for the engine's own."""
    builder: str = ""
    """What builds Dockerfiles; empty for the first that works."""
    builder_image: str = ""
    """An image with buildah, for microVMs to build in; empty for none."""
    keep_states: int | None = None
    """How many states are kept that agents left; None for the engine's own number."""
    keep_memory: int | None = None
    """MiB of the host's memory that they may take together; None for the engine's own number."""
    gives_way: bool = False
    """Whether all else on the host goes before it, the screen that shows it above all."""
    state_dir: Path = msgspec.field(default_factory=places.state_dir)
    program: tuple[str, ...] = (sys.executable, "-P", "-m", "workbench.engine")
    """`-P` keeps Python files in the current directory from standing in for modules."""

    def showing(self, directory: Path) -> Self:
        """How to start what shows trials that were made elsewhere, in an engine's place."""
        program = (sys.executable, "-P", "-m", "workbench.engine.elsewhere", str(directory))
        return msgspec.structs.replace(self, program=program)

    @property
    def argv(self) -> tuple[str, ...]:
        """The engine's command line."""
        flags = {
            "--provider": self.provider or None,
            "-n": self.concurrency,
            "--threshold": self.threshold,
            "--confirm": self.confirm or None,
            "--idle": self.idle,
            "--on-change": self.on_change or None,
            "--grace": self.grace,
            "--trace": self.trace or None,
            "--builder": self.builder or None,
            "--builder-image": self.builder_image or None,
            "--keep-states": self.keep_states,
            "--keep-memory": self.keep_memory,
            "--state-dir": self.state_dir,
        }
        given = ((flag, str(value)) for flag, value in flags.items() if value is not None)
        words = [word for pair in given for word in pair]
        return (*self.program, *words, *(["--give-way"] if self.gives_way else []))

    def behind_a_screen(self) -> Self:
        """How to start it for a screen, on which no key must wait for a trial."""
        return msgspec.structs.replace(self, gives_way=True)


class Death(msgspec.Struct, frozen=True):
    """How an engine ended that did not say `engine-stopped`."""

    returncode: int
    """As `subprocess` gives it: negative for a signal."""
    log: Path
    last_lines: tuple[str, ...]
    """The end of its log."""

    @property
    def reason(self) -> str:
        """One line in plain words."""
        if self.returncode >= 0:
            return f"the engine ended unexpectedly, with exit code {self.returncode}"
        try:
            return f"the engine was killed by {signal.Signals(-self.returncode).name}"
        except ValueError:
            return f"the engine was killed by signal {-self.returncode}"


class EngineStartError(OSError):
    """No engine could be started; the message says why, and what to do next."""


class EngineLink:
    """One engine at a time, started, listened to and ended.

    Use as an async context manager, which starts an engine and on leaving ends it. After `events` has
    come to its end, `restart` begins another engine.

    Attributes:
        death: How the last engine ended, where it did not end in order.
        log: The file that the current engine logs to.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.death: Death | None = None
        self.log = Path(os.devnull)
        self._wire: _Wire | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def pid(self) -> int | None:
        """The engine's process, None when none lives."""
        return self._wire.transport.get_pid() if self._wire and not self._wire.exited.is_set() else None

    @property
    def died(self) -> int | None:
        """The return code of an engine that did not end in order, negative for a signal; else None."""
        return self.death.returncode if self.death else None

    async def start(self) -> None:
        """Start an engine; one that still lives is ended first.

        Raises:
            EngineStartError: its log cannot be written, or its program cannot be run.
        """
        await self.stop()
        self.death = None
        try:
            self.log = _new_log(self.options.state_dir)
            with self.log.open("ab") as log:
                _, self._wire = await asyncio.get_running_loop().subprocess_exec(
                    _Wire, *self.options.argv, stderr=log, start_new_session=True
                )
        except OSError as error:
            raise EngineStartError(
                f"the engine cannot be started: {error}; "
                f"make {self.options.state_dir} writable, or set XDG_STATE_HOME to a directory that is"
            ) from error

    restart = start

    async def send(self, wish: wishes.Wish) -> None:
        """Pass a wish on. An engine that has ended gets no more wishes; its end is told by `events`."""
        if self._wire:
            self._wire.write(wishes.encode(wish))

    async def events(self) -> AsyncIterator[ev.Event]:
        """What the engine tells, until it ends.

        A line that is no event becomes a `Notice`. An engine that died without a word of it gets an
        `EngineFailed` as its last event, and `death` says more.
        """
        wire = self._wire
        if wire is None:
            return
        stopped = failed = False
        async for event in _decoded(wire):
            stopped = stopped or isinstance(event, ev.EngineStopped)
            failed = failed or isinstance(event, ev.EngineFailed)
            yield event
        await self._end(wire, STOP_GRACE)
        if not stopped:
            self.death = Death(wire.transport.get_returncode() or 0, self.log, _last_lines(self.log))
            if not failed:
                yield ev.EngineFailed(message=self.death.reason, hint=f"its log is {self.log}")

    def kill(self) -> None:
        """End the engine at once, and what it started in its process group."""
        if self._wire:
            self._wire.kill()

    async def stop(self, grace: float = STOP_GRACE) -> None:
        """Ask the engine to stop, wait `grace` seconds, then kill it. Idempotent."""
        if self._wire:
            await self._end(self._wire, grace)

    async def _end(self, wire: _Wire, grace: float) -> None:
        wire.hold_nothing_back()
        wire.write(wishes.encode(wishes.Stop()))
        try:
            async with asyncio.timeout(grace):
                await wire.exited.wait()
        except TimeoutError:
            pass
        finally:
            wire.kill()
            await wire.ended.wait()
            wire.transport.close()


class _Wire(asyncio.SubprocessProtocol):
    """The pipes. The standard library's streams would do, but their `wait` hangs while a grandchild
    holds a pipe open, and an engine that was killed must be noticed all the same."""

    transport: asyncio.SubprocessTransport

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.ended = asyncio.Event()
        """It has exited, and all that it printed is here."""
        self._news = asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._limit: float = HELD_LIMIT
        self._paused = False
        self._closed = False
        self._came_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._chunks.append(data)
        self._held += len(data)
        self._came_at = time.monotonic()
        if self._held > self._limit and not self._paused:
            self._paused = True
            self._stdout().pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._closed = True
            self._end_when_drained()
            # An engine that can tell nothing any more is of no use, and may hold machines.
            asyncio.get_running_loop().call_later(STOP_GRACE, self.kill)

    def process_exited(self) -> None:
        self.exited.set()
        self._end_when_drained()

    def _end_when_drained(self) -> None:
        if not self.exited.is_set():
            return
        quiet = time.monotonic() - self._came_at > _DRAIN
        if self._closed or (quiet and not self._paused):
            self.ended.set()
            self._news.set()
        else:
            asyncio.get_running_loop().call_later(_DRAIN, self._end_when_drained)

    def write(self, data: bytes) -> None:
        stdin = cast("asyncio.WriteTransport | None", self.transport.get_pipe_transport(0))
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    def kill(self) -> None:
        if not self.exited.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self.transport.get_pid(), signal.SIGKILL)

    def hold_nothing_back(self) -> None:
        """Read on whether or not the face keeps up, so that the engine can always end."""
        self._limit = float("inf")
        self._resume()

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        while not self._chunks and not self.ended.is_set():
            self._news.clear()
            await self._news.wait()
        if not self._chunks:
            return b""
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._held = 0
        self._resume()
        return data

    def _resume(self) -> None:
        if self._paused and not self._closed:
            self._paused = False
            self._stdout().resume_reading()

    def _stdout(self) -> asyncio.ReadTransport:
        return cast(asyncio.ReadTransport, self.transport.get_pipe_transport(1))


async def _decoded(wire: _Wire) -> AsyncIterator[ev.Event]:
    async for line in _lines(wire):
        try:
            yield ev.decode(line)
        except msgspec.DecodeError as error:
            start = line[:200].decode(errors="replace")
            yield ev.Notice(level="warning", message=f"the engine sent what is no event ({error}): {start!r}")


async def _lines(wire: _Wire) -> AsyncIterator[bytes]:
    """Whole lines; of one over the limit only its start, which is no event."""
    rest = bytearray()
    while data := await wire.read():
        *whole, last = data.split(b"\n")
        for line in whole:
            rest += line
            if rest:
                yield bytes(rest)
            rest.clear()
        if len(rest) <= LINE_LIMIT:
            rest += last
    if rest:
        yield bytes(rest)


def _new_log(state: Path) -> Path:
    directory = places.logs_dir(state)
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(directory.glob("engine-*.log"))[: 1 - LOGS_KEPT]:
        path.unlink(missing_ok=True)
    return directory / f"engine-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns()}.log"


def _last_lines(log: Path) -> tuple[str, ...]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return tuple(file.read().decode(errors="replace").splitlines()[-_LAST_LINES:])
    except OSError:
        return ()
