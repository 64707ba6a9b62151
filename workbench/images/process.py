"""Running builders: programs that print, may hang, and must never outlive who started them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from workbench.images.errors import ImageError
from workbench.niceness import session_is_worth_as_much

_GRACE = 3.0
"""Seconds a builder has to clean up when it is told to end."""
_LINE_LIMIT = 1 << 16
"""Bytes after which a line without an end is handed on in pieces."""


def leash() -> tuple[str, ...]:
    """A prefix under which a program ends when this process does, however it does; Linux only."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv and os.uname().sysname == "Linux" else ()


@asynccontextmanager
async def started(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, merge: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running program in a session of its own; on leaving, it and its children are ended.

    Args:
        env: Added to this process's.
        merge: Standard error goes where standard output goes, which keeps their order.

    Raises:
        ImageError: it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            limit=1 << 20,
            start_new_session=True,
        )
    except OSError as error:
        raise ImageError(f"{argv[0]} cannot be started: {error.strerror}") from None
    session_is_worth_as_much(process.pid)
    try:
        yield process
    finally:
        await asyncio.shield(_end(process))


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


async def follow(
    argv: Sequence[str], on_line: Callable[[str], None], *, env: Mapping[str, str] | None = None
) -> int:
    """Run a program and hand on each line it prints as it comes; returns its exit code.

    A line ends at a newline; long ones come in pieces, the last line perhaps without its newline.
    """
    async with started(argv, env=env, merge=True) as process:
        assert process.stdout is not None
        rest = b""
        while piece := await process.stdout.read(1 << 16):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                on_line(line.decode(errors="replace") + "\n")
            if len(rest) > _LINE_LIMIT:
                on_line(rest.decode(errors="replace"))
                rest = b""
        if rest:
            on_line(rest.decode(errors="replace"))
        return await process.wait()


async def ask(argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 60) -> str:
    """What a program prints on standard output.

    Raises:
        ImageError: it failed, which its last words say, took longer than `timeout` seconds, or cannot be
            started.
    """
    try:
        async with started(argv, env=env) as process, asyncio.timeout(timeout):
            stdout, stderr = await process.communicate()
    except TimeoutError:
        raise ImageError(f"{' '.join(argv[:3])} gave no answer within {timeout:g} s") from None
    if process.returncode:
        words = stderr.decode(errors="replace").strip() or f"exit code {process.returncode}"
        raise ImageError(words.splitlines()[-1])
    return stdout.decode(errors="replace")
