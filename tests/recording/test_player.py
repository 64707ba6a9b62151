"""Playing: what is told when, and what the controls do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from workbench import events as ev
from workbench.recording.player import SPEEDS, Player
from workbench.recording.recording import Recording

START = 1_760_000_000.0


def recording(*offsets: float) -> Recording:
    return Recording([ev.Notice(at=START + at, level="info", message=f"{at:g}") for at in offsets])


class Clock:
    """Time that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def take(events: AsyncIterator[ev.Event], count: int) -> list[str]:
    """What the next events say."""
    said = []
    for _ in range(count):
        event = await asyncio.wait_for(anext(events), 10)
        assert isinstance(event, ev.Notice)
        said.append(event.message)
    return said


async def test_events_come_when_they_came() -> None:
    loop = asyncio.get_running_loop()
    player = Player(recording(0, 0.1, 0.3))
    await player.start()
    began, at = loop.time(), []
    async with aclosing(player.events()) as events:
        for _ in range(3):
            await anext(events)
            at.append(loop.time() - began)
    assert at == pytest.approx([0, 0.1, 0.3], abs=0.08)
    assert at[2] >= 0.3


async def test_the_stream_ends_with_the_recording_where_that_is_asked_for() -> None:
    player = Player(recording(0, 1.0), speed=100, ends=True)
    await player.start()
    async with asyncio.timeout(10):
        assert len([event async for event in player.events()]) == 2
    assert player.position == player.duration
    assert not player.rewound


async def test_it_is_played_from_where_it_is_to_begin() -> None:
    player = Player(recording(0, 1, 60), begin=1.0, now=Clock())
    assert player.position == 1
    await player.start()
    async with aclosing(player.events()) as events:
        assert await take(events, 2) == ["0", "1"]
    assert player.position == 1


async def test_twice_the_speed_takes_half_the_time() -> None:
    loop = asyncio.get_running_loop()
    player = Player(recording(0, 1.0), speed=10)
    await player.start()
    began = loop.time()
    async with aclosing(player.events()) as events:
        assert await take(events, 2) == ["0", "1"]
    assert 0.1 <= loop.time() - began < 0.5


async def test_seeking_ahead_tells_all_that_lies_between() -> None:
    player = Player(recording(0, 10, 20, 30), now=Clock())
    await player.start()
    async with aclosing(player.events()) as events:
        assert await take(events, 1) == ["0"]
        waiting = asyncio.create_task(take(events, 2))
        await asyncio.sleep(0)
        player.seek(25)
        assert await waiting == ["10", "20"]
    assert (player.position, player.clock(), player.rewound) == (25, START + 25, False)


async def test_going_back_ends_the_stream_and_begins_it_anew() -> None:
    player = Player(recording(0, 10, 20), now=Clock())
    await player.start()
    player.seek(20)
    async with aclosing(player.events()) as events:
        assert await take(events, 3) == ["0", "10", "20"]
        player.seek(12)
        assert player.rewound
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    await player.restart()
    assert (player.rewound, player.position) == (False, 12)
    async with aclosing(player.events()) as events:
        assert await take(events, 2) == ["0", "10"]


async def test_paused_time_stands_still() -> None:
    clock = Clock()
    player = Player(recording(0, 10, 20), now=clock)
    await player.start()
    clock.now = 4
    player.pause()
    clock.now = 400
    assert (player.paused, player.position) == (True, 4)
    player.pause()
    clock.now = 403
    assert (player.paused, player.position) == (False, 7)
    player.set_speed(2)
    clock.now = 404
    assert player.position == 9


def test_positions_stay_within_the_recording() -> None:
    clock = Clock()
    player = Player(recording(0, 10), now=clock)
    player.seek(-5)
    assert player.position == 0
    player.seek(99)
    assert player.position == 10
    clock.now = 100
    assert player.position == 10


def test_speeds_go_up_and_down_step_by_step() -> None:
    player = Player(recording(0, 1))
    player.faster()
    assert player.speed == 2
    player.faster(-2)
    assert player.speed == 0.5
    for _ in SPEEDS:
        player.faster(-1)
    assert player.speed == SPEEDS[0]


def test_a_speed_beyond_the_steps_is_not_made_slower_by_going_faster() -> None:
    player = Player(recording(0, 1), speed=100)
    player.faster()
    assert player.speed == 100
    player.faster(-1)
    assert player.speed == SPEEDS[-1]


async def test_a_loop_begins_again_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.recording.player.LINGER", 0.01)
    player = Player(recording(0, 0.01), loop=True)
    await player.start()
    for _ in range(3):
        async with aclosing(player.events()) as events:
            assert await take(events, 2) == ["0", "0.01"]
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(events), 10)
        assert player.rewound
        await player.restart()


async def test_a_loop_over_a_single_moment_does_not_spin() -> None:
    player = Player(recording(0), loop=True)
    await player.start()
    async with aclosing(player.events()) as events:
        assert await take(events, 1) == ["0"]
        ending = asyncio.create_task(anext(events, None))
        await asyncio.sleep(0)
        assert not ending.done()
        await player.stop()
        assert await ending is None
