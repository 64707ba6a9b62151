"""Events in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from workbench.events import Event, Notice, Output
from workbench.ui.feed import BATCH_CHARACTERS, BATCH_EVENTS, batches


async def told(events: list[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


async def test_every_event_comes_once_and_in_order() -> None:
    events: list[Event] = [Notice(level="info", message=str(number)) for number in range(5000)]
    got = [batch async for batch in batches(told(events))]
    assert [event for batch in got for event in batch] == events
    assert max(map(len, got)) <= BATCH_EVENTS


async def test_a_batch_holds_no_more_text_than_a_frame_can_take() -> None:
    piece = Output(run="r", source="verifier", text="x" * 64 * 1024)
    got = [batch async for batch in batches(told([piece] * 40))]
    sizes = [sum(len(event.text) for event in batch if isinstance(event, Output)) for batch in got]
    assert sum(sizes) == 40 * 64 * 1024
    assert max(sizes) <= BATCH_CHARACTERS + 64 * 1024


async def test_an_event_comes_before_the_next_one_is_told() -> None:
    gate = asyncio.Event()

    async def slow() -> AsyncIterator[Event]:
        yield Notice(level="info", message="first")
        await gate.wait()
        yield Notice(level="info", message="second")

    reading = batches(slow())
    assert [event.message for event in await anext(reading) if isinstance(event, Notice)] == ["first"]
    gate.set()
    assert [event.message for event in await anext(reading) if isinstance(event, Notice)] == ["second"]


async def test_a_stream_that_never_waits_is_not_read_ahead_without_bound() -> None:
    given = 0

    async def endless() -> AsyncIterator[Event]:
        nonlocal given
        while True:
            given += 1
            yield Notice(level="info", message="")

    reading = batches(endless())
    await anext(reading)
    assert given <= 5 * BATCH_EVENTS
    await reading.aclose()  # type: ignore[attr-defined]


async def test_a_stream_that_fails_says_so_after_what_it_told() -> None:
    async def failing() -> AsyncIterator[Event]:
        yield Notice(level="info", message="before")
        raise OSError("broken pipe")

    reading = batches(failing())
    assert len(await anext(reading)) == 1
    with pytest.raises(OSError, match="broken pipe"):
        await anext(reading)
