"""Live output: a second exec that follows the file a script writes to.

Harbor redirects `solve.sh` and `test.sh` to files inside the environment and reads those only when the
script has ended. Following the file works alike on every provider.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import AsyncGenerator, Callable
from pathlib import Path, PurePosixPath

from harbor.environments.base import BaseEnvironment

KEPT = 64 * 1024 * 1024
"""Characters kept of a script whose file never comes back, such as a verifier that timed out."""

# Not `tail -F`: busybox has it poll once a second, and GNU's does until the file is there.
_FOLLOW = 'until [ -e "$0" ]; do sleep 0.05; done; exec tail -c +1 -f "$0" 2>/dev/null'


_ending: set[asyncio.Task[None]] = set()
"""Followers that were told to end; asyncio itself would forget them."""


@contextlib.asynccontextmanager
async def following(
    environment: BaseEnvironment, path: PurePosixPath | str, host_path: Path, emit: Callable[[str], None]
) -> AsyncGenerator[None]:
    """Hand on what is written to `path` in the environment while the block runs.

    When the block ends, the rest is taken from `host_path`, where Harbor has copied the file by then.
    Where it has not, for the script was cut short, `host_path` is made of what was seen. So a follower
    that cannot run, for want of `tail` say, costs no more than the live view.
    """
    seen = _Seen(emit)
    task = asyncio.create_task(_follow(environment, path, seen), name=f"follow {path}")
    try:
        yield
    except BaseException:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(seen.quiet(0.1))
        raise
    finally:
        # Ending it takes its time, which nobody needs to wait for.
        task.cancel()
        _ending.add(task)
        task.add_done_callback(_ending.discard)
        seen.finish(host_path)


async def _follow(environment: BaseEnvironment, path: PurePosixPath | str, seen: _Seen) -> None:
    async def take(text: str, stream: str) -> None:
        if stream == "stdout":
            seen.add(text)

    command = f"sh -c {shlex.quote(_FOLLOW)} {shlex.quote(str(path))}"
    with environment.scoped_output_callback(take), contextlib.suppress(Exception):
        await environment.exec(command, user="root")


class _Seen:
    """What has come of a followed file so far."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._length = 0
        self._pieces: list[str] = []
        self._more = asyncio.Event()
        self._finished = False

    def add(self, text: str) -> None:
        if text and not self._finished:
            if self._length < KEPT:
                self._pieces.append(text)
            self._length += len(text)
            self._more.set()
            self._emit(text)

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing came for `seconds`."""
        with contextlib.suppress(TimeoutError):
            while True:
                self._more.clear()
                await asyncio.wait_for(self._more.wait(), seconds)

    def finish(self, host_path: Path) -> None:
        self._finished = True
        if host_path.is_file():
            with host_path.open(encoding="utf-8", errors="replace", newline="") as file:
                file.read(self._length)
                while rest := file.read(1 << 20):
                    self._emit(rest)
        elif self._pieces:
            host_path.parent.mkdir(parents=True, exist_ok=True)
            host_path.write_text("".join(self._pieces), encoding="utf-8")
