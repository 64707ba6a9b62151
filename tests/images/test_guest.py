"""buildah in a machine; here the machine is this host, by way of the same few words."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from tests.images.conftest import Workshop, needs_buildah
from tests.images.test_build import read
from workbench.images.build_events import BuildStarted, StepDone, StepOutput
from workbench.images.builder import BuildError
from workbench.images.guest import GuestBuildah
from workbench.images.store import ImageStore

pytestmark = [
    needs_buildah,
    pytest.mark.skipif(os.geteuid() != 0, reason="a machine has root"),
]


class Ended(msgspec.Struct):
    exit_code: int
    stdout: bytes
    stderr: bytes


class Host:
    """This host as a guest, which prints text."""

    alive = True

    async def exec(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: Callable[[bytes, str], Awaitable[None]] | None = None,
        keep_output: bool = True,
    ) -> Ended:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("sh", "-c", command, stdout=pipe, stderr=pipe)
        assert process.stdout is not None
        if on_output is None:
            stdout, stderr = await asyncio.wait_for(process.communicate(), timeout)
            return Ended(process.returncode or 0, stdout, stderr)
        while piece := await process.stdout.read(1000):  # pieces that end anywhere
            await on_output(piece.decode(errors="replace").encode(), "stdout")
        return Ended(await process.wait(), b"", b"")

    async def upload(self, source: Path, target: str) -> None:
        await self.exec(f"cp -a {source}/. {target}")


class Machines:
    def __init__(self) -> None:
        self.started = 0

    async def start(self) -> Host:
        self.started += 1
        return Host()


@pytest.fixture
def machines() -> Machines:
    return Machines()


@pytest.fixture
def guest(context: Path, store: ImageStore, machines: Machines, tmp_path: Path) -> Workshop:
    return Workshop(context, store, GuestBuildah(machines.start, "builder:1", f"{tmp_path}/home"))


async def test_a_build_in_a_machine_gives_an_archive_here(guest: Workshop, machines: Machines) -> None:
    (guest.context / "a").write_text("one")
    guest.dockerfile("RUN mkdir /o && touch /o/1\nRUN rm -rf /o && mkdir /o && echo two > /o/2\nCOPY a /a\n")
    image = await guest.keeper.ensure()
    assert (read(image, "a"), read(image, "o/2")) == ("one", "two\n")
    with pytest.raises(FileNotFoundError):
        read(image, "o/1")
    assert [event.builder for event in guest.said(BuildStarted)] == ["buildah in a microVM builder:1"]
    (guest.context / "a").write_text("two")
    assert read(await guest.keeper.ensure(), "a") == "two"
    assert [event.cached for event in guest.said(StepDone)][-4:] == [True, True, True, False]
    assert machines.started == 1


async def test_a_failing_step_has_its_line_and_its_output(guest: Workshop) -> None:
    guest.dockerfile("RUN echo cause; \\\n    exit 5\n")
    with pytest.raises(BuildError) as caught:
        await guest.keeper.ensure()
    assert (caught.value.line, str(caught.value), caught.value.output) == (
        3,
        "ended with exit code 5",
        "cause\n",
    )
    assert [event.text for event in guest.said(StepOutput)] == ["cause\n"]


async def test_what_is_not_stale_starts_no_machine(guest: Workshop) -> None:
    guest.dockerfile("RUN :\n")
    await guest.keeper.ensure()
    later = Machines()
    again = Workshop(guest.context, guest.store, GuestBuildah(later.start, "builder:1"))
    assert await again.keeper.stale() == ""
    await again.keeper.ensure()
    assert later.started == 0


async def test_a_machine_that_does_not_start_is_tried_again(guest: Workshop, tmp_path: Path) -> None:
    tries: list[int] = []

    async def start() -> Host:
        tries.append(1)
        if len(tries) == 1:
            raise BuildError("no room for a machine")
        return Host()

    guest.dockerfile("RUN :\n")
    again = Workshop(guest.context, guest.store, GuestBuildah(start, "builder:1", f"{tmp_path}/home"))
    with pytest.raises(BuildError, match="no room"):
        await again.keeper.ensure()
    assert (await again.keeper.ensure()).archive.exists()


async def test_a_machine_that_was_used_before_has_its_layers_and_nothing_of_a_build_that_was_cut_short(
    guest: Workshop, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    guest.dockerfile("RUN touch /one\nRUN touch /two\n")
    await guest.keeper.ensure()
    guest.said(StepDone)
    storage = ("--root", f"{home}/root", "--runroot", f"{home}/run", "--storage-driver", "overlay")
    left = ("buildah", *storage)
    subprocess.run([*left, "from", "scratch"], check=True, stdout=subprocess.DEVNULL)
    (home / "contexts" / "left").mkdir()

    later = Workshop(guest.context, guest.store, GuestBuildah(Machines().start, "builder:1", str(home)))
    later.dockerfile("RUN touch /one\nRUN touch /three\n")
    await later.keeper.ensure()
    assert [event.cached for event in later.said(StepDone)][-2:] == [True, False]
    assert not (home / "contexts" / "left").exists()
    assert subprocess.run([*left, "containers", "-q"], check=True, capture_output=True).stdout == b""


async def test_layers_that_leave_no_room_are_given_up(
    guest: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.dockerfile("RUN touch /one\nRUN touch /two\n")
    await guest.keeper.ensure()
    df = tmp_path / "bin" / "df"
    df.parent.mkdir()
    df.write_text("#!/bin/sh\nprintf 'Use%%\\n 95%%\\n'\n")
    df.chmod(0o755)
    monkeypatch.setenv("PATH", f"{df.parent}:{os.environ['PATH']}")
    again = GuestBuildah(Machines().start, "builder:1", f"{tmp_path}/home")
    later = Workshop(guest.context, guest.store, again)
    later.dockerfile("RUN touch /one\nRUN touch /three\n")
    assert read(await later.keeper.ensure(), "three") == ""
    assert not any(event.cached for event in later.said(StepDone)[1:])
