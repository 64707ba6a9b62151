"""What tests in real microVMs share: one image, one session, one event loop.

`MICROVM_IMAGE` names an archive made by `tests/microvm/image.py`, for hosts where it cannot be made. Without,
it is made once and kept in the user's cache directory.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from smol import MachineConfig, ResourceSpec

from tests.microvm import image
from workbench import places
from workbench.machines.machine import MachineError
from workbench.machines.smol.image import boot_image
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.session import SmolSession
from workbench.task.load import LoadedTask, load

SMALL = ResourceSpec(cpus=1, memory_mb=512, network=False)
_TRIES = 4
_EMULATED = (
    "boot process exited (code 0) before the agent was ready",
    "agent did not become ready",
    "the machine died",
    "the microVM ended",
    "the microVM has ended",
    "Connection refused (os error 111)",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.microvm)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"))
            item.add_marker(pytest.mark.timeout(1200))


@pytest.fixture(scope="session")
def archive() -> Path:
    given = os.environ.get("MICROVM_IMAGE")
    path = Path(given) if given else places.cache_dir() / "tests" / "microvm.tar"
    if not path.exists():
        image.make(path)
    return path


@pytest.fixture(scope="session")
def rootfs(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rootfs")
    image.unpack(archive, root)
    for directory in (root, *root.parents):
        if directory.owner() == Path.home().owner() and str(directory).startswith("/tmp/"):
            directory.chmod(0o755)  # as root, a VMM runs as another user
    return root


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session() -> AsyncIterator[SmolSession]:
    session = SmolSession()
    yield session
    await session.close(60)
    assert session.names() == []


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def image_key(session: SmolSession, archive: Path) -> str:
    """The state of the image, booted from its archive."""
    found = boot_image(str(archive))
    return await boot(lambda: session.image_state(found.identity, config(found.reference)))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def machine(session: SmolSession, image_key: str) -> AsyncIterator[SmolMachine]:
    """A branch of the image's state, for all tests that do it no harm."""
    machine = await session.states.branch(image_key, "machine")
    assert isinstance(machine, SmolMachine)
    yield machine
    await machine.delete()


@pytest.fixture(scope="session")
def task(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedTask:
    """Slugify with an image that is to be had here, and time for an emulated processor."""
    path = tmp_path_factory.mktemp("tasks") / "slugify"
    shutil.copytree(places.shipped("sample_tasks") / "slugify", path)
    file = path / "task.toml"
    text = file.read_text().replace("python:3.12-slim", str(archive)).replace("_sec = ", "_sec = 10")
    file.write_text(text)
    task, problems = load(path)
    assert task is not None, problems
    return task


def config(reference: str) -> MachineConfig:
    return MachineConfig(image=reference, resources=SMALL)


async def boot[T](start: Callable[[], Awaitable[T]]) -> T:
    """Boot, and again if need be: on an emulated processor one boot in twelve fails, or takes too long.

    A microVM dies there in the midst of a trial, too. On a processor that is real nothing is tried again.
    """
    for _ in range(_TRIES - 1 if os.environ.get("KVM_LAB") else 0):
        try:
            return await start()
        except MachineError as error:
            if not any(words in str(error) for words in _EMULATED):
                raise
            warnings.warn(f"tried again: {error}", stacklevel=2)
    return await start()
