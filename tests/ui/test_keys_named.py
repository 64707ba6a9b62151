"""Whatever names a key follows the user, who may have moved it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ui import streams, task_streams
from tests.ui.scenes import NEXT, Scene, idle_task, with_costs
from tests.ui.streams import TASK, Stream
from tests.ui.test_image_facts import NOW, USED, answered, recalled
from tests.ui.trials import two_trials
from workbench import events as ev
from workbench.images.build_events import ImageStale
from workbench.settings import Loaded, Settings

MOVED = "f15"


def stale() -> Stream:
    """A stale image while nothing is watched."""
    stream = recalled().image(ImageStale(why="environment/app.py changed"))
    return stream.add(ev.WatchingChanged(at=stream.now, task=TASK, watching=False))


def moved_on() -> Stream:
    """An image whose base's name stands for another one than is in use."""
    stream = recalled()
    return stream.add(answered(stream, used=USED, now=NOW, moved=True))


def alone() -> Stream:
    """A run that there is nothing to compare with."""
    return Stream().engine().task().whole("oracle", streams.passed(), "fine\n")


@pytest.mark.parametrize(
    ("stream", "keys", "command", "said"),
    [
        (idle_task, (), "run.case", "Press f15 to run this case"),
        (idle_task, (), "run.all", "f15 to run all"),
        (idle_task, (), "pane.cases", "f15 Cases"),
        (idle_task, (), "pane.problems", "f15 Problems"),
        (idle_task, (), "pane.run", "f15 Run"),
        (with_costs, (), "pane.shells", "f15 or a click to type"),
        (streams.died, (), "engine.restart", "f15 starts another engine"),
        (task_streams.build_failed, (), "images", "f15 shows the build"),
        (task_streams.building, ("b",), "images.close", "f15 closes"),
        (task_streams.building, ("b",), "images.cancel", "f15 cancels a build"),
        (task_streams.building, ("b",), "images.ask", "f15 asks registries"),
        (task_streams.opened_task, ("b",), "images.ask", "f15 asks its registry"),
        (moved_on, ("b", "home"), "images.fetch", "f15 fetches that"),
        (stale, ("b",), "watch.toggle", "watch again: f15 on the task"),
        (idle_task, ("m",), "costs.close", "f15 closes"),
        (idle_task, ("m",), "shell.case", "f15 opens a shell"),
        (idle_task, ("at",), "notices.close", "f15 closes"),
        (idle_task, ("question_mark",), "help.close", "f15 closes"),
        (idle_task, ("D",), "grid.repeat", "f15 runs"),
        (streams.holding, (MOVED,), "cases.only", "f15 lists others"),
        (idle_task, ("4",), "shell.case", "f15 opens one on what the case left"),
        (idle_task, ("4",), "shell.image", "f15 one on the image"),
        (alone, ("c",), "run.mark", "mark a run by f15"),
        (alone, ("c",), "run.compare-with", "choose one by f15"),
        (streams.holding, ("3", "slash"), "search.leave", "f15 ends"),
        (two_trials, (NEXT, NEXT, NEXT, "3", "slash"), "search.leave", "f15 shows all"),
        (with_costs, ("4",), "terminal.leave", "f15 leaves"),
        (with_costs, ("4", "f9"), "draft.cancel", "Cancel (f15)"),
        (with_costs, ("4", "shift+f9"), "shells.draft", "f15 writes what was typed"),
    ],
)
async def test_a_sentence_names_the_key_that_the_user_chose(
    stream: Callable[[], Stream],
    keys: tuple[str, ...],
    command: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = Scene(stream, keys, shell=stream is with_costs, dies=stream is streams.died)
    moved = Loaded(Settings(keys={command: MOVED}), (), ())
    async with scene.seen(settings=moved) as driven:
        notices = (told.message for told in driven.app.told)
        assert any(said in text for text in (driven.text, *notices))
