"""A recording on the screen: its keys, and the screen after going forth and back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.ui.driving import screen_text, until
from tests.ui.scenes import trials_of
from tests.ui.streams import TASK, Stream, holding
from workbench import events as ev
from workbench.recording.player import Player
from workbench.recording.recording import Recording
from workbench.ui.playing import PlayApp, PlayBar
from workbench.ui.screen_commands import PLAYER_STEP
from workbench.ui.screens.grid import GridScreen


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def playing(
    clock: Clock,
    events: Sequence[ev.Event] = (),
    *,
    speed: float = 1.0,
    size: tuple[int, int] = (160, 50),
) -> AsyncIterator[tuple[PlayApp, Pilot[None]]]:
    player = Player(Recording(list(events) or holding().events), speed=speed, now=clock)
    app = PlayApp(player, Path(TASK))
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: "pause" in screen_text(app))
        yield app, pilot


def bar(app: PlayApp) -> str:
    return str(app.screen.query_one(PlayBar).content)


async def test_the_bar_says_where_it_stands_and_the_keys_move_it() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        assert bar(app).startswith("▶ playing · a recording · 0:00 of 0:06 · 1x")
        await pilot.press("space")
        await until(pilot, lambda: "‖ paused" in bar(app))
        await pilot.press("right")
        await until(pilot, lambda: "0:05 of 0:06" in bar(app))
        await pilot.press("right")
        await until(pilot, lambda: "0:06 of 0:06" in bar(app))
        await until(pilot, lambda: "HOLDS 5/5" in screen_text(app))
        await pilot.press("plus", "plus", "minus")
        await until(pilot, lambda: "· 2x" in bar(app))
        await pilot.press("left")
        await until(pilot, lambda: "0:01 of 0:06" in bar(app))


async def test_keys_go_forth_and_back_by_a_minute() -> None:
    stream = holding()
    stream.wait(200).settled()
    async with playing(Clock(), stream.events) as (app, pilot):
        await pilot.press("shift+right", "shift+right", "right")
        assert app.player.position == 125
        await pilot.press("shift+left")
        assert app.player.position == 65


async def test_a_demo_is_played_on_its_grid_and_beneath_is_its_case() -> None:
    stream = trials_of("nop", 16)
    async with playing(Clock(), stream.events) as (app, pilot):
        assert isinstance(app.screen, GridScreen)
        app.player.seek(99)
        await until(pilot, lambda: "8 of 16 done" in screen_text(app))
        app.player.seek(0.5)
        await until(pilot, lambda: "0 of 16 done" in screen_text(app) or "1 of 16" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "3 Run · nop · 16 of 16" in screen_text(app))


async def test_a_session_in_which_a_case_is_repeated_later_is_played_as_a_session() -> None:
    stream = holding()
    stream.queue("oracle", "oracle-2", times=2).queue("oracle", "oracle-3", times=2)
    async with playing(Clock(), stream.events) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: len(app.session.runs) == 7)
        assert not isinstance(app.screen, GridScreen)


async def test_no_hint_names_a_key_that_would_have_to_run_something() -> None:
    stream = Stream().engine().task().wait(1).settled()
    async with playing(Clock(), stream.events) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "It has not run." in screen_text(app))
        await pilot.press("3", "right_square_bracket", "right_square_bracket", "right_square_bracket")
        await until(pilot, lambda: "No trajectory here." in screen_text(app))
        assert "to run it again" not in screen_text(app)
        await pilot.press("escape", "m")
        await until(pilot, lambda: "No machine and no state is alive." in screen_text(app))
        assert "opens a shell" not in screen_text(app)


async def test_going_back_shows_what_was_so_then_and_nothing_of_later() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "HOLDS 5/5" in screen_text(app))
        assert len(app.session.runs) == 5
        await pilot.press("space")
        app.player.seek(1.0)
        await until(pilot, lambda: len(app.session.runs) == 1 and app.up_to_date)
        await until(pilot, lambda: "HOLDS" not in screen_text(app))
        run = app.session.runs["oracle-1"]
        assert (run.state, run.phase.name if run.phase else "") == ("running", "verifier")
        await pilot.press("R")
        await until(pilot, lambda: not app.session.runs and app.player.position == 0)


async def test_times_on_the_screen_are_those_of_the_recording() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        app.player.seek(1.0)
        app.player.pause()
        await until(pilot, lambda: "0.60 s" in screen_text(app))
        assert app.clock() == app.player.recording.start + 1.0


async def test_other_tasks_of_a_recording_are_told_of_and_found() -> None:
    stream = holding()
    others = [ev.TaskOpened(at=stream.now, task=f"/elsewhere/{name}", name=name) for name in ("abc", "xyz")]
    async with playing(Clock(), [*stream.events, *others]) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "HOLDS 5/5" in screen_text(app))
        told = [told.message for told in app.told]
        assert told == ["Also in this recording: abc, xyz; / finds one and plays it."]
        await pilot.press("slash", *"xyz", "enter")
        await until(pilot, lambda: not app.is_running or app.leaves_for is not None)
    assert app.leaves_for == Path("/elsewhere/xyz")


async def test_in_a_line_to_type_in_the_keys_are_letters() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "HOLDS 5/5" in screen_text(app))
        await pilot.press("3", "slash", "a", "space", "b")
        focused = app.focused
        assert isinstance(focused, Input)
        assert focused.value == "a b"
        assert not app.player.paused


@pytest.mark.parametrize("keys", [("r",), ("t",), ("D", "r")])
async def test_nothing_runs_in_a_recording_and_it_says_so(keys: tuple[str, ...]) -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "HOLDS 5/5" in screen_text(app))
        await pilot.press(*keys)
        await until(pilot, lambda: "This is a recording: nothing runs here." in screen_text(app))


async def test_no_key_is_offered_that_would_have_to_run_something() -> None:
    async with playing(Clock()) as (app, pilot):
        await until(pilot, lambda: "Compare" in screen_text(app))
        last = screen_text(app).splitlines()[-2:]
        assert not [word for word in ("Run", "Cancel", "Shell", "Pause") if word in " ".join(last)]
        await pilot.press("question_mark", *"every case of")
        await until(pilot, lambda: "No key or word matches." in screen_text(app))


async def test_the_player_s_keys_can_be_clicked() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):

        async def click(word: str) -> None:
            lines = screen_text(app).splitlines()
            y = next(y for y, line in enumerate(lines) if "space pause" in line)
            await pilot.click(offset=(lines[y].index(word), y))
            await pilot.pause()

        await click("space pause")
        assert app.player.paused
        await click("→")
        assert app.player.position == min(PLAYER_STEP, app.player.duration)
        await click("←")
        assert app.player.position == 0
        await click("- speed")
        assert app.player.speed < 1
        await until(pilot, lambda: "· 0.5x" in screen_text(app))
        await click("+ -")
        assert app.player.speed == 1


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_the_player_s_keys_are_there_where_there_is_little_room(size: tuple[int, int]) -> None:
    async with playing(Clock(), speed=0.25, size=size) as (app, pilot):
        await until(pilot, lambda: "space pause  ←  → 5 s  + - speed" in screen_text(app))
        assert "· 0.25x" in screen_text(app)


async def test_the_help_lists_the_player_s_keys() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: "Pause the recording, or play on." in screen_text(app))


@pytest.mark.parametrize(
    "keys", [["r"], ["a"], ["p"], ["t"], ["X"], ["D", "r"], ["b", "u"], ["b", "x"], ["S"]]
)
async def test_whatever_takes_an_engine_is_refused_and_nothing_else_said(keys: list[str]) -> None:
    async with playing(Clock()) as (app, pilot):
        app.player.seek(1.0)
        await until(pilot, lambda: len(app.session.runs) == 1 and app.up_to_date)
        before = len(app.told)
        await pilot.press(*keys)
        await until(pilot, lambda: len(app.told) > before)
        await pilot.pause()
        assert [told.message for told in list(app.told)[before:]] == [
            "This is a recording: nothing runs here."
        ]


async def test_the_engine_of_a_recording_is_not_started_again_but_the_recording_is() -> None:
    ended = [*holding().events, ev.EngineStopped(at=holding().now)]
    async with playing(Clock(), ended) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: "R plays it from the beginning" in screen_text(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Play from the beginning." in screen_text(app))
        assert "another engine" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: "■ The session ended here" in screen_text(app))
        assert "✗ The engine" not in screen_text(app)


async def test_to_play_again_is_to_play_though_it_was_paused() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        app.player.seek(3)
        await pilot.press("space", "R")
        await until(pilot, lambda: bar(app).startswith("▶ playing · a recording · 0:00"))


@pytest.mark.parametrize("key", ["D", "c"])
@pytest.mark.parametrize("size", [(160, 50), (80, 24), (60, 20)])
async def test_the_bar_is_seen_on_every_screen_that_fills_the_terminal(
    key: str, size: tuple[int, int]
) -> None:
    async with playing(Clock(), size=size) as (app, pilot):
        app.player.seek(99)
        await until(pilot, lambda: len(app.session.runs) == 5 and app.up_to_date)
        main = app.screen
        await pilot.press("j", key)
        await until(pilot, lambda: app.screen is not main and "■ " in screen_text(app))
        await pilot.press("left")
        await until(pilot, lambda: "0:01" in screen_text(app))
        line = next(line for line in screen_text(app).splitlines() if "space pause" in line)
        assert "▶ playing" in line or "▶ 0:01" in line


async def test_the_player_s_keys_work_over_the_screen_too() -> None:
    clock = Clock()
    async with playing(clock) as (app, pilot):
        await pilot.press("D", "space")
        assert app.player.paused
        await pilot.press("right")
        assert app.player.position == min(PLAYER_STEP, app.player.duration)
