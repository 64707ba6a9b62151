"""Images through a real engine: built behind the runs that they serve, from nothing but a static busybox."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from tests.engine.test_loop import rewrite
from tests.engine.test_shells import typing
from tests.images.conftest import BUSYBOX, needs_buildah
from workbench import events as ev
from workbench import wishes
from workbench.images.build_events import (
    BuildEvent,
    BuildFailed,
    BuildStarted,
    ImageReady,
    StepDone,
    StepOutput,
)
from workbench.link import EngineLink, EngineOptions
from workbench.session import TaskView

pytestmark = [needs_buildah, pytest.mark.timeout(180)]

CONFIG = """\
version = "1.0"

[task]
name = "tests/greeting"
description = "Copy a greeting."

[agent]
timeout_sec = 30.0

[verifier]
timeout_sec = 30.0

[environment]
build_timeout_sec = 60.0
"""
DOCKERFILE = """\
FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
WORKDIR /app
COPY greeting /app/greeting
RUN echo setting up && cat greeting
"""
TEST = """\
#!/bin/sh
reward=0
grep hello /app/out && reward=1
echo $reward > /logs/verifier/reward.txt
"""
PLACE = "environment/Dockerfile"


FILES = {
    "task.toml": CONFIG,
    "instruction.md": "Copy /app/greeting to /app/out.\n",
    "solution/solve.sh": "#!/bin/sh\ncp /app/greeting /app/out\n",
    "tests/test.sh": TEST,
    PLACE: DOCKERFILE,
    "environment/greeting": "hello\n",
}


def write_greeting(task: Path, busybox: Path, files: Mapping[str, str]) -> Path:
    """A task whose image is built from a directory with a Dockerfile."""
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
        (task / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    shutil.copy(busybox, task / "environment/busybox")
    return task


@pytest.fixture
def greeting(tmp_path: Path) -> Path:
    """The task as it is."""
    return write_greeting(tmp_path / "greeting", BUSYBOX, FILES)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image store of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that never confirms."""
    options = EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state", confirm="never")
    async with EngineLink(options) as link:
        yield Engine(link)


def built[E: BuildEvent](engine: Engine, kind: type[E], since: int = 0) -> list[E]:
    """What was said of builds, of one kind."""
    return [event.build for event in engine.said(ev.ImageEvent, since) if isinstance(event.build, kind)]


def started(engine: Engine, since: int) -> dict[str, bool]:
    """The cases that ran, and whether as whole trials."""
    return {event.case: event.whole for event in engine.said(ev.RunStarted, since)}


def verdict(view: TaskView) -> tuple[str, int, int]:
    assert view.verdict is not None
    return view.verdict.kind, view.verdict.held, view.verdict.total


async def build_for_long(engine: Engine, task: Path) -> TaskView:
    """Open a task and save what takes longer to build than anyone waits, until that has begun."""
    view = await engine.open(task)
    rewrite(task / PLACE, "RUN echo", "RUN sleep 300\nRUN echo")
    image = view.images["environment"]
    await engine.until(lambda: image.building and len(image.steps) > 4)
    return view


async def settled(engine: Engine, view: TaskView, since: int) -> None:
    """Wait until what a save led to is over."""
    await engine.until(lambda: engine.said(ev.FilesChanged, since) and engine.said(ev.Settled, since))
    await engine.until(lambda: view.settled)


async def test_a_task_with_a_dockerfile_is_built_and_holds(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    assert verdict(view) == ("holds", 2, 2)
    [begun] = built(hasty, BuildStarted)
    assert begun.builder.startswith("buildah ")
    assert begun.why == "there is no image yet"
    assert begun.lines == (1, 2, 3, 4, 5, 6)
    assert "setting up\n" in [event.text for event in built(hasty, StepOutput)]
    [ready] = built(hasty, ImageReady)
    assert ready.seconds > 0
    assert Path(ready.archive).is_relative_to(greeting.parent / "cache")
    image = view.images["environment"]
    assert (image.building, image.failed, image.ready) == (False, None, ready)
    # No run began before there was an image.
    kinds = [type(event).__name__ for event in hasty.events]
    assert kinds.index("RunStarted") > max(i for i, kind in enumerate(kinds) if kind == "ImageEvent")


async def test_a_shell_that_is_asked_for_with_the_task_waits_for_its_image(
    hasty: Engine, greeting: Path
) -> None:
    await hasty.link.send(wishes.OpenTask(task=str(greeting), watch=False, replay=False))
    async with typing(hasty, greeting) as shell:
        assert len(built(hasty, ImageReady)) == 1
        assert await shell.run("cat greeting; echo $0") == "hello\n/bin/sh\n"


@pytest.mark.parametrize(
    ("path", "whole"),
    [("instruction.md", True), ("tests/test.sh", False), ("solution/solve.sh", True)],
)
async def test_an_edit_elsewhere_builds_nothing(
    hasty: Engine, greeting: Path, path: str, whole: bool
) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    (greeting / path).write_text((greeting / path).read_text() + "\n")
    await settled(hasty, view, since)
    assert set(started(hasty, since).values()) == {whole}
    assert not built(hasty, BuildStarted, since)


async def test_an_edit_of_the_image_rebuilds_only_what_changed_and_runs_all_on_it(
    hasty: Engine, greeting: Path
) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    (greeting / "environment/greeting").write_text("good day\n")
    await hasty.until(lambda: verdict(view)[0] == "broken" and view.settled)
    [begun] = built(hasty, BuildStarted, since)
    assert begun.why == "environment/greeting changed"
    # The first step, FROM, makes no layer.
    assert [event.cached for event in built(hasty, StepDone, since)][1:] == [True, True, True, False, False]
    assert started(hasty, since) == {"oracle": True, "nop": True}
    (greeting / "environment/greeting").write_text("hello again\n")
    await hasty.until(lambda: verdict(view)[0] == "holds" and view.settled)


async def test_an_image_serves_while_a_new_one_is_built(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN echo", "RUN sleep 5\nRUN echo")
    await hasty.until(lambda: built(hasty, BuildStarted, since))
    await hasty.link.send(wishes.Replay(task=str(greeting), cases=("oracle",)))
    await hasty.until(lambda: hasty.said(ev.RunEnded, since))
    assert not built(hasty, ImageReady, since)
    assert view.images["environment"].building
    assert view.images["environment"].ready is not None
    assert outcome(view.cases["oracle"]).kind == "passed"
    await hasty.until(lambda: built(hasty, ImageReady, since) and view.settled)


async def test_a_failing_instruction_is_told_with_its_line_and_mending_it_needs_no_restart(
    hasty: Engine, greeting: Path
) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN echo setting up", "RUN echo oh no; exit 3\nRUN echo setting up")
    await hasty.until(lambda: built(hasty, BuildFailed, since))
    [failed] = built(hasty, BuildFailed, since)
    assert (failed.line, failed.instruction) == (6, "RUN echo oh no; exit 3")
    assert "exit code 3" in failed.message
    assert "oh no\n" in [event.text for event in built(hasty, StepOutput, since)]
    image = view.images["environment"]
    assert (image.building, image.failed) == (False, failed)
    assert image.ready is not None
    await hasty.until(lambda: any(problem.rule == "image-not-built" for problem in view.problems))
    [problem] = [problem for problem in view.problems if problem.rule == "image-not-built"]
    assert (problem.path, problem.line) == (PLACE, 6)
    # The image before still serves.
    await hasty.link.send(wishes.Replay(task=str(greeting), cases=("oracle",)))
    await hasty.until(lambda: hasty.said(ev.RunEnded, since))
    assert hasty.said(ev.RunEnded, since)[-1].outcome.kind == "passed"
    since = len(hasty.events)
    rewrite(greeting / PLACE, "exit 3", "exit 0")
    await hasty.until(lambda: built(hasty, ImageReady, since))
    await hasty.until(lambda: verdict(view) == ("holds", 2, 2) and view.settled)
    assert image.failed is None
    await hasty.until(lambda: not any(problem.rule == "image-not-built" for problem in view.problems))


async def test_undoing_the_edit_that_failed_tells_that_the_image_before_is_the_right_one(
    hasty: Engine, greeting: Path
) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "RUN echo setting up", "RUN exit 5; echo setting up")
    await hasty.until(lambda: built(hasty, BuildFailed, since))
    rewrite(greeting / PLACE, "RUN exit 5; echo setting up", "RUN echo setting up")
    await hasty.until(lambda: built(hasty, ImageReady, since))
    assert view.images["environment"].failed is None
    [ready] = built(hasty, ImageReady, since)
    assert (ready.same, ready.seconds) == (True, 0.0)
    await hasty.until(lambda: view.settled)
    assert started(hasty, since) == {}


async def test_where_the_first_build_fails_nothing_runs_and_mending_it_runs_all(
    hasty: Engine, greeting: Path
) -> None:
    rewrite(greeting / PLACE, "RUN echo setting up", "RUN exit 4")
    view = await hasty.open(greeting)
    assert verdict(view) == ("unproven", 0, 2)
    assert view.verdict is not None
    assert "environment/Dockerfile:6" in view.verdict.reason
    assert not hasty.said(ev.RunStarted)
    await hasty.link.send(wishes.OpenShell(task=str(greeting), shell="one"))
    await hasty.until(lambda: "one" in view.shells)
    assert view.shells["one"] == hasty.said(ev.ShellFailed)[0]
    assert hasty.said(ev.ShellFailed)[0].reason.startswith("there is no image to boot")
    rewrite(greeting / PLACE, "RUN exit 4", "RUN exit 0")
    await hasty.until(lambda: verdict(view) == ("holds", 2, 2) and view.settled)
    async with typing(hasty, greeting, "two") as shell:
        assert await shell.run("cat greeting") == "hello\n"


async def test_a_build_that_gives_the_same_image_runs_nothing(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    rewrite(greeting / PLACE, "WORKDIR /app\n", "# where it happens\nWORKDIR /app\n")
    await hasty.until(lambda: built(hasty, ImageReady, since))
    assert built(hasty, ImageReady, since)[0].same
    await hasty.until(lambda: view.settled)
    assert started(hasty, since) == {}
    assert verdict(view) == ("holds", 2, 2)


async def test_an_image_outlives_its_engine_and_tells_its_age(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    first = view.images["environment"]
    await hasty.link.stop()
    await hasty.ended()
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        other = await again.open(greeting)
        assert verdict(other) == ("holds", 2, 2)
        assert not built(again, BuildStarted)
        [ready] = built(again, ImageReady)
        assert first.ready is not None
        assert (ready.result, ready.built_at) == (first.ready.result, first.ready.built_at)
        assert other.images["environment"].built_at == first.built_at


async def test_cancelling_everything_ends_the_build(hasty: Engine, greeting: Path) -> None:
    rewrite(greeting / PLACE, "RUN echo", "RUN sleep 300\nRUN echo")
    await hasty.link.send(wishes.OpenTask(task=str(greeting), watch=False))
    view = hasty.session.task(str(greeting))
    await hasty.until(lambda: view.images.get("environment") and view.images["environment"].building)
    await hasty.link.send(wishes.Cancel(task=str(greeting)))
    await hasty.until(lambda: not view.images["environment"].building)
    assert not hasty.said(ev.RunStarted)


async def test_where_there_is_no_builder_the_message_says_what_to_install(
    tmp_path: Path, greeting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    async with EngineLink(EngineOptions(provider="bubblewrap", state_dir=tmp_path / "state")) as link:
        engine = Engine(link)
        view = await engine.open(greeting)
        assert view.verdict is not None
        assert view.verdict.kind == "unproven"
        assert "buildah" in view.verdict.reason
