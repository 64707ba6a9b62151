"""Events in batches: as many at once as came in, never more than a frame can take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from workbench.events import Event, Output

BATCH_EVENTS = 200
BATCH_CHARACTERS = 256 * 1024
"""Together they bound the time that one batch keeps the screen from answering a key."""


async def batches(events: AsyncIterator[Event]) -> AsyncIterator[list[Event]]:
    """The events of a stream in order, grouped by what was there to take.

    Reading runs ahead by a bounded number of events, so a producer that never waits is slowed down
    rather than stored.
    """
    queue: asyncio.Queue[Event | None] = asyncio.Queue(maxsize=BATCH_EVENTS)

    async def read() -> None:
        try:
            async for event in events:
                await queue.put(event)
        except Exception:
            await queue.put(None)
            raise
        await queue.put(None)

    reader = asyncio.create_task(read())
    try:
        ended = False
        while not ended:
            batch: list[Event] = []
            characters = 0
            event = await queue.get()
            while event is not None:
                batch.append(event)
                characters += len(event.text) if isinstance(event, Output) else 0
                if len(batch) >= BATCH_EVENTS or characters >= BATCH_CHARACTERS or queue.empty():
                    break
                event = queue.get_nowait()
            ended = event is None
            if batch:
                yield batch
        await reader
    finally:
        reader.cancel()
