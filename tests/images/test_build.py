"""Builds for real, by buildah, from nothing but a static busybox."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.images.conftest import BASE, Workshop, needs_buildah
from workbench.images.archive import open_archive
from workbench.images.build_events import (
    BuildCancelled,
    BuildFailed,
    BuildStarted,
    ImageReady,
    ImageStale,
    StepDone,
    StepOutput,
    StepStarted,
)
from workbench.images.buildah import Buildah, find_buildah
from workbench.images.builder import BuildError
from workbench.images.errors import ImageError
from workbench.images.keeper import ImageKeeper
from workbench.images.store import BuiltImage, ImageStore

pytestmark = [needs_buildah, pytest.mark.timeout(120)]
FIRST = BASE.count("\n") + 1
"""The first line below `BASE`."""


def read(image: BuiltImage, name: str) -> str:
    with open_archive(image.archive) as archive, archive.open(archive.layers[0]) as data:
        for member in (tar := tarfile.open(fileobj=data, mode="r|")):  # noqa: SIM115
            if member.name.removeprefix("./") == name:
                file = tar.extractfile(member)
                assert file is not None
                return file.read().decode()
    raise FileNotFoundError(name)


def names(image: BuiltImage) -> set[str]:
    with open_archive(image.archive) as archive, archive.open(archive.layers[0]) as data:
        return {member.name.removeprefix("./") for member in tarfile.open(fileobj=data, mode="r|")}


async def test_a_dockerfile_becomes_an_archive_of_one_layer(workshop: Workshop) -> None:
    (workshop.context / "app.txt").write_text("hello")
    workshop.dockerfile(
        "COPY app.txt /app/\nRUN echo built > /app/log\nENV A=1\nWORKDIR /app\nUSER 7\nCMD x\n"
    )
    image = await workshop.keeper.ensure()
    assert (read(image, "app/app.txt"), read(image, "app/log")) == ("hello", "built\n")
    with open_archive(image.archive) as archive:
        assert len(archive.layers) == 1
        config = archive.config
    assert (config.env["A"], config.workdir, config.user) == ("1", "/app", "7")
    assert config.cmd == ("/bin/sh", "-c", "x")
    lines = [event.line for event in workshop.events if isinstance(event, StepStarted)]
    assert set(lines) >= {2, 3, 4, 6}  # buildah shows those that only change the config, too
    (ready,) = workshop.said(ImageReady)
    assert (ready.key, ready.result, ready.archive) == (image.key, image.result, str(image.archive))


async def test_nothing_changed_builds_nothing_not_even_in_another_engine(workshop: Workshop) -> None:
    workshop.dockerfile("RUN :\n")
    first = await workshop.keeper.ensure()
    workshop.events.clear()
    assert (await workshop.keeper.ensure()).key == first.key
    assert await workshop.keeper.stale() == ""
    other = workshop.open(workshop.context)
    assert other.current is not None
    assert other.current.archive == first.archive
    assert (await other.ensure()).archive == first.archive
    assert workshop.events == []


async def test_an_edit_to_the_last_copied_file_reuses_every_layer_before_it(workshop: Workshop) -> None:
    for name in ("a", "b"):
        (workshop.context / name).write_text("one")
    workshop.dockerfile("COPY a /a\nRUN echo slow\nCOPY b /b\n")
    await workshop.keeper.ensure()
    workshop.events.clear()
    new = secrets.token_hex()  # nothing that an earlier run of the tests can have built
    (workshop.context / "b").write_text(new)
    assert await workshop.keeper.stale() == "environment/b changed"
    image = await workshop.keeper.ensure()
    started = [event.why for event in workshop.events if isinstance(event, BuildStarted)]
    assert started == ["environment/b changed"]
    assert [event.cached for event in workshop.said(StepDone)][-4:] == [True, True, True, False]
    assert (read(image, "a"), read(image, "b")) == ("one", new)


async def test_an_edit_of_the_same_size_in_the_same_second_is_in_the_image(workshop: Workshop) -> None:
    file = workshop.context / "a"
    file.write_text("one")
    workshop.dockerfile("COPY a /a\n")
    await workshop.keeper.ensure()
    status = file.stat()
    file.write_text("two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read(await workshop.keeper.ensure(), "a") == "two"


async def test_an_edit_of_the_mode_alone_is_in_the_image(workshop: Workshop) -> None:
    (workshop.context / "a").write_text("one")
    (workshop.context / "a").chmod(0o644)
    workshop.dockerfile("COPY a /a\nRUN ls -l /a > /modes\n")
    assert read(await workshop.keeper.ensure(), "modes").startswith("-rw-r--r--")
    (workshop.context / "a").chmod(0o755)
    assert read(await workshop.keeper.ensure(), "modes").startswith("-rwxr-xr-x")


async def test_an_edit_of_a_directorys_mode_alone_is_in_the_image(workshop: Workshop) -> None:
    (workshop.context / "d/sub").mkdir(parents=True)
    (workshop.context / "d/sub").chmod(0o755)
    workshop.dockerfile("COPY d /d\nRUN stat -c %a /d/sub > /mode\n")
    assert read(await workshop.keeper.ensure(), "mode") == "755\n"
    (workshop.context / "d/sub").chmod(0o700)
    assert read(await workshop.keeper.ensure(), "mode") == "700\n"


async def test_what_is_ignored_or_only_touched_builds_nothing(workshop: Workshop) -> None:
    (workshop.context / "a").write_text("one")
    (workshop.context / ".dockerignore").write_text("*.log\n")
    workshop.dockerfile("COPY . /c\n")
    await workshop.keeper.ensure()
    (workshop.context / "x.log").write_text("noise")
    os.utime(workshop.context / "a", (1, 1))
    assert await workshop.keeper.stale() == ""


async def test_an_edit_that_gives_the_same_image_boots_nothing(workshop: Workshop) -> None:
    workshop.dockerfile("RUN :\n")
    first = await workshop.keeper.ensure()
    workshop.dockerfile("# a remark\nRUN :\n")
    workshop.events.clear()
    second = await workshop.keeper.ensure()
    assert second.key != first.key
    assert second.result == first.result
    assert second.archive == first.archive
    assert [event.same for event in workshop.said(ImageReady)] == [True]


async def test_going_back_serves_the_image_of_before_without_a_build(workshop: Workshop) -> None:
    (workshop.context / "a").write_text("one")
    workshop.dockerfile("COPY a /a\n")
    first = await workshop.keeper.ensure()
    (workshop.context / "a").write_text("two")
    await workshop.keeper.ensure()
    (workshop.context / "a").write_text("one")
    workshop.events.clear()
    again = await workshop.keeper.ensure()
    assert again.archive == first.archive
    assert [type(event) for event in workshop.events] == [ImageReady]


async def test_the_budget_is_kept_and_the_image_that_serves_with_it(workshop: Workshop) -> None:
    workshop.store.budget = 1
    (workshop.context / "a").write_text("one")
    workshop.dockerfile("COPY a /a\n")
    first = await workshop.keeper.ensure()
    assert first.archive.exists()  # however little room there is
    (workshop.context / "a").write_text("two")
    second = await workshop.keeper.ensure()
    assert first.archive.exists()  # it may still serve
    first.release()
    (workshop.context / "a").write_text("six")
    third = await workshop.keeper.ensure()
    assert [image.archive.exists() for image in (first, second, third)] == [False, True, True]


async def test_what_a_dockerfile_deletes_stays_deleted(workshop: Workshop) -> None:
    workshop.dockerfile(
        "RUN mkdir /o && touch /o/1 /o/2 /gone\nRUN rm -rf /o /gone && mkdir /o && touch /o/3\n"
    )
    found = names(await workshop.keeper.ensure())
    assert {name for name in found if name.startswith("o/")} == {"o/3"}
    assert "gone" not in found


FAILING = "RUN echo 'STEP 5/5: RUN fake'; \\\n    # why it fails\n    echo cause >&2; \\\n    exit 3\n"


async def test_a_failing_run_names_its_line_and_the_old_image_stays(workshop: Workshop) -> None:
    workshop.dockerfile("RUN :\n")
    good = await workshop.keeper.ensure()
    workshop.dockerfile(f"RUN :\n{FAILING}RUN never\n")
    workshop.events.clear()
    with pytest.raises(BuildError) as caught:
        await workshop.keeper.ensure()
    error = caught.value
    assert (error.line, str(error)) == (FIRST + 1, "ended with exit code 3")
    assert error.instruction.startswith("RUN echo 'STEP 5/5: RUN fake'")
    assert error.output == "STEP 5/5: RUN fake\ncause\n"
    assert workshop.keeper.current is good
    assert workshop.keeper.failure is error
    assert await workshop.keeper.stale() == "environment/Dockerfile changed"
    (failed,) = [event for event in workshop.events if isinstance(event, BuildFailed)]
    assert (failed.line, failed.instruction) == (FIRST + 1, error.instruction)
    assert "cause\n" in [event.text for event in workshop.said(StepOutput)]
    workshop.dockerfile("RUN :\nRUN echo fixed > /f\n")
    fixed = await workshop.keeper.ensure()
    assert read(fixed, "f") == "fixed\n"
    assert workshop.keeper.failure is None
    assert workshop.keeper.current is fixed


@pytest.mark.parametrize(
    ("dockerfile", "line", "words"),
    [
        (f"{BASE}FOO bar\n", FIRST, 'Unknown instruction: "FOO"'),
        ("FROM localhost/no/such:1\nRUN x\n", 1, "localhost/no/such"),
        (f"{BASE}COPY nothere /x\n", FIRST, "nothere"),
        (f"{BASE}RUN nosuch\n", FIRST, "ended with exit code 127"),
        (f"{BASE}COPY --from=nowhere /x /x\n", FIRST, "nowhere"),
        (f"{BASE}RUN false | true\nRUN false\n", FIRST + 1, "ended with exit code 1"),
        (
            f'{BASE}SHELL ["/bin/sh", "-o", "pipefail", "-c"]\nRUN false | true\n',
            FIRST + 1,
            "ended with exit code 1",
        ),
        ("RUN x\n", None, "no FROM"),
        ("", None, "no contents in"),
    ],
)
async def test_what_is_wrong_is_said_with_its_line(
    workshop: Workshop, dockerfile: str, line: int | None, words: str
) -> None:
    workshop.dockerfile(dockerfile, base="")
    with pytest.raises(BuildError) as caught:
        await workshop.keeper.ensure()
    assert line in (caught.value.line, None)
    if workshop.builder.name == "buildah":
        assert words in str(caught.value)


async def test_without_a_dockerfile_that_is_said(workshop: Workshop) -> None:
    with pytest.raises(ImageError, match="environment/Dockerfile: No such file"):
        await workshop.keeper.ensure()


async def test_two_stages_build_and_the_one_not_needed_does_not(workshop: Workshop) -> None:
    unused = "FROM scratch AS unused\nCOPY no-such-file /\n"
    workshop.dockerfile(f"RUN echo tool > /tool\n{unused}FROM scratch\nCOPY --from=0 /tool /tool\n")
    image = await workshop.keeper.ensure()
    assert names(image) & {"tool", "bin/sh"} == {"tool"}
    lines = [event.line for event in workshop.said(StepStarted)]
    assert set(lines) & {2, 3, 5, 7} == {2, 3, 7}


async def test_a_heredoc_works_or_is_refused_with_its_line(workshop: Workshop) -> None:
    workshop.dockerfile("RUN <<END\necho heredoc > /h\nEND\n")
    image = await asyncio.gather(workshop.keeper.ensure(), return_exceptions=True)
    match image:
        case [BuildError() as error]:
            assert (error.line, "does not know heredocs" in str(error)) == (FIRST, True)
        case [BuiltImage() as built]:
            assert read(built, "h") == "heredoc\n"
        case other:
            pytest.fail(str(other))


async def test_a_bind_mount_whose_source_changed_is_not_served_stale(workshop: Workshop) -> None:
    (workshop.context / "a").write_text("one")
    workshop.dockerfile("RUN --mount=type=bind,source=a,target=/m cat /m > /copy\n")
    first = await workshop.keeper.ensure()
    if workshop.builder.name == "buildah":
        (warning,) = first.record.warnings
        assert warning.startswith("Dockerfile:3: buildah cannot tell when a bind mount changed")
    (workshop.context / "a").write_text("two")
    assert read(await workshop.keeper.ensure(), "copy") == "two"


async def test_build_arguments_are_given_and_count(workshop: Workshop) -> None:
    workshop.dockerfile("ARG V=0\nRUN echo $V > /v\n")

    async def build(value: str) -> BuiltImage:
        return await ImageKeeper(
            workshop.context, workshop.store, workshop.builder, args={"V": value}
        ).ensure()

    first, second = await build("1"), await build("2")
    assert (read(first, "v"), read(second, "v")) == ("1\n", "2\n")
    assert (await build("1")).archive == first.archive


async def test_an_odd_context_builds(workshop: Workshop) -> None:
    odd = os.fsencode(workshop.context) + b"/caf\xe9"
    Path(os.fsdecode(odd)).write_text("latin")
    (workshop.context / "broken").symlink_to("/no/where")
    (workshop.context / "many").mkdir()
    for number in range(20_000):
        (workshop.context / f"many/{number}").write_text(str(number))
    workshop.dockerfile("COPY . /c\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workshop.context / "socket"))
        image = await workshop.keeper.ensure()
    found = names(image)
    assert {"c/caf\udce9", "c/broken", "c/many/19999"} < found
    assert "c/socket" not in found
    # The builder needs many seconds to find that nothing of so much changed; it is not even asked.
    workshop.events.clear()
    assert (await workshop.open(workshop.context).ensure()).key == image.key
    assert not workshop.said(BuildStarted)


async def test_a_timeout_ends_the_build_and_everything_in_it(workshop: Workshop) -> None:
    workshop.dockerfile("RUN (setsid sleep 4242 &) ; sleep 4242\n")
    with pytest.raises(BuildError, match=r"took longer than 2 s") as caught:
        await workshop.keeper.ensure(timeout=2)
    assert "build_timeout_sec" in caught.value.hint
    assert running("sleep 4242") == []


def running(words: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if words in line and "pytest" not in line:
            found.append(line)
    return found


async def waited_for(workshop: Workshop, text: str) -> None:
    while not any(isinstance(event, StepOutput) and text in event.text for event in workshop.events):
        await asyncio.sleep(0.02)


async def test_cancelling_ends_the_build_and_the_next_one_is_right(workshop: Workshop) -> None:
    workshop.dockerfile("RUN echo running; (setsid sleep 4343 &) ; sleep 4343\n")
    task = asyncio.create_task(workshop.keeper.ensure())
    await waited_for(workshop, "running")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running("sleep 4343") == []
    assert len(workshop.said(BuildCancelled)) == 1
    assert list(workshop.store.directory.glob("buildah/tmp/*")) == []
    workshop.dockerfile("RUN echo right > /r\n")
    assert read(await workshop.keeper.ensure(), "r") == "right\n"


async def test_cancelling_where_nothing_is_built_says_nothing(workshop: Workshop) -> None:
    workshop.dockerfile("RUN :\n")
    task = asyncio.create_task(workshop.keeper.ensure())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workshop.events == []


async def test_files_that_change_during_a_build_are_built_again(workshop: Workshop) -> None:
    (workshop.context / "a").write_text(secrets.token_hex())
    workshop.dockerfile("COPY a /a\nRUN echo running; sleep 1\n")
    task = asyncio.create_task(workshop.keeper.ensure())
    await waited_for(workshop, "running")
    (workshop.context / "a").write_text("two")
    image = await task
    assert read(image, "a") == "two"
    assert len(workshop.said(BuildStarted)) == 2
    assert await workshop.keeper.stale() == ""


async def test_two_workbenches_build_one_image_once(workshop: Workshop) -> None:
    workshop.dockerfile("RUN sleep 1; date +%N > /when\n")
    others = [workshop.open(workshop.context) for _ in range(2)]
    elsewhere = ImageStore(workshop.store.directory)
    builder = await find_buildah(workshop.store.directory / "buildah")
    others.append(ImageKeeper(workshop.context, elsewhere, builder, emit=workshop.events.append))
    images = await asyncio.gather(*(keeper.ensure() for keeper in (workshop.keeper, *others)))
    assert len({image.archive for image in images}) == 1
    assert len(workshop.said(BuildStarted)) == 1


ENGINE = """
import asyncio, sys
from pathlib import Path
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import ImageStore

async def main():
    context, store = map(Path, sys.argv[1:])
    keeper = ImageKeeper(context, ImageStore(store), await find_builder(store, "buildah"), emit=show)
    await keeper.ensure()

def show(event):
    print(event, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["running", "StepDone(step=3"])
async def test_after_kill_9_in_the_middle_the_next_start_is_clean_and_right(
    workshop: Workshop, moment: str
) -> None:
    (workshop.context / "big").write_bytes(os.urandom(30 << 20))
    workshop.dockerfile("RUN echo running; sleep 1; (setsid sleep 4444 &)\nCOPY big /big\n")
    store = workshop.store.directory
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, workshop.context, store], stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    for line in engine.stdout:
        if moment in line:
            break
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    deadline = time.monotonic() + 10
    while (left := running(str(store)) + running("sleep 4444")) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    assert left == []
    assert [line for line in Path("/proc/mounts").read_text().splitlines() if str(store) in line] == []
    workshop.store.sweep()
    builder = await find_buildah(store / "buildah")
    await builder.sweep()
    image = await workshop.open(workshop.context).ensure()
    assert {"big", "bin/sh"} < names(image)
    assert sorted(os.listdir(store / "archives")) == [image.result]
    assert [name for name in os.listdir(store / "builds") if not name.endswith(".json")] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_a_disk_that_fills_up_is_said_and_leaves_nothing_half(context: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small], check=True)
    try:
        store = ImageStore(small / "store")
        workshop = Workshop(context, store, await find_buildah(store.directory / "buildah"))
        workshop.dockerfile("RUN :\n")
        await workshop.keeper.ensure()
        (context / "big").write_bytes(os.urandom(20 << 20))
        workshop.dockerfile("COPY big /big\n")
        with pytest.raises(ImageError, match=r"(?i)no (space|room) left"):
            await workshop.keeper.ensure()
        assert workshop.keeper.current is not None
        assert len(os.listdir(store.directory / "archives")) == 1
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)  # the builder has its lock there


async def test_looking_tells_what_is_stale_once_and_that_it_is_no_more(workshop: Workshop) -> None:
    workshop.dockerfile("RUN :\n")
    assert await workshop.keeper.look() == ""  # there is no image that could be stale
    await workshop.keeper.ensure()
    assert await workshop.keeper.look() == ""
    workshop.events.clear()
    (workshop.context / "a").write_text("one")
    for _ in range(2):
        assert await workshop.keeper.look() == "environment/a is new"
    (workshop.context / "a").unlink()
    await workshop.keeper.look()
    assert [event.why for event in workshop.said(ImageStale)] == ["environment/a is new", ""]
    (workshop.context / "a").write_text("one")
    await workshop.keeper.look()
    (workshop.context / "a").unlink()
    workshop.events.clear()
    await workshop.keeper.ensure()
    assert [type(event) for event in workshop.events] == [ImageReady]


async def test_a_copy_that_buildah_lost_by_itself_is_tried_once_more(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    bud, tries = Buildah._bud, 0

    async def lost(
        builder: Buildah, context: Path, tmp: Path, flags: Sequence[str], on_line: Callable[[str], None]
    ) -> int:
        nonlocal tries
        tries += 1
        if tries > 1:
            return await bud(builder, context, tmp, flags, on_line)
        for line in ("STEP 1/3: FROM scratch", "STEP 2/3: COPY busybox /bin/sh"):
            on_line(f"{line}\n")
        on_line(
            'Error: building at STEP "COPY busybox /bin/sh": reading "busybox": '
            "error encoding request for copier subprocess: write |1: broken pipe\n"
        )
        return 125

    monkeypatch.setattr(Buildah, "_bud", lost)
    workshop.dockerfile("RUN echo built > /log\n")
    assert read(await workshop.keeper.ensure(), "log") == "built\n"
    assert tries == 2
    (ready,) = workshop.said(ImageReady)
    assert [step.text for step in ready.steps] == [
        "FROM scratch",
        "COPY busybox /bin/sh",
        "RUN echo built > /log",
    ]
