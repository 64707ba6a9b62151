"""What is kept, what goes, and that nobody gets half an image."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.images import archives as a
from workbench.images.inputs import Inputs
from workbench.images.rootfs import rootfs_of
from workbench.images.store import BuildRecord, BuiltImage, ImageStore

INPUTS = Inputs(builder="b 1", platform="linux/amd64", files={}, bases={})


def record(key: str, result: str, context: str = "/task/environment") -> BuildRecord:
    return BuildRecord(key, result, context, INPUTS, built_at=0, seconds=1, steps=())


async def add(store: ImageStore, key: str, result: str, size: int = 100_000) -> BuiltImage:
    async def write(path: Path) -> None:
        path.write_bytes(os.urandom(size))

    return await store.add(record(key, result), write)


def names(store: ImageStore) -> list[str]:
    return [image.name for image in store.images()]


async def test_a_kept_image_is_found_by_what_went_in(store: ImageStore) -> None:
    added = await add(store, "k1", "r1")
    found = ImageStore(store.directory).find("k1")
    assert found is not None
    assert (found.archive, found.record) == (added.archive, added.record)
    assert store.find("k2") is None
    last = store.last(Path("/task/environment"))
    assert last is not None
    assert last.key == "k1"


async def test_two_builds_with_one_result_keep_one_archive(store: ImageStore) -> None:
    first = await add(store, "k1", "same")
    inode = first.archive.stat().st_ino
    second = await add(store, "k2", "same")
    assert second.archive.stat().st_ino == inode
    assert names(store) == ["same"]


async def test_an_export_that_fails_leaves_nothing(store: ImageStore) -> None:
    async def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        await store.add(record("k", "r"), write)
    assert names(store) == []
    assert store.find("k") is None


async def test_the_least_recently_used_goes_first_and_never_one_in_use(store: ImageStore) -> None:
    held = await add(store, "k0", "r0")
    for number in (1, 2, 3):
        await add(store, f"k{number}", f"r{number}")
        os.utime(store.directory / "archives" / f"r{number}", (number, number))
    os.utime(store.directory / "archives/r0", (0, 0))
    assert store.find("k1") is not None  # used just now
    assert [image.in_use for image in store.images()] == [True, False, False, False]
    assert [image.name for image in store.prune(250_000, dry_run=True)] == ["r2", "r3"]
    assert len(names(store)) == 4
    assert [image.name for image in store.prune(250_000)] == ["r2", "r3"]
    assert names(store) == ["r0", "r1"]
    assert store.find("k2") is None
    assert [image.name for image in store.prune(0)] == ["r1"]
    assert held.archive.exists()
    held.release()
    assert [image.name for image in store.prune(0)] == ["r0"]
    assert os.listdir(store.directory / "builds") == []


async def test_within_the_budget_nothing_goes(store: ImageStore) -> None:
    await add(store, "k", "r")
    assert store.prune() == []
    assert names(store) == ["r"]


async def test_sweeping_removes_what_died_and_keeps_the_rest(store: ImageStore) -> None:
    await add(store, "k", "r")
    half = store.directory / "archives/x.new"
    half.mkdir()
    (half / "image.tar").write_bytes(b"half")
    old = store.directory / "builds/k9.7.new"
    old.write_bytes(b"{")
    os.utime(old, (0, 0))
    store.sweep()
    assert os.listdir(store.directory / "archives") == ["r"]
    assert os.listdir(store.directory / "builds") == ["k.json"]


async def test_only_one_builds_a_key_at_a_time(store: ImageStore) -> None:
    order: list[str] = []
    other = ImageStore(store.directory)

    async def build(store: ImageStore, name: str) -> None:
        async with store.building("k"):
            order.append(f"{name} in")
            await asyncio.sleep(0.01)
            order.append(f"{name} out")

    await asyncio.gather(build(store, "a"), build(other, "b"), build(store, "c"))
    assert [entry.split()[1] for entry in order] == ["in", "out"] * 3
    assert os.listdir(store.directory / "builds") == []


async def test_an_unpacked_archive_is_listed_too(store: ImageStore, tmp_path: Path) -> None:
    archive = a.docker_archive(tmp_path / "x.tar", a.layer(a.file("f", bytes(50_000))))
    rootfs = await rootfs_of(str(archive), store.directory)
    (image,) = store.images()
    assert (image.kind, image.name, image.in_use) == ("rootfs", rootfs.key, True)
    assert image.size >= 50_000
    rootfs.release()
    assert store.prune(0) == [image] or store.images() == []


async def test_records_of_another_release_are_forgotten_not_believed(store: ImageStore) -> None:
    await add(store, "k", "r")
    (store.directory / "builds/k.json").write_text('{"key": "k"}')
    assert store.find("k") is None
