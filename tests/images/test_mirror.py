"""Trees made from a builder's own mount, with what did not change linked to the tree before."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.images.conftest import Workshop, needs_buildah
from tests.images.test_rootfs import running
from workbench.images.build_events import BuildStarted
from workbench.images.mirror import SOURCES, mirror
from workbench.images.rootfs import Rootfs, owners, rootfs_of
from workbench.images.store import ImageStore

AS_OWNER = () if os.geteuid() == 0 else ("unshare", "--user", "--map-auto", "--map-root-user")


def seen(root: Path) -> dict[str, tuple[object, ...]]:
    """All that a machine can see of each file."""
    found: dict[str, tuple[object, ...]] = {}
    for path in root.rglob("*"):
        status = path.lstat()
        content: object = None
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        time = 0 if stat.S_ISDIR(status.st_mode) else int(status.st_mtime)
        found[str(path.relative_to(root))] = (status.st_mode, status.st_uid, status.st_gid, time, content)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    (path / "d").mkdir(parents=True)
    (path / "d/f").write_text("one")
    (path / "d/f").chmod(0o4750)
    (path / "d").chmod(0o1777)
    (path / "l").symlink_to("/d/f")
    os.link(path / "d/f", path / "hard")
    os.mkfifo(path / "fifo")
    os.setxattr(path / "d/f", "user.note", b"x")
    os.setxattr(path / "d/f", "user.overlay.opaque", b"y")
    return path


def test_a_mirror_shows_what_the_source_shows(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new/tree"
    target.parent.mkdir()
    mirror(source, target)
    assert seen(target) == seen(source)
    assert (target / "hard").stat().st_ino == (target / "d/f").stat().st_ino
    assert os.listxattr(target / "d/f") == ["user.note"]


def test_only_the_very_same_files_are_shared(source: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first/tree", tmp_path / "second/tree"
    for path in (first, second):
        path.parent.mkdir()
    (source / "same").write_text("same")
    (source / "edited").write_text("one")
    mirror(source, first)
    times = (source / "edited").stat()
    (source / "edited").write_text("two")
    os.utime(source / "edited", ns=(times.st_atime_ns, times.st_mtime_ns))
    (source / "new").write_text("new")
    (source / "fifo").unlink()
    mirror(source, second, first)
    assert seen(second) == seen(source)
    assert (first / "edited").read_text() == "one"
    inodes = {
        name: ((first / name).lstat().st_ino, (second / name).lstat().st_ino)
        for name in ("same", "edited", "l")
    }
    assert {name for name, pair in inodes.items() if pair[0] == pair[1]} == {"same", "l"}


def test_without_its_notes_an_older_tree_is_not_believed(source: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first/tree", tmp_path / "second/tree"
    for path in (first, second):
        path.parent.mkdir()
    mirror(source, first)
    (first.parent / SOURCES).unlink()
    mirror(source, second, first)
    assert seen(second) == seen(source)
    assert (first / "l").lstat().st_ino != (second / "l").lstat().st_ino


@pytest.fixture
async def workshop_of_trees(workshop: Workshop) -> Workshop:
    try:
        if owners(AS_OWNER) == "own":
            pytest.skip("this user has no other users' ids")
    except Exception as error:
        pytest.skip(str(error))
    store = ImageStore(workshop.store.directory, prefix=AS_OWNER, trees=True)
    return Workshop(workshop.context, store, workshop.builder)


async def root_of(workshop: Workshop, store: Path | None = None) -> Rootfs:
    image = await workshop.keeper.ensure()
    return await rootfs_of(str(image.archive), store or workshop.store.directory, prefix=AS_OWNER)


def listed(rootfs: Rootfs) -> str:
    """What `ls` says of every file, by a root that may read it."""
    script = "find . ! -type d -printf '%p %M %U %G %T@ %l\\n' -o -printf '%p %M %U %G\\n' | sort; cat app/a"
    return subprocess.check_output([*AS_OWNER, "sh", "-c", script], cwd=rootfs.path, text=True)


@needs_buildah
async def test_a_tree_is_what_the_archive_unpacks_to(workshop_of_trees: Workshop, tmp_path: Path) -> None:
    here = workshop_of_trees
    (here.context / "a").write_text("one")
    here.dockerfile(
        "RUN mkdir -p /o /app /tmp && chmod 1777 /tmp && touch /o/gone\n"
        "RUN touch /su && chown 7:8 /su && chmod 4755 /su\n"
        "RUN rm -rf /o && mkdir /o && touch /o/new && ln -s /su /link && ln /su /hard\n"
        "COPY a /app/a\nENV A=1\nUSER 7\nWORKDIR /app\n"
    )
    await here.keeper.ensure()
    times = (here.context / "a").stat()
    (here.context / "a").write_text("two")
    os.utime(here.context / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    tree = await root_of(here)
    assert not (await here.keeper.ensure()).archive.exists()
    plain = ImageStore(tmp_path / "plain", prefix=AS_OWNER)
    other = Workshop(here.context, plain, here.builder)
    unpacked = await root_of(other, plain.directory)
    assert other.keeper.current is not None
    assert other.keeper.current.archive.exists()
    assert listed(tree) == listed(unpacked)
    assert listed(tree).endswith("two")
    assert tree.config == unpacked.config
    assert (tree.config.env["A"], tree.config.user, tree.config.workdir) == ("1", "7", "/app")


@needs_buildah
async def test_a_tree_in_use_stays_and_one_that_went_is_built_again(workshop_of_trees: Workshop) -> None:
    here = workshop_of_trees
    here.dockerfile("RUN mkdir /app && echo one > /app/a\n")
    rootfs = await root_of(here)
    assert here.store.prune(0) == []
    rootfs.release()
    assert here.keeper.current is not None
    here.keeper.current.release()
    assert [image.kind for image in here.store.prune(0)] == ["rootfs"]
    here.said(BuildStarted)
    again = Workshop(here.context, here.store, here.builder)
    assert again.keeper.current is None
    assert listed(await root_of(again)).endswith("one\n")


@needs_buildah
async def test_an_engine_of_another_kind_finds_no_archive_and_makes_one(workshop_of_trees: Workshop) -> None:
    here = workshop_of_trees
    here.dockerfile("RUN :\n")
    await here.keeper.ensure()
    plain = ImageStore(here.store.directory, prefix=AS_OWNER)
    other = Workshop(here.context, plain, here.builder)
    assert (await other.keeper.ensure()).archive.exists()


ENGINE = """
import asyncio, sys
from pathlib import Path
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import ImageStore

async def main():
    context, store, *prefix = sys.argv[1:]
    kept = ImageStore(Path(store), prefix=tuple(prefix), trees=True)
    await ImageKeeper(Path(context), kept, await find_builder(Path(store), "buildah")).ensure()

asyncio.run(main())
"""


@needs_buildah
async def test_after_kill_9_while_a_tree_is_made_the_next_start_is_clean_and_right(
    workshop_of_trees: Workshop,
) -> None:
    here, store = workshop_of_trees, workshop_of_trees.store.directory
    (here.context / "many").mkdir()
    for number in range(3000):
        (here.context / f"many/{number}").write_text(str(number))
    here.dockerfile("COPY many /many\n")
    engine = subprocess.Popen([sys.executable, "-c", ENGINE, here.context, store, *AS_OWNER])
    while not list(store.glob("rootfs/*.new/rootfs/many/*")):
        await asyncio.sleep(0.005)
    engine.kill()
    engine.wait()
    while running(str(store)):
        await asyncio.sleep(0.02)
    assert [line for line in Path("/proc/mounts").read_text().splitlines() if str(store) in line] == []
    ImageStore(store, prefix=AS_OWNER, trees=True).sweep()
    await here.builder.sweep()
    assert os.listdir(store / "rootfs") == []
    rootfs = await root_of(here)
    assert len(os.listdir(rootfs.path / "many")) == 3000
    assert os.listdir(store / "rootfs") == [rootfs.key]
