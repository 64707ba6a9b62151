"""What a key asked for is drawn before anything else is done, and as little as it takes."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator

import pytest
from textual import events
from textual.driver import Driver
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Tabs

from tests.ui.driving import opened, screen_text, still
from tests.ui.streams import Stream, busy, failed, holding, passed
from workbench import events as ev
from workbench.session import Run
from workbench.ui import own_process, slices
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.widgets.case_list import Cases
from workbench.ui.widgets.log_view import LogView


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[set[Region]]:
    """The parts of the screen that were drawn, frame by frame."""
    frames: list[set[Region]] = []
    before = Screen._compositor_refresh

    def refresh(screen: Screen[object]) -> None:
        frames.append(set(screen._compositor._dirty_regions))
        before(screen)

    monkeypatch.setattr(Screen, "_compositor_refresh", refresh)
    return frames


async def test_what_a_key_asked_for_is_drawn_when_the_key_has_been_taken() -> None:
    async with opened(holding()) as driven:
        await driven.app.on_event(events.Key("j", "j"))
        assert "3 Run · nop" in screen_text(driven.app)
        assert driven.app.screen._compositor._dirty_regions == set()


async def test_rows_that_hold_nothing_are_not_drawn(drawn: list[set[Region]]) -> None:
    stream = Stream().engine().task()
    stream.whole("oracle", passed(), "one\ntwo\nthree\n").whole("nop", failed(), "one\n")
    async with opened(stream, size=(160, 50)) as driven:
        await driven.press("j")
        view = driven.app.screen.query_one(LogView)
        assert view.size.height > 30
        for key in "kj":
            drawn.clear()
            await driven.press(key)
            assert ("three" in driven.text) == (key == "k")
            text = view.region.shrink(view.styles.padding).shrink((0, 1, 0, 0))
            parts = [part for frame in drawn for part in frame if text.overlaps(part) and part.width > 1]
            assert [part.height for part in parts] == [3]


async def test_a_row_that_says_the_same_is_not_drawn(drawn: list[set[Region]]) -> None:
    async with opened(holding()) as driven:
        cases = driven.app.screen.query_one(Cases)
        await still(driven.pilot)  # The log has a scrollbar, which comes later.
        drawn.clear()
        cases.rewrite("nop", cases.get_option("nop").prompt)  # type: ignore[arg-type]
        await driven.settle()
        assert drawn == []


async def test_all_is_drawn_again_after_the_shell_had_the_terminal(drawn: list[set[Region]]) -> None:
    async with opened(holding()) as driven:
        await still(driven.pilot)
        drawn.clear()
        driven.app.post_message(Driver.SignalResume())
        await still(driven.pilot)
        assert any(driven.app.size.region in frame for frame in drawn)


async def test_going_from_run_to_run_moves_nothing_else() -> None:
    stream = holding()
    stream.whole("nop", failed(), "nothing\n" * 3, run="nop-2")
    async with opened(stream) as driven:
        pane = driven.app.screen.query_one(RunPane)

        def places() -> list[Region]:
            return [pane.query_one(Tabs).region, *(tab.region for tab in pane.query("Tab"))]

        for _ in range(2):  # By then the room that each of them needs is known.
            await driven.press(*"jjjjkkkk")
        before = places()
        for key in "jjjj":
            await driven.press(key)
            assert places() == before


async def test_long_work_waits_until_a_key_has_had_its_effect() -> None:
    began: list[float] = []

    def work() -> Iterator[None]:
        began.append(time.monotonic())
        yield

    slices.key_pressed()
    pressed = time.monotonic()
    await slices.in_slices(work())
    assert began[0] - pressed > 0.04
    again = time.monotonic()
    await slices.in_slices(work())
    assert began[1] - again < 0.04


async def test_so_does_what_an_engine_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(busy()) as driven:
        monkeypatch.setattr(slices, "_EFFECT", 3600.0)
        await driven.pilot.press("j")
        driven.source.feed(ev.Notice(level="warning", message="hear, hear"))
        for _ in range(5):
            await driven.pilot.pause()
        assert not driven.app.up_to_date
        assert "hear, hear" not in driven.text
        driven.app.exit()


def test_a_run_that_is_told_of_does_not_repeat_all_that_it_printed() -> None:
    run = Run("r", "/task", "oracle")
    run.output.append(ev.Output(run="r", source="verifier", text="x" * 1000))
    assert len(repr(run)) < 1000


async def test_garbage_of_long_life_is_not_looked_for_while_keys_come() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    with own_process.answering():
        assert gc.get_threshold()[2] > 1_000_000
        assert sys.getswitchinterval() < before[1]
        own_process.keep_what_is_loaded()
        kept = gc.get_freeze_count()
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    assert gc.get_freeze_count() < kept


async def test_but_it_is_when_none_has_come_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[float] = []
    monkeypatch.setattr(own_process, "collect", lambda: collected.append(time.monotonic()))
    async with opened(holding()) as driven:
        await driven.press("j")
        driven.app._collect()
        assert collected == []
        monkeypatch.setattr("workbench.ui.app._REST", 0.0)
        driven.app._collect()
        assert len(collected) == 1
