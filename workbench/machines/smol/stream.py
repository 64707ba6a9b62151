"""A command in a microVM, its output as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

from smol.transport import ExecStream

from workbench.machines.machine import Finished, OnOutput, Stream

type Event = dict[str, Any]
"""As `ExecStream` gives them: `kind` is stdout, stderr, exit or error."""


class StreamError(Exception):
    """The command could not be started, or the connection to it was lost."""


async def follow(stream: ExecStream, on_output: OnOutput | None, keep_output: bool) -> Finished | None:
    """Hand on a command's output until it has ended; None when someone killed the stream.

    smolvm gives output as text, in which bytes that are no UTF-8 are replaced.

    Raises:
        StreamError: as told by smolvm.
    """
    kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    async for batch in _batches(stream):
        for kind, group in itertools.groupby(batch, lambda event: str(event["kind"])):
            events = list(group)
            if kind == "exit":
                code = int(events[0]["exit_code"])
                return Finished(code, b"".join(kept["stdout"]), b"".join(kept["stderr"]))
            if kind == "error":
                raise StreamError(str(events[0].get("message", "")))
            data = "".join(str(event["data"]) for event in events).encode(errors="replace")
            if keep_output:
                kept[kind].append(data)
            if on_output is not None:
                await on_output(data, cast(Stream, kind))
    return None


async def _batches(stream: ExecStream) -> AsyncIterator[list[Event]]:
    """All events that have come since the last batch, until the stream ends."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[Event | None] = asyncio.Queue()

    def read() -> None:
        def put(event: Event | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(waiting.put_nowait, event)

        try:
            for event in stream:
                put(event)
        except Exception as error:
            put({"kind": "error", "message": str(error)})
        put(None)

    threading.Thread(target=read, name="smol output", daemon=True).start()
    while True:
        batch = [await waiting.get()]
        while not waiting.empty():
            batch.append(waiting.get_nowait())
        yield [event for event in batch if event is not None]
        if batch[-1] is None:
            return
