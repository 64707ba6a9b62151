"""A root file system from what `docker_image` names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.images import archives as a
from workbench.images.cache import Cache
from workbench.images.errors import ImageError
from workbench.images.rootfs import is_local, rootfs_of, sweep_rootfs

LAYER = a.layer(a.directory("bin"), a.file("bin/sh", b"#!", mode=0o755))
OWNERS = "root" if os.geteuid() == 0 else "own"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return a.docker_archive(tmp_path / "image.tar", LAYER, WorkingDir="/srv", Env=["A=1"])


async def test_a_directory_is_used_as_it_is(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "tree/bin").mkdir(parents=True)
    rootfs = await rootfs_of(str(tmp_path / "tree"), cache)
    assert rootfs.path == tmp_path / "tree"
    assert not cache.exists()


async def test_a_directorys_key_changes_with_what_is_in_it(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "tree").mkdir()
    file = tmp_path / "tree/f"
    file.write_text("one")
    first = (await rootfs_of(str(tmp_path / "tree"), cache)).key
    assert (await rootfs_of(str(tmp_path / "tree"), cache)).key == first
    file.write_text("two")
    second = (await rootfs_of(str(tmp_path / "tree"), cache)).key
    file.chmod(0o700)
    third = (await rootfs_of(str(tmp_path / "tree"), cache)).key
    assert len({first, second, third}) == 3


async def test_an_archive_is_unpacked_once(archive: Path, cache: Path) -> None:
    first = await rootfs_of(str(archive), cache)
    assert (first.path / "bin/sh").read_bytes() == b"#!"
    assert (first.config.workdir, first.config.env) == ("/srv", {"A": "1"})
    inode = first.path.stat().st_ino
    second = await rootfs_of(str(archive), cache)
    assert second.path.stat().st_ino == inode
    assert os.listdir(cache) == ["rootfs"]
    assert os.listdir(cache / "rootfs") == [first.key]


async def test_the_key_is_the_content(archive: Path, tmp_path: Path, cache: Path) -> None:
    first = await rootfs_of(str(archive), cache)
    copy = shutil.copy(archive, tmp_path / "copy.tar")
    assert (await rootfs_of(str(copy), cache)).key == first.key
    a.docker_archive(archive, LAYER, WorkingDir="/SRV", Env=["A=1"])
    changed = await rootfs_of(str(archive), cache)
    assert changed.key != first.key
    assert changed.config.workdir == "/SRV"


async def test_many_at_once_get_one_tree(archive: Path, cache: Path) -> None:
    found = await asyncio.gather(*(rootfs_of(str(archive), cache) for _ in range(8)))
    assert len({rootfs.path.stat().st_ino for rootfs in found}) == 1
    assert os.listdir(cache / "rootfs") == [found[0].key]


async def test_what_a_killed_unpacking_left_is_swept_and_not_believed(archive: Path, cache: Path) -> None:
    first = await rootfs_of(str(archive), cache)
    first.release()
    half = cache / "rootfs" / f"{first.key}.new"
    first.path.parent.rename(half)
    (half / "rootfs/bin/sh").unlink()
    (half / "rootfs/bin").chmod(0o500)
    again = await rootfs_of(str(archive), cache)
    assert (again.path / "bin/sh").read_bytes() == b"#!"
    (cache / "rootfs/other.new/rootfs").mkdir(parents=True)
    assert sweep_rootfs(cache) == ["other"]
    assert os.listdir(cache / "rootfs") == [first.key]


ENGINE = """
import asyncio, sys
from pathlib import Path
from workbench.images.rootfs import rootfs_of
asyncio.run(rootfs_of(sys.argv[1], Path(sys.argv[2])))
"""


async def test_after_kill_9_while_unpacking_nothing_goes_on_and_the_next_start_is_right(
    tmp_path: Path, cache: Path
) -> None:
    files = [a.file(f"f{n:05}", bytes(9999)) for n in range(4000)]
    big = a.docker_archive(tmp_path / "big.tar", a.layer(*files))
    engine = subprocess.Popen([sys.executable, "-c", ENGINE, big, cache])
    while not list(cache.glob("rootfs/*.new/rootfs/f*")):
        await asyncio.sleep(0.01)
    engine.kill()
    engine.wait()
    while running("workbench.images.unpack", str(cache)):
        await asyncio.sleep(0.01)
    (half,) = cache.glob("rootfs/*.new/rootfs")
    assert len(list(half.iterdir())) < 4000
    assert sweep_rootfs(cache) == [half.parent.stem]
    rootfs = await rootfs_of(str(big), cache)
    assert len(list(rootfs.path.iterdir())) == 4000
    assert os.listdir(cache / "rootfs") == [rootfs.key]


def running(*words: str) -> bool:
    """Whether a process has all these words on its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(word in line for word in words):
                return True
    return False


async def test_a_tree_in_use_is_not_removed(archive: Path, cache: Path) -> None:
    rootfs = await rootfs_of(str(archive), cache)
    store = Cache(cache / "rootfs")
    assert not store.remove(rootfs.key)
    rootfs.release()
    assert store.remove(rootfs.key)
    assert os.listdir(cache / "rootfs") == []


async def test_a_dropped_rootfs_is_free(archive: Path, cache: Path) -> None:
    key = (await rootfs_of(str(archive), cache)).key
    assert Cache(cache / "rootfs").remove(key)


async def test_a_hostile_archive_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    bad = a.docker_archive(tmp_path / "bad.tar", a.layer(a.file("ok"), a.file("../../../x", b"evil")))
    with pytest.raises(ImageError, match="outside of the image"):
        await rootfs_of(str(bad), cache)
    assert os.listdir(cache / "rootfs") == []


async def test_cancelling_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    big = a.docker_archive(
        tmp_path / "big.tar", a.layer(*(a.file(f"f{n}", bytes(9999)) for n in range(3000)))
    )
    task = asyncio.create_task(rootfs_of(str(big), cache))
    while not list(cache.glob("rootfs/*.new")):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert os.listdir(cache / "rootfs") == []


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("python:3.12-slim", "python:3.12-slim is an image in a registry"),
        ("/no/such/image.tar", "there is no /no/such/image.tar"),
        ("/dev/null", "neither a directory nor an archive"),
    ],
)
async def test_what_cannot_be_used_is_said(reference: str, words: str, cache: Path) -> None:
    with pytest.raises(ImageError, match=words) as caught:
        await rootfs_of(reference, cache)
    assert "archive" in str(caught.value) + caught.value.hint


async def test_an_oci_layout_directory_is_no_root_file_system(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "oci-layout").write_text("{}")
    with pytest.raises(ImageError, match="OCI layout"):
        await rootfs_of(str(tmp_path), cache)


def test_references_that_mean_paths() -> None:
    assert [is_local(name) for name in ("/x.tar", "./x", "~/x", "../x")] == [True] * 4
    assert not is_local("python:3.12-slim")


NAMESPACE = ("unshare", "--user", "--map-root-user")


@pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0, reason="no namespaces"
)
async def test_unpacking_runs_below_a_prefix(archive: Path, cache: Path) -> None:
    rootfs = await rootfs_of(str(archive), cache, prefix=NAMESPACE)
    assert (rootfs.path / "bin/sh").read_bytes() == b"#!"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    archive = a.docker_archive(tmp_path / "big.tar", a.layer(a.file("f", bytes(8 << 20))))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], check=True)
    try:
        with pytest.raises(ImageError, match="no room left"):
            await rootfs_of(str(archive), small)
        assert os.listdir(small / "rootfs") == []
    finally:
        subprocess.run(["umount", small], check=True)
