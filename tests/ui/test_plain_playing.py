"""A recording as lines of text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from tests.ui.streams import START, TASK, Stream, holding, passed
from workbench import events as ev
from workbench.recording.player import Player
from workbench.recording.recording import Recording
from workbench.ui.plain_playing import PlayedFace

FAST = 1000.0
ENDED = "the recording has ended"


def whole(stream: Stream, *, loop: bool = False) -> Player:
    """Plays a stream in next to no time."""
    return Player(Recording(stream.events), speed=FAST, loop=loop, ends=True)


def begun(now: Callable[[], float] = lambda: 0.0) -> Player:
    """Plays a run that begins at once, and ends an hour later."""
    stream = Stream().engine().task().queue("oracle").start("oracle").phase("oracle-1", "environment")
    return Player(Recording(stream.wait(3600).end("oracle", passed()).events), ends=True, now=now)


async def told(
    player: Player, *asked: str, after: str = "", times: int = 1, stays: bool = False
) -> list[str]:
    """All that is said.

    Args:
        asked: What is typed once `after` was said so many times.
        stays: Whether the input stays open.
    """
    said: list[str] = []

    async def typed() -> AsyncIterator[str]:
        while after and said.count(after) < times:
            await asyncio.sleep(0)
        for line in asked:
            yield line
        if stays:
            await asyncio.Event().wait()

    async with asyncio.timeout(30):
        await PlayedFace(player, Path(TASK), said.append).play(typed())
    return said


@pytest.mark.parametrize("stays", [False, True])
async def test_a_recording_is_said_to_its_end_and_that_is_said(stays: bool) -> None:
    said = await told(whole(holding()), stays=stays)
    assert said[0] == "slugify: a recording. Type ? and Enter for what can be asked."
    assert said[5] == "oracle: started"
    assert said[-2:] == ["verdict: holds, 5 of 5: all 5 cases came out as they must", ENDED]


async def test_it_can_be_left_before_its_end() -> None:
    said = await told(begun(), "q", after="oracle: started")
    assert said[-1] == "oracle: started"


async def test_what_would_have_to_run_something_is_refused_and_not_offered() -> None:
    said = await told(begun(), "r", "f", "x oracle", "p", "e", "?", "q", after="oracle: started")
    refused = "This is a recording: nothing runs here."
    assert said[said.index("oracle: started") + 1 :] == [*[refused] * 5, PlayedFace.HELP]
    assert "runs a case" not in PlayedFace.HELP


async def test_times_are_those_of_the_recording() -> None:
    said: list[str] = []
    player = begun(lambda: 2.5 if "oracle: started" in said else 0.0)

    async def typed() -> AsyncIterator[str]:
        while "oracle: started" not in said:
            await asyncio.sleep(0)
        yield "w oracle"
        yield "q"

    await PlayedFace(player, Path(TASK), said.append).play(typed())
    assert player.clock() == START + 2.5
    assert said[-1] == "environment: 2.50 s so far"


async def test_what_is_played_again_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.recording.player.LINGER", 0.0)
    said = await told(whole(holding(), loop=True), "q", after="oracle: started", times=2)
    assert said.count("the recording begins again") == 1
    assert said.count("task: demo/slugify") == 2
    assert ENDED not in said


async def test_only_the_task_that_is_shown_is_spoken_of() -> None:
    stream = holding()
    stream.events[6:6] = [
        msgspec.structs.replace(event, task="/elsewhere/other")
        for event in Stream().task().whole("oracle", passed(), run="other-1").events
        if hasattr(event, "task")
    ]
    stream.add(ev.Notice(at=stream.now, level="info", message="of all"))
    said = await told(whole(stream))
    assert said.pop(1) == "Also in this recording: other; --task NAME plays one."
    assert said == [*(await told(whole(holding())))[:-1], "info: of all", ENDED]
