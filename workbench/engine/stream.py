"""The engine's ends of the stream: wishes from standard input, events to standard output."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator

import msgspec

from workbench import events as ev
from workbench import wishes

WISH_LIMIT = 1 << 20
"""Bytes of the longest wish."""


class Emitter:
    """Writes events without ever making the engine's loop wait for a slow face.

    Standard output is the stream's alone: whatever else would print there goes to standard error.
    """

    def __init__(self) -> None:
        self._fd = os.dup(1)
        os.set_inheritable(self._fd, False)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="events", daemon=True)
        self._thread.start()

    def __call__(self, event: ev.Event) -> None:
        """Send an event; returns at once."""
        self._lines.put(ev.encode(event))

    def close(self, timeout: float) -> None:
        """Wait until all that was sent is written, `timeout` seconds at the most."""
        self._lines.put(None)
        self._thread.join(timeout)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            view = memoryview(line)
            try:
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError:
                # The face is gone; the end of standard input says so to the loop.
                return


async def read_wishes(emit: Emitter) -> AsyncIterator[wishes.Wish]:
    """Wishes as they come, until standard input closes. A line that is none becomes a notice."""
    reader = asyncio.StreamReader(limit=WISH_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            emit(ev.Notice(level="error", message="a wish was too long and was dropped"))
            continue
        if not line:
            return
        try:
            yield wishes.decode(line)
        except msgspec.DecodeError as error:
            emit(ev.Notice(level="error", message=f"not a wish: {error}"))
