"""What the screen tells of images besides their builds: of what they are, and whether they still are that."""

from __future__ import annotations

import pytest

from tests.ui import task_streams as streams
from tests.ui.driving import opened
from tests.ui.streams import TASK
from tests.ui.task_streams import TaskStream
from workbench import events as ev
from workbench import wishes
from workbench.images.build_events import BaseImage, ImageReady, ImageStale, RegistryAnswer, StepRecord

USED, NOW = "sha256:" + "1234567890ab" * 5, "sha256:" + "ba0987654321" * 5
STEPS = (
    StepRecord("FROM python:3.12-slim", 1, 0.01, False),
    StepRecord("RUN pip install flask", 3, 0.0, True),
    StepRecord("WORKDIR /app", 4, 0.0, True),
    StepRecord("COPY app.py /app/", 5, 0.25, False),
)
PINNED = f"debian@{USED}"


def recalled() -> TaskStream:
    """An image that an earlier engine built."""
    stream = TaskStream().engine().task()
    assert isinstance(stream, TaskStream)
    ready = ImageReady(
        key="k",
        result="r",
        archive="/home/author/.cache/workbench/images/archives/r/image.tar",
        seconds=0.0,
        built_at=stream.now,
        took=1.5,
        builder="buildah 1.39.3",
        steps=STEPS,
        bases=(BaseImage("python:3.12-slim", USED), BaseImage(PINNED, USED, pinned=True)),
        warnings=("Dockerfile:4: buildah cannot tell when a bind mount changed, so no layer is reused",),
    )
    stream.dockerfile().image(ready)
    stream.wait(30)
    return stream


def answered(stream: TaskStream, **answer: object) -> ev.RegistriesAsked:
    told = RegistryAnswer("python:3.12-slim", **answer)  # type: ignore[arg-type]
    return ev.RegistriesAsked(at=stream.now, task=TASK, answers=(told,))


async def test_a_stale_image_is_told_in_the_title_with_the_file_that_made_it_so() -> None:
    stream = recalled().image(ImageStale(why="environment/app.py changed"))
    async with opened(stream) as driven:
        assert "! stale: environment/app.py changed" in driven.text.splitlines()[0]
        driven.source.feed(*TaskStream().image(ImageStale(why="")).events)
        await driven.settle()
        assert "stale" not in driven.text.splitlines()[0]
        assert "built 30 s ago" in driven.text.splitlines()[0]


@pytest.mark.parametrize(
    ("watching", "then"),
    [
        (True, "the next save builds it"),
        (False, "it is built when you run cases, or watch again: p on the task"),
    ],
)
async def test_a_stale_image_says_what_builds_it(watching: bool, then: str) -> None:
    stream = recalled().image(ImageStale(why="environment/app.py changed"))
    stream.add(ev.WatchingChanged(at=stream.now, task=TASK, watching=watching))
    async with opened(stream) as driven:
        await driven.press("b")
        assert "! environment/Dockerfile  stale" in driven.text
        assert f"! stale: environment/app.py changed; {then}" in driven.text


async def test_the_steps_of_an_earlier_engines_build_are_told_with_what_each_cost() -> None:
    async with opened(recalled()) as driven:
        await driven.press("b")
        assert "2 of 3 steps reused, the rest took 0.25 s" in driven.text
        assert "=     cached   2 :3   RUN pip install flask" in driven.text
        assert "✓     0.25 s   4 :5   COPY app.py /app/" in driven.text
        await driven.press("end")
        assert "It was built earlier; what it printed then is not kept." in driven.text


async def test_an_image_tells_what_it_was_built_from_and_what_is_pinned() -> None:
    async with opened(recalled()) as driven:
        await driven.press("b", "home")
        assert "built       30 s ago in 1.50 s by buildah 1.39.3" in driven.text
        unpinned = "python:3.12-slim  not pinned, in use is 1234567890ab; u asks its registry"
        assert f"from        {unpinned}" in driven.text
        assert f"{PINNED}  pinned" in driven.text
        assert "note        Dockerfile:4: buildah cannot tell when a bind mount changed" in driven.text


async def test_registries_are_asked_by_a_key_and_what_moved_is_fetched_by_another() -> None:
    stream = recalled()
    async with opened(stream) as driven:
        await driven.press("b", "home", "u")
        assert driven.source.sent[-1] == wishes.AskRegistries(task=TASK)
        driven.source.feed(answered(stream, used=USED, now=NOW, moved=True))
        await driven.settle()
        assert "its name has moved to ba0987654321: U fetches that" in driven.text
        await driven.press("U")
        assert driven.source.sent[-1] == wishes.AskRegistries(task=TASK, fetch=True)
        driven.source.feed(answered(stream, used=USED, now=USED))
        await driven.settle()
        assert "its name has not moved" in driven.text


async def test_a_registry_that_does_not_answer_is_told() -> None:
    stream = recalled()
    stream.add(answered(stream, used=USED, error="python:3.12-slim: docker.io does not answer: refused"))
    async with opened(stream) as driven:
        await driven.press("b", "home")
        assert "in use is 1234567890ab; python:3.12-slim: docker.io does not answer: refused" in driven.text


async def test_an_image_that_is_only_named_says_whether_it_is_pinned_and_what_its_name_stands_for() -> None:
    stream = streams.opened_task()
    async with opened(stream) as driven:
        await driven.press("b")
        assert "python:3.12-slim  not pinned; u asks its registry" in driven.text
        driven.source.feed(answered(stream, now=NOW))
        await driven.settle()
        assert "its name stands for ba0987654321 now" in driven.text


async def test_a_build_is_cancelled_by_a_key_where_it_is_shown() -> None:
    async with opened(streams.building()) as driven:
        await driven.press("b", "x")
        assert driven.source.sent[-1] == wishes.CancelBuild(task=TASK)
