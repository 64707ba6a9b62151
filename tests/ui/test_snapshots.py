"""How the screen looks, in every state and at every size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.ui import streams
from tests.ui.driving import app_for, still, until
from tests.ui.streams import RecordedSource, Stream

SIZES = [(160, 50), (100, 30), (80, 24), (60, 20)]
STATES = [streams.empty, streams.busy, streams.holding, streams.cannot_fail, streams.broken, streams.died]

sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")

type Compare = Callable[..., bool]


def compare(
    snap_compare: Compare,
    stream: Stream,
    size: tuple[int, int],
    *keys: str,
    theme: str = "night",
    dies: bool = False,
) -> bool:
    """Compare the screen with its picture, once everything is drawn and the keys have had their effect."""
    source = RecordedSource(stream.events)
    app = app_for(stream, source, theme=theme)
    if dies:
        source.die(-9)

    async def settle(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        for key in keys:
            await pilot.press(key)
            await until(pilot, lambda: app.up_to_date)
        await until(pilot, lambda: not any(worker.group != "events" for worker in app.workers))
        await still(pilot)

    return snap_compare(app, terminal_size=size, run_before=settle)


@sizes
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_main(snap_compare: Compare, state: Callable[[], Stream], size: tuple[int, int]) -> None:
    assert compare(snap_compare, state(), size, dies=state is streams.died)


@pytest.mark.parametrize("theme", ["day", "ember", "contrast"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_themes(snap_compare: Compare, state: Callable[[], Stream], theme: str) -> None:
    assert compare(snap_compare, state(), (160, 50), theme=theme, dies=state is streams.died)


@sizes
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.holding(), size, "question_mark")


@sizes
def test_palette(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.holding(), size, "ctrl+p")


@sizes
def test_tests_tab(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.broken(), size, *["right_square_bracket"] * 2, "3")


@sizes
def test_timing_tab(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.busy(), size, *["right_square_bracket"] * 4, "3")


@sizes
def test_search(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.broken(), size, "3", "slash", *"long")


def test_run_on_a_small_screen(snap_compare: Compare) -> None:
    assert compare(snap_compare, streams.cannot_fail(), (60, 20), "down", "enter")
