"""Contexts that build from nothing but Debian's static busybox, and a builder with a store of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from workbench.images.build_events import BuildEvent
from workbench.images.builder import Builder
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import ImageStore

BUSYBOX = Path("/bin/busybox")
needs_buildah = pytest.mark.skipif(
    not (shutil.which("buildah") and BUSYBOX.exists()), reason="needs buildah and busybox-static"
)
BASE = "FROM scratch\nCOPY busybox /bin/sh\n"


class Workshop:
    """A context, a store, a builder and all that was said while building."""

    def __init__(self, context: Path, store: ImageStore, builder: Builder) -> None:
        self.context, self.store, self.builder = context, store, builder
        self.events: list[BuildEvent] = []
        self.keeper = self.open(context)

    def open(self, context: Path) -> ImageKeeper:
        return ImageKeeper(context, self.store, self.builder, emit=self.events.append)

    def dockerfile(self, text: str, base: str = BASE) -> None:
        """Write the Dockerfile; lines of `text` count from `base`'s last."""
        (self.context / "Dockerfile").write_text(base + text)

    def said[T](self, kind: type[T]) -> list[T]:
        """Events of one kind since the last time."""
        found: list[T] = [event for event in self.events if isinstance(event, kind)]
        self.events.clear()
        return found


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "store")


@pytest.fixture
async def builder(store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """buildah; `WORKBENCH_TEST_BUILDER="docker --network host"` runs the same tests with another."""
    # Images that happen to lie on this machine must not decide a test.
    conf = tmp_path / "storage.conf"
    user = tmp_path / "user"
    conf.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{user}/root"\nrunroot = "{user}/run"\n')
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", os.fspath(conf))
    name, *options = os.environ.get("WORKBENCH_TEST_BUILDER", "buildah").split()
    return await find_builder(store.directory, name, options)


@pytest.fixture
def context(tmp_path: Path) -> Path:
    path = tmp_path / "task" / "environment"
    path.mkdir(parents=True)
    shutil.copy(BUSYBOX, path / "busybox")
    return path


@pytest.fixture
def workshop(context: Path, store: ImageStore, builder: Builder) -> Workshop:
    return Workshop(context, store, builder)
