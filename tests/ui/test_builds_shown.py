"""Images and costs on the screen."""

from __future__ import annotations

import pytest

from tests.ui import task_streams as streams
from tests.ui.driving import opened
from tests.ui.streams import TASK, Stream
from tests.ui.task_streams import MINUTE, TaskStream
from workbench import events as ev
from workbench.images.build_events import BuildCancelled, BuildFailed, StepDone, StepOutput, StepStarted


def built() -> TaskStream:
    stream = streams.opened_task().built()
    stream.wait(12)
    return stream


async def test_the_title_tells_when_the_image_was_built() -> None:
    async with opened(built()) as driven:
        assert "environment/Dockerfile · built 12 s ago" in driven.text.splitlines()[0]


async def test_the_title_tells_how_far_a_build_is_before_what_may_be_cut_off() -> None:
    for size in ((160, 50), (80, 24)):
        async with opened(streams.building(), size) as driven:
            assert "building 2/4" in driven.text.splitlines()[0], size


async def test_an_image_of_an_earlier_engine_tells_its_own_age() -> None:
    stream = built()
    stream.wait(3 * MINUTE)
    async with opened(stream) as driven:
        assert "built 3 min ago" in driven.text


async def test_a_failed_build_tells_its_line_and_that_the_image_before_serves() -> None:
    async with opened(streams.build_failed()) as driven:
        assert "✗ build failed" in driven.text.splitlines()[0]
        said = "environment/Dockerfile:3: RUN pip install flask: ended with exit code 1"
        assert f"✗ The image was not built: {said}; the image before still serves" in driven.text
        assert "b shows the build" in driven.text


async def test_a_first_build_that_failed_promises_no_image() -> None:
    stream = TaskStream().engine().task()
    assert isinstance(stream, TaskStream)
    stream.dockerfile().build(upto=2)
    stream.image(BuildFailed(message="ended with exit code 1", line=3, instruction="RUN pip install flask"))
    async with opened(stream) as driven:
        assert "✗ The image was not built" in driven.text
        assert "still serves" not in driven.text


async def test_a_key_shows_the_builds_steps_and_the_output_of_the_one_that_runs() -> None:
    async with opened(streams.building()) as driven:
        await driven.press("b")
        assert "environment/Dockerfile  building 2/4 by buildah 1.39.3" in driven.text
        assert "=     cached   1 :1   FROM python:3.12-slim" in driven.text
        assert "3.40 s   2 :3   RUN pip install flask" in driven.text
        assert "built because environment/app.py changed; the image before serves meanwhile" in driven.text
        assert "Collecting flask" in driven.text
        await driven.press("b")
        assert "Collecting flask" not in driven.text


async def test_the_builds_follow_what_happens() -> None:
    async with opened(streams.building()) as driven:
        await driven.press("b")
        more = TaskStream(streams.building().now)
        more.image(StepDone(step=2, seconds=3.4))
        more.image(StepStarted(step=3, text="WORKDIR /app", line=4)).image(StepDone(step=3, seconds=0.01))
        more.image(StepStarted(step=4, text="COPY app.py /app/", line=5))
        more.image(StepOutput(step=4, text="copying\n"))
        driven.source.feed(*more.events)
        await driven.settle()
        assert "building 4/4" in driven.text
        assert "✓     3.40 s   2 :3   RUN pip install flask" in driven.text
        assert "copying" in driven.text
        assert "Collecting flask" not in driven.text


async def test_a_step_that_was_chosen_stays_in_sight() -> None:
    async with opened(streams.building()) as driven:
        await driven.press("b", "up")
        assert "It printed nothing." in driven.text
        driven.source.feed(*TaskStream().image(StepOutput(step=2, text="more\n")).events)
        await driven.settle()
        assert "It printed nothing." in driven.text
        await driven.press("down")
        assert "more" in driven.text


async def test_the_failing_step_is_what_the_builds_begin_at() -> None:
    async with opened(streams.build_failed()) as driven:
        await driven.press("b")
        assert "✗     failed   2 :3   RUN pip install flask" in driven.text
        assert "ERROR: No matching distribution found for flask" in driven.text


async def test_a_step_is_copied_by_a_key() -> None:
    async with opened(streams.build_failed()) as driven:
        await driven.press("b")
        await driven.press("y")
        assert "RUN pip install flask" in driven.app.clipboard


async def test_a_cancelled_build_shows_that_its_step_ended() -> None:
    stream = streams.building().image(BuildCancelled())
    async with opened(stream) as driven:
        await driven.press("b")
        assert "–      ended   2 :3   RUN pip install flask" in driven.text
        assert "building" not in driven.text


async def test_the_image_itself_tells_what_it_is() -> None:
    async with opened(built()) as driven:
        await driven.press("b")
        assert "✓ environment/Dockerfile  built 12 s ago in 4.20 s by buildah 1.39.3" in driven.text
        await driven.press("home")
        assert "/home/author/.cache/workbench/images/01234567/image.tar" in driven.text


async def test_a_task_without_a_dockerfile_says_what_its_machines_boot() -> None:
    async with opened(streams.opened_task()) as driven:
        await driven.press("b")
        where = "its machines stand on this host's own tools, not on python:3.12-slim."
        assert f"Nothing is built for this task: {where}" in driven.text


async def test_of_a_job_nothing_is_said_to_be_built_or_booted() -> None:
    async with opened(streams.opened_task().made_elsewhere()) as driven:
        await driven.press("b")
        assert "Nothing is built here: these trials were made elsewhere." in driven.text
        assert "boot" not in driven.text


async def test_what_is_built_for_the_verifier_is_shown_beside_the_agents() -> None:
    stream = built().ready(1.0, directory="tests")
    async with opened(stream) as driven:
        await driven.press("b")
        assert "environment/Dockerfile" in driven.text
        assert "tests/Dockerfile  built" in driven.text


async def test_the_title_tells_what_is_alive_and_what_memory_it_takes() -> None:
    async with opened(streams.opened_task().costs()) as driven:
        assert "2 machines 41 MiB, 3 states 2.0 MiB" in driven.text.splitlines()[1]


async def test_costs_give_way_where_there_is_no_room() -> None:
    async with opened(streams.opened_task().costs(), (80, 24)) as driven:
        assert "HOLDS 5/5  all 5 cases came out as they must" in driven.text
        assert "machines" not in driven.text


async def test_a_key_shows_what_each_costs_the_greatest_first() -> None:
    for size in ((160, 50), (80, 24)):
        async with opened(streams.opened_task().costs(), size) as driven:
            await driven.press("m")
            text = driven.text
            assert text.index("machine on what oracle left") < text.index("machine on the image")
            line = next(line for line in text.splitlines() if "machine on what oracle left" in line)
            assert "29 MiB     1.40 s          7" in line
            assert "  inside: 212 MiB of 2.0 GiB, 3 % of a core" in text
            assert "state with what hard-coded left" in text


async def test_a_click_on_what_the_title_says_shows_more_of_it() -> None:
    async with opened(built().costs()) as driven:
        first, second, *_ = driven.text.splitlines()
        await driven.pilot.click("TitleBar", offset=(first.index("built 12 s ago"), 0))
        await driven.settle()
        assert "built 12 s ago in 4.20 s" in driven.text
        await driven.press("escape")
        await driven.pilot.click("TitleBar", offset=(second.index("2 machines"), 1))
        await driven.settle()
        assert "machine on the image" in driven.text


async def test_a_click_on_the_failure_shows_the_build() -> None:
    async with opened(streams.build_failed()) as driven:
        at = driven.text.splitlines()[2].index("b shows the build")
        await driven.pilot.click("Banner", offset=(at, 0))
        await driven.settle()
        assert "ERROR: No matching distribution found for flask" in driven.text


async def test_nothing_alive_costs_nothing() -> None:
    async with opened(Stream().engine().task()) as driven:
        await driven.press("m")
        assert "No machine and no state is alive." in driven.text


async def test_costs_are_those_of_an_engine_that_lives() -> None:
    async with opened(streams.opened_task().costs()) as driven:
        driven.source.die(-9)
        await driven.settle()
        assert "machines" not in driven.text.splitlines()[1]


@pytest.mark.parametrize(
    ("image", "in_registry", "provider", "said"),
    [
        ("environment/Dockerfile", False, "bubblewrap", "environment/Dockerfile has not been built yet."),
        ("environment/Dockerfile", False, "harbor:docker", "environment/Dockerfile is built by Harbor."),
        ("python:3.12-slim", True, "smol", "its machines boot python:3.12-slim."),
        ("image.tar", False, "bubblewrap", "its machines boot image.tar."),
    ],
)
async def test_where_nothing_is_built_it_is_said_what_machines_stand_on(
    image: str, in_registry: bool, provider: str, said: str
) -> None:
    stream = Stream().engine().task()
    stream.add(ev.ProviderChosen(at=stream.now, name=provider, label=provider, why=""))
    stream.add(ev.TaskOpened(at=stream.now, task=TASK, name="x", image=image, in_registry=in_registry))
    async with opened(stream) as driven:
        await driven.press("b")
        assert said in driven.text
