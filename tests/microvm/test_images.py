"""Images built here and booted as microVMs, and one built inside a microVM.

`MICROVM_BUILDER` names an archive made by `tests/microvm/builder_image.sh`; without, nothing is built inside.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from smol import MachineConfig, ResourceSpec

from tests.images import archives as a
from tests.images.conftest import BASE, Workshop
from tests.images.test_build import read
from tests.microvm.conftest import boot, config
from workbench.images.build_events import StepDone
from workbench.images.buildah import find_buildah
from workbench.images.flatten import flat_archive
from workbench.images.guest import GuestBuildah
from workbench.images.store import ImageStore
from workbench.machines.smol.image import boot_image
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.session import SmolSession

BUILDER = os.environ.get("MICROVM_BUILDER")
DOCKERFILE = """\
RUN mkdir /o && touch /o/1 /o/2 && echo deleted > /answer
RUN rm -rf /o /answer && mkdir /o && touch /o/3
ENV FOO="two words" PATH=/opt/x/bin:/bin
WORKDIR /srv
COPY app.txt .
"""


@pytest.fixture
def context(tmp_path: Path, rootfs: Path) -> Path:
    path = tmp_path / "environment"
    path.mkdir()
    shutil.copy(rootfs / "usr/bin/busybox", path / "busybox")
    (path / "app.txt").write_text("one\n")
    (path / "Dockerfile").write_text(BASE + DOCKERFILE)
    return path


@pytest.mark.skipif(not shutil.which("buildah"), reason="needs buildah")
async def test_an_image_built_here_boots_as_its_dockerfile_says(
    session: SmolSession, context: Path, tmp_path: Path
) -> None:
    store = ImageStore(tmp_path / "store")
    workshop = Workshop(context, store, await find_buildah(store.directory / "buildah"))
    image = await workshop.keeper.ensure()
    machine = await boot(lambda: session.create("built", config(str(image.archive))))
    said = await machine.exec('pwd; echo "$FOO"; echo "$PATH"; cat app.txt; ls /o; ls /answer')
    assert said.stdout.decode().splitlines() == ["/srv", "two words", "/opt/x/bin:/bin", "one", "3"]
    await machine.delete()


async def test_a_users_layered_archive_boots_with_what_it_deletes_gone(
    session: SmolSession, context: Path, tmp_path: Path
) -> None:
    layered = _layered(context, tmp_path / "layered.tar")
    flat = await flat_archive(layered, tmp_path / "cache")
    machine = await boot(lambda: session.create("layered", config(boot_image(str(flat.path)).reference)))
    said = await machine.exec("ls /o; echo $A")
    assert said.stdout.decode().split() == ["3", "1"]
    await machine.delete()


def _layered(context: Path, path: Path) -> Path:
    below = a.layer(
        a.directory("bin"),
        a.file("bin/sh", (context / "busybox").read_bytes(), mode=0o755),
        a.directory("o"),
        a.file("o/1"),
        a.file("o/2"),
    )
    above = a.layer(a.directory("o"), a.file("o/.wh..wh..opq"), a.file("o/3"))
    return a.docker_archive(path, below, above, Env=["A=1", "PATH=/bin"])


@pytest.mark.skipif(not BUILDER, reason="MICROVM_BUILDER names no image with buildah")
@pytest.mark.timeout(1800)
async def test_buildah_in_a_microvm_builds_and_keeps_its_layers(
    session: SmolSession, context: Path, tmp_path: Path
) -> None:
    async def start() -> SmolMachine:
        resources = ResourceSpec(cpus=1, memory_mb=1024, network=False)
        return await boot(
            lambda: session.create("builder", MachineConfig(image=BUILDER or "", resources=resources))
        )

    workshop = Workshop(context, ImageStore(tmp_path / "store"), GuestBuildah(start, BUILDER or ""))
    began = time.monotonic()
    first = await workshop.keeper.ensure()
    assert read(first, "srv/app.txt") == "one\n"
    assert read(first, "o/3") == ""
    for gone in ("o/1", "answer"):
        with pytest.raises(FileNotFoundError):
            read(first, gone)
    built = time.monotonic()
    workshop.said(StepDone)
    (context / "app.txt").write_text("two\n")
    second = await workshop.keeper.ensure()
    print(f"first build {built - began:.0f} s, after an edit {time.monotonic() - built:.0f} s")
    assert read(second, "srv/app.txt") == "two\n"
    cached = [event.cached for event in workshop.said(StepDone)]
    assert (cached[1:-1], cached[-1]) == ([True] * (len(cached) - 2), False)
    machine = await boot(lambda: session.create("from-guest", config(str(second.archive))))
    assert (await machine.exec("cat /srv/app.txt; ls /o")).stdout.decode().split() == ["two", "3"]
    await machine.delete()
