"""How receipts, builds, costs and shells look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.ui import task_streams as streams
from tests.ui.driving import app_for, screen_text, still, until
from tests.ui.streams import RecordedSource, Stream
from tests.ui.task_streams import PROMPT, TaskStream
from tests.ui.test_snapshots import Compare, compare, sizes
from workbench.ui.shells.task_shells import TaskShells

STATES = [streams.reverified, streams.recalled, streams.differed, streams.building, streams.build_failed]
PATIENCE = 60.0


@sizes
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_main(snap_compare: Compare, state: Callable[[], Stream], size: tuple[int, int]) -> None:
    assert compare(snap_compare, state(), size)


@sizes
def test_builds(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.build_failed(), size, "b")


@sizes
def test_nothing_is_built(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.opened_task(), size, "b")


@sizes
def test_costs(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, streams.opened_task().costs(), size, "m")


@sizes
@pytest.mark.parametrize("keys", [(), ("4",), ("4", "f9")], ids=["beside", "inside", "draft"])
def test_shells(snap_compare: Compare, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    stream = streams.opened_task().costs()
    source = RecordedSource([*stream.events, *TaskStream(stream.now).shell().events])
    app = app_for(stream, source, shell=True)

    async def settle(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        await until(pilot, lambda: bool(app.screen.query_one(TaskShells).shells))
        await pilot.press(*keys[:1])
        if keys or size[0] >= 120:
            async with asyncio.timeout(PATIENCE):
                while PROMPT not in screen_text(app):
                    await pilot.pause(0.01)
        await pilot.press(*keys[1:])
        await until(pilot, lambda: not any(worker.group != "events" for worker in app.workers))
        await still(pilot)

    assert snap_compare(app, terminal_size=size, run_before=settle)
