"""What is told of images besides their builds: that they are stale, that none starts, what registries say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.conftest import Engine, outcome
from tests.engine.test_images import (
    CONFIG,
    DOCKERFILE,
    PLACE,
    build_for_long,
    built,
    cache,
    greeting,
    hasty,
    settled,
    started,
    verdict,
)
from tests.engine.test_loop import rewrite
from tests.images.conftest import needs_buildah
from tests.images.test_registry import Registry, registry
from workbench import events as ev
from workbench import wishes
from workbench.engine.images import Images, is_in_registry
from workbench.images.build_events import BuildFailed, BuildStarted, ImageReady, ImageStale, StepRecord
from workbench.images.errors import ImageError
from workbench.link import EngineLink
from workbench.session import TaskView
from workbench.task.load import load

__all__ = ["cache", "greeting", "hasty", "registry"]

pytestmark = [needs_buildah, pytest.mark.timeout(180)]


async def pause(engine: Engine, task: Path, *, watching: bool = False) -> TaskView:
    view = engine.session.task(str(task))
    await engine.link.send(wishes.SetWatching(task=str(task), watching=watching))
    await engine.until(lambda: view.watching == watching)
    return view


async def test_an_edit_while_paused_tells_what_made_the_image_stale_and_builds_nothing(
    hasty: Engine, greeting: Path
) -> None:
    await hasty.open(greeting)
    view = await pause(hasty, greeting)
    image, since = view.images["environment"], len(hasty.events)
    (greeting / "environment/greeting").write_text("good day\n")
    await hasty.until(lambda: image.stale == "environment/greeting changed")
    rewrite(greeting / PLACE, "WORKDIR /app", "WORKDIR /app\nENV A=1")
    both = "environment/Dockerfile changed, environment/greeting changed"
    await hasty.until(lambda: image.stale == both)
    assert not built(hasty, BuildStarted, since)
    await pause(hasty, greeting, watching=True)
    await hasty.until(lambda: verdict(view)[0] == "broken" and view.settled)
    assert [begun.why for begun in built(hasty, BuildStarted, since)] == [both]
    assert image.stale == ""


async def test_undoing_an_edit_while_paused_makes_the_image_fresh_again(
    hasty: Engine, greeting: Path
) -> None:
    await hasty.open(greeting)
    view = await pause(hasty, greeting)
    image, since = view.images["environment"], len(hasty.events)
    (greeting / "environment/greeting").write_text("good day\n")
    await hasty.until(lambda: image.stale)
    (greeting / "environment/greeting").write_text("hello\n")
    await hasty.until(lambda: not image.stale)
    assert [told.why for told in built(hasty, ImageStale, since)] == ["environment/greeting changed", ""]


async def test_a_task_opened_paused_is_watched_for_what_goes_stale_and_built_on_resuming(
    hasty: Engine, greeting: Path
) -> None:
    await hasty.link.send(wishes.OpenTask(task=str(greeting), watch=False, replay=False))
    view = hasty.session.task(str(greeting))
    await hasty.until(lambda: "environment" in view.images and view.images["environment"].ready)
    await hasty.until(lambda: view.settled)
    image, since = view.images["environment"], len(hasty.events)
    (greeting / "environment/greeting").write_text("hello you\n")
    await hasty.until(lambda: image.stale == "environment/greeting changed")
    assert not built(hasty, BuildStarted, since)
    await pause(hasty, greeting, watching=True)
    await hasty.until(lambda: verdict(view) == ("holds", 2, 2) and view.settled)
    assert [told.why for told in built(hasty, BuildStarted, since)] == ["environment/greeting changed"]


async def test_a_build_that_was_cancelled_leaves_the_image_stale(hasty: Engine, greeting: Path) -> None:
    image = (await build_for_long(hasty, greeting)).images["environment"]
    await hasty.link.send(wishes.Cancel(task=str(greeting)))
    await hasty.until(lambda: image.stale == "environment/Dockerfile changed")
    assert not image.building


async def test_an_image_tells_the_steps_of_its_build_also_to_a_later_engine(
    hasty: Engine, greeting: Path
) -> None:
    view = await hasty.open(greeting)
    since = len(hasty.events)
    (greeting / "environment/greeting").write_text("hello you\n")
    await hasty.until(lambda: built(hasty, ImageReady, since) and view.settled)
    [ready] = built(hasty, ImageReady, since)
    assert ready.builder.startswith("buildah ")
    assert ready.took > 0
    found = [(step.line, step.cached) for step in ready.steps]
    assert found[1:] == [(2, True), (3, True), (4, True), (5, False), (6, False)]
    await hasty.link.stop()
    await hasty.ended()
    async with EngineLink(hasty.link.options) as link:
        again = Engine(link)
        other = await again.open(greeting)
        image = other.images["environment"]
        steps = [
            StepRecord(step.started.text, step.started.line, step.done.seconds, step.done.cached)
            for step in image.steps.values()
            if step.done and step.recalled
        ]
        assert tuple(steps) == ready.steps
        assert image.ready is not None
        assert image.ready.took == ready.took


async def test_where_a_login_shell_loses_the_images_path_the_author_is_told(
    hasty: Engine, greeting: Path
) -> None:
    rewrite(greeting / PLACE, "WORKDIR /app", "ENV PATH=/opt/tools/bin:$PATH\nWORKDIR /app")
    view = await hasty.open(greeting)
    await hasty.until(lambda: any(problem.rule == "login-shell-path" for problem in view.problems))
    [problem] = [problem for problem in view.problems if problem.rule == "login-shell-path"]
    assert (problem.path, problem.line, problem.severity) == (PLACE, 4, "warning")
    assert "forgets /opt/tools/bin of the image's PATH" in problem.message
    rewrite(greeting / PLACE, "ENV PATH=/opt/tools/bin:$PATH\n", "")
    await hasty.until(lambda: not any(problem.rule == "login-shell-path" for problem in view.problems))


async def test_what_makes_builds_slow_is_told_with_its_line(hasty: Engine, greeting: Path) -> None:
    mount = "RUN --mount=type=bind,source=greeting,target=/m cat /m > /app/greeting"
    rewrite(greeting / PLACE, "COPY greeting /app/greeting", mount)
    view = await hasty.open(greeting)
    await hasty.until(lambda: any(problem.rule == "slow-build" for problem in view.problems))
    [problem] = [problem for problem in view.problems if problem.rule == "slow-build"]
    assert (problem.path, problem.line) == (PLACE, 5)
    assert "no layer is reused" in problem.message


async def test_a_build_can_be_cancelled_alone(hasty: Engine, greeting: Path) -> None:
    view = await hasty.open(greeting)
    rewrite(greeting / PLACE, "RUN echo", "RUN sleep 300\nRUN echo")
    image = view.images["environment"]
    await hasty.until(lambda: image.building and len(image.steps) > 4)
    (greeting / "solution/solve.sh").write_text("#!/bin/sh\nsleep 3\ncp /app/greeting /app/out\n")
    since = len(hasty.events)
    await hasty.until(lambda: any(run.case == "oracle" for run in hasty.said(ev.RunStarted, since)))
    await hasty.link.send(wishes.CancelBuild(task=str(greeting)))
    await hasty.until(lambda: not image.building)
    await hasty.until(lambda: view.settled)
    assert outcome(view.cases["oracle"]).kind == "passed"


async def test_a_verifiers_build_has_its_own_timeout(hasty: Engine, greeting: Path) -> None:
    (greeting / "tests/Dockerfile").write_text((greeting / PLACE).read_text() + "RUN sleep 300\n")
    for name in ("busybox", "greeting"):
        shutil.copy(greeting / "environment" / name, greeting / "tests" / name)
    separate = '[verifier]\nenvironment_mode = "separate"\n[verifier.environment]\nbuild_timeout_sec = 2.0\n'
    (greeting / "task.toml").write_text(CONFIG.replace("[verifier]\ntimeout_sec = 30.0\n", separate))
    view = await hasty.open(greeting)
    [failed] = built(hasty, BuildFailed)
    assert failed.message == "the build took longer than 2 s"
    assert view.images["tests"].failed == failed
    assert view.images["environment"].failed is None


# A build that went well, and a machine on its image that does not: neither is told as the other.


def assert_not_graded(view: TaskView, why: str) -> None:
    """Doing nothing must fail, but what was not graded did not."""
    nop = outcome(view.cases["nop"])
    assert (nop.kind, nop.met) == ("void", None)
    assert nop.reason.startswith(f"it was not graded: {why}")


async def test_an_environment_that_never_becomes_healthy_is_no_failed_build(
    hasty: Engine, greeting: Path
) -> None:
    check = '[environment.healthcheck]\ncommand = "false"\ninterval_sec = 0.01\nretries = 1\n'
    (greeting / "task.toml").write_text((greeting / "task.toml").read_text() + check)
    view = await hasty.open(greeting)
    assert view.images["environment"].failed is None
    assert outcome(view.cases["oracle"]).kind == "error"
    assert outcome(view.cases["oracle"]).reason.startswith("the environment never became healthy")
    assert verdict(view) == ("broken", 0, 2)
    assert view.verdict is not None
    assert view.verdict.reason.startswith("oracle must pass: the environment never became healthy")
    assert_not_graded(view, "the environment never became healthy")


async def test_an_image_without_a_shell_did_not_start_and_is_no_failed_build(
    hasty: Engine, greeting: Path
) -> None:
    (greeting / PLACE).write_text("FROM scratch\nCOPY greeting /\n")
    view = await hasty.open(greeting)
    assert view.images["environment"].ready is not None
    assert outcome(view.cases["oracle"]).kind == "error"
    assert outcome(view.cases["oracle"]).reason.startswith("the environment did not start: ")
    assert "has no /bin/sh" in outcome(view.cases["oracle"]).reason
    assert verdict(view) == ("unproven", 0, 2)
    assert view.verdict is not None
    assert view.verdict.reason.startswith("oracle is error: the environment did not start: ")
    assert_not_graded(view, "the environment did not start: ")


async def test_an_entrypoint_that_ends_takes_its_machine_with_it_as_in_a_container(
    hasty: Engine, greeting: Path
) -> None:
    broken = 'ENTRYPOINT ["/bin/sh", "-c", "sleep 0.2; echo no licence >&2; exit 7"]\n'
    (greeting / PLACE).write_text((greeting / PLACE).read_text() + broken)
    (greeting / "solution/solve.sh").write_text("#!/bin/sh\nsleep 5\ncp /app/greeting /app/out\n")
    view = await hasty.open(greeting)
    assert view.images["environment"].failed is None
    reason = outcome(view.cases["oracle"]).reason
    assert reason.startswith("the machine died: ")
    assert reason.endswith("its image's entrypoint, /bin/sh, ended with exit code 7: no licence")
    assert verdict(view)[0] == "unproven"
    assert view.verdict is not None
    assert view.verdict.reason == f"oracle is killed: {reason}"


async def test_an_entrypoint_runs_beside_the_commands_also_where_tests_are_verified_again(
    hasty: Engine, greeting: Path
) -> None:
    (greeting / "environment/start").write_text('#!/bin/sh\necho "$0 $PWD $A" > /run/begun\nexec "$@"\n')
    (greeting / "environment/start").chmod(0o755)
    begin = 'ENV A=1\nRUN mkdir -p /run\nCOPY start /start\nENTRYPOINT ["/start"]\n'
    (greeting / PLACE).write_text((greeting / PLACE).read_text() + begin)
    wait = "while ! [ -s /run/begun ]; do sleep 0.05; done; cat /run/begun\n"
    rewrite(greeting / "tests/test.sh", "reward=0\n", f"{wait}reward=0\n")
    view = await hasty.open(greeting)
    assert verdict(view) == ("holds", 2, 2)
    oracle = view.cases["oracle"].decided
    assert oracle is not None
    assert "/start /app 1\n" in oracle.text("verifier")
    since = len(hasty.events)
    rewrite(greeting / "tests/test.sh", "cat /run/begun\n", "cat /run/begun\nrm /run/begun\n")
    await settled(hasty, view, since)
    assert set(started(hasty, since).values()) == {False}
    assert verdict(view) == ("holds", 2, 2)


# Other images than the agent's


def build_tests(task: Path, tests: Path) -> None:
    """Give tests a Dockerfile, for an image of the verifier's own."""
    shutil.copy(task / "environment/busybox", tests / "busybox")
    (tests / "Dockerfile").write_text(f"{DOCKERFILE.partition('WORKDIR')[0]}COPY . /tests\n")


async def builds_on_edit(engine: Engine, view: TaskView, tests: Path) -> set[str]:
    """The directories whose images an edit of the tests builds."""
    since = len(engine.events)
    rewrite(tests / "test.sh", "grep hello", "grep -q hello")
    await engine.until(lambda: built(engine, ImageReady, since) and view.settled)
    return {event.directory for event in engine.said(ev.ImageEvent, since)}


async def test_the_verifiers_dockerfile_is_an_image_of_its_own(hasty: Engine, greeting: Path) -> None:
    text = (
        (greeting / "task.toml")
        .read_text()
        .replace("[verifier]\n", '[verifier]\nenvironment_mode = "separate"\n')
    )
    (greeting / "task.toml").write_text(f'artifacts = ["/app/out"]\n{text}')
    build_tests(greeting, greeting / "tests")
    view = await hasty.open(greeting)
    assert set(view.images) == {"environment", "tests"}
    assert verdict(view) == ("holds", 2, 2)
    assert await builds_on_edit(hasty, view, greeting / "tests") == {"tests"}
    assert verdict(view) == ("holds", 2, 2)
    since = len(hasty.events)
    rewrite(greeting / "tests/Dockerfile", "COPY . /tests", "RUN exit 9\nCOPY . /tests")
    await hasty.until(lambda: built(hasty, BuildFailed, since))
    await hasty.until(lambda: any(problem.rule == "image-not-built" for problem in view.problems))
    [problem] = [problem for problem in view.problems if problem.rule == "image-not-built"]
    assert (problem.path, problem.line) == ("tests/Dockerfile", 4)


async def test_registries_are_asked_when_it_is_wished_and_not_before(
    hasty: Engine, greeting: Path, registry: Registry
) -> None:
    digest = registry.put("1", {"config": {"digest": "sha256:" + "c" * 64}})
    name = f"{registry.host}/team/base:1"
    pinned = f"{registry.host}/team/other@{digest}"
    (greeting / PLACE).write_text(
        f"FROM {name} AS unused\nFROM {pinned} AS too\n{(greeting / PLACE).read_text()}"
    )
    view = await hasty.open(greeting)
    assert verdict(view) == ("holds", 2, 2)
    assert registry.asked == []
    assert view.images["environment"].ready is not None
    bases = {base.name: base.pinned for base in view.images["environment"].ready.bases}
    assert bases == {name: False, pinned: True}
    await hasty.link.send(wishes.AskRegistries(task=str(greeting)))
    await hasty.until(lambda: view.registries)
    answer = view.registries[name]
    assert (answer.now, answer.used, answer.moved, answer.error) == (digest, "", False, "")
    assert (view.registries[pinned].used, view.registries[pinned].pinned) == (digest, True)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python:3.12-slim", True),
        ("ghcr.io/team/image.tar", True),
        ("", False),
        ("./image.tar", False),
        ("/images/image.tar", False),
        ("kept/image", False),
    ],
)
def test_what_lies_on_this_machine_is_no_name_in_a_registry(
    greeting: Path, image: str, expected: bool
) -> None:
    (greeting / "kept").mkdir()
    (greeting / "kept/image").touch()
    if image:
        (greeting / "task.toml").write_text(f'{CONFIG}docker_image = "{image}"\n')
    task, _ = load(greeting)
    assert task is not None
    assert is_in_registry(task, task.image) is expected


async def test_a_store_that_cannot_be_made_is_said(greeting: Path) -> None:
    task, _ = load(greeting)
    assert task is not None
    images = Images(greeting / "task.toml" / "images", lambda event: None)
    with pytest.raises(ImageError, match=r"task\.toml/images.*[Nn]ot a directory"):
        await images.ensure(task)


async def test_a_steps_tests_have_an_image_of_their_own(hasty: Engine, greeting: Path) -> None:
    steps = '\n[[steps]]\nname = "greet"\n'
    separate = '[verifier]\nenvironment_mode = "separate"\n'
    text = CONFIG.replace('version = "1.0"\n', 'version = "1.0"\nartifacts = ["/app/out"]\n')
    (greeting / "task.toml").write_text(text.replace("[verifier]\n", separate) + steps)
    step = greeting / "steps/greet"
    step.mkdir(parents=True)
    for name in ("tests", "solution", "instruction.md"):
        (greeting / name).rename(step / name)
    build_tests(greeting, step / "tests")
    view = await hasty.open(greeting)
    assert set(view.images) == {"environment", "steps/greet/tests"}
    assert verdict(view) == ("holds", 2, 2)
    assert await builds_on_edit(hasty, view, step / "tests") == {"steps/greet/tests"}
