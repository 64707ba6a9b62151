"""A verdict speaks of the files as they are: not of an image of before that still serves."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from tests.engine.test_images import PLACE, build_for_long, built, cache, greeting, hasty, started, verdict
from tests.engine.test_images_told import pause
from tests.engine.test_loop import rewrite
from tests.images.conftest import needs_buildah
from workbench import events as ev
from workbench import wishes
from workbench.images.build_events import BuildCancelled, BuildFailed, BuildStarted, ImageReady
from workbench.link import EngineLink
from workbench.session import TaskView

__all__ = ["cache", "greeting", "hasty"]

pytestmark = [needs_buildah, pytest.mark.timeout(180)]


def stale(view: TaskView) -> set[str]:
    return {case.stale for case in view.cases.values()}


def reason(view: TaskView) -> str:
    assert view.verdict is not None
    return view.verdict.reason


async def test_while_paused_an_edit_of_the_image_takes_the_verdict_back_and_undoing_it_gives_it_again(
    hasty: Engine, greeting: Path
) -> None:
    await hasty.open(greeting)
    view = await pause(hasty, greeting)
    since = len(hasty.events)
    (greeting / "environment/greeting").write_text("good day\n")
    await hasty.until(lambda: verdict(view) == ("unproven", 0, 2))
    assert reason(view) == "the image is stale: environment/greeting changed"
    assert stale(view) == {"environment/greeting changed"}
    (greeting / "environment/greeting").write_text("hello\n")
    await hasty.until(lambda: verdict(view) == ("holds", 2, 2))
    assert stale(view) == {""}
    assert view.settled
    assert started(hasty, since) == {}
    assert not built(hasty, BuildStarted, since)


async def test_what_is_asked_for_while_paused_is_built_first(hasty: Engine, greeting: Path) -> None:
    await hasty.open(greeting)
    view = await pause(hasty, greeting)
    since = len(hasty.events)
    (greeting / "environment/greeting").write_text("good day\n")
    await hasty.until(lambda: verdict(view)[0] == "unproven")
    await hasty.link.send(wishes.Replay(task=str(greeting)))
    await hasty.until(lambda: verdict(view) == ("broken", 1, 2) and view.settled)
    assert [begun.why for begun in built(hasty, BuildStarted, since)] == ["environment/greeting changed"]
    assert [run.case for run in hasty.said(ev.RunStarted, since)] == ["oracle", "nop"]
    assert stale(view) == {""}


async def test_what_runs_while_no_image_can_be_built_proves_nothing(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN echo setting up", "RUN exit 3; echo setting up")
    await hasty.until(lambda: verdict(view) == ("unproven", 0, 2))
    why = "environment/Dockerfile changed"
    failed = "no image could be built: environment/Dockerfile:6: ended with exit code 3"
    assert reason(view).startswith(f"the image is stale: {why}; {failed}")
    assert stale(view) == {why}
    await hasty.link.send(wishes.Replay(task=str(greeting), cases=("oracle",)))
    await hasty.until(lambda: hasty.said(ev.RunEnded, since) and view.settled)
    assert outcome(view.cases["oracle"]).kind == "passed"
    assert stale(view) == {why}
    assert verdict(view) == ("unproven", 0, 2)
    rewrite(greeting / PLACE, "RUN exit 3; echo setting up", "RUN echo setting up")
    await hasty.until(lambda: verdict(view) == ("holds", 2, 2))
    assert stale(view) == {""}
    assert started(hasty, since) == {"oracle": True}


@pytest.mark.parametrize("watch", [False, True])
async def test_a_task_that_can_no_longer_be_built_is_not_opened_on_the_image_of_before(
    hasty: Engine, greeting: Path, watch: bool
) -> None:
    view = await hasty.open(greeting)
    assert verdict(view) == ("holds", 2, 2)
    await hasty.link.stop()
    await hasty.ended()
    rewrite(greeting / PLACE, "RUN echo setting up", "RUN exit 3")
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        other = await again.open(greeting, watch=watch)
        assert verdict(other) == ("unproven", 0, 2)
        assert reason(other).startswith("the image is stale: environment/Dockerfile changed; no image could")
        assert started(again, 0) == {}
        if watch:
            rewrite(greeting / PLACE, "RUN exit 3", "RUN echo setting up")
            await again.until(lambda: verdict(other) == ("holds", 2, 2) and other.settled)


async def test_a_cancelled_build_leaves_the_verdict_unproven(hasty: Engine, greeting: Path) -> None:
    view = await build_for_long(hasty, greeting)
    await hasty.link.send(wishes.CancelBuild(task=str(greeting)))
    await hasty.until(lambda: verdict(view) == ("unproven", 0, 2))
    assert reason(view) == "the image is stale: environment/Dockerfile changed"


async def test_only_a_save_of_what_is_built_begins_a_build_anew(hasty: Engine, greeting: Path) -> None:
    (greeting / "environment/.dockerignore").write_text("*.md\n")
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN echo", "RUN sleep 8\nRUN echo")
    image = view.images["environment"]
    await hasty.until(lambda: image.building and len(image.steps) > 4)
    for path in ("instruction.md", "environment/notes.md"):
        before = len(hasty.events)
        (greeting / path).write_text("Copy it.\n")
        await hasty.until(partial(hasty.said, ev.FilesChanged, before))
    await hasty.until(lambda: built(hasty, ImageReady, since))
    assert len(built(hasty, BuildStarted, since)) == 1
    assert not built(hasty, BuildCancelled, since)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN sleep 8", "RUN sleep 300")
    await hasty.until(lambda: built(hasty, BuildStarted, since) and len(image.steps) > 4)
    rewrite(greeting / PLACE, "RUN sleep 300", "RUN exit 5")
    await hasty.until(lambda: built(hasty, BuildFailed, since))
    assert len(built(hasty, BuildStarted, since)) == 2
    assert len(built(hasty, BuildCancelled, since)) == 1
