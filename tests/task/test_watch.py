"""Every save reaches the watcher, however an editor makes it, and whatever happens to the directory."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.task.conftest import MakeTask
from workbench.task.watch import Batch, watch


class Watching:
    """The batches of a watch as they come."""

    def __init__(self) -> None:
        self.batches: asyncio.Queue[Batch] = asyncio.Queue()

    async def next(self) -> Batch:
        return await asyncio.wait_for(self.batches.get(), 20)

    async def until(self, path: str) -> list[Batch]:
        """All batches up to the one that has `path`."""
        batches = [await self.next()]
        while path not in batches[-1].paths:
            batches.append(await self.next())
        return batches


@asynccontextmanager
async def watching(root: Path) -> AsyncIterator[Watching]:
    watched = Watching()

    async def follow() -> None:
        async for batch in watch(root):
            watched.batches.put_nowait(batch)

    task = asyncio.create_task(follow())
    try:
        yield watched
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def paths(batches: list[Batch]) -> set[str]:
    return set().union(*(batch.paths for batch in batches))


async def test_the_first_batch_says_that_watching_has_begun(make_task: MakeTask) -> None:
    async with watching(make_task()) as watched:
        assert await watched.next() == Batch()


def in_place(file: Path) -> None:
    file.write_text("in place")


def by_rename(file: Path) -> None:
    new = file.with_name(".goutputstream-AB12CD")
    new.write_text("by rename")
    new.rename(file)


def vim(file: Path) -> None:
    swap = file.with_name(f".{file.name}.swp")
    swap.write_text("b0VIM")
    file.with_name("4913").touch()
    file.with_name("4913").unlink()
    file.rename(backup := file.with_name(f"{file.name}~"))
    file.write_text("by vim")
    backup.unlink()
    swap.unlink()


def emacs(file: Path) -> None:
    lock = file.with_name(f".#{file.name}")
    lock.symlink_to("me@host.1:2")
    file.with_name(f"#{file.name}#").write_text("autosave")
    shutil.copy(file, file.with_name(f"{file.name}~"))
    file.write_text("by emacs")
    file.with_name(f"#{file.name}#").unlink()
    lock.unlink()


def jetbrains(file: Path) -> None:
    new, old = (file.with_name(f"{file.name}___jb_{kind}___") for kind in ("tmp", "old"))
    new.write_text("by JetBrains")
    file.rename(old)
    new.rename(file)
    old.unlink()


def nano(file: Path) -> None:
    lock = file.with_name(f".{file.name}.swp")
    lock.write_text("nano")
    file.write_text("by nano")
    lock.unlink()


@pytest.mark.parametrize("save", [in_place, by_rename, vim, emacs, jetbrains, nano])
async def test_a_save_gives_the_file_and_no_droppings(
    make_task: MakeTask, save: Callable[[Path], None]
) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        save(root / "tests/test.sh")
        (root / "after").touch()
        assert paths(await watched.until("after")) == {"tests/test.sh", "after"}


async def test_what_tools_leave_behind_is_no_change(make_task: MakeTask) -> None:
    root = make_task()
    for directory in (".git", "tests/__pycache__", "tests/.pytest_cache"):
        (root / directory).mkdir()
    async with watching(root) as watched:
        await watched.next()
        (root / ".git/index").touch()
        (root / "tests/__pycache__/grade.pyc").touch()
        (root / "tests/.pytest_cache/lastfailed").touch()
        (root / ".DS_Store").touch()
        (root / "after").touch()
        assert paths(await watched.until("after")) == {"after"}


async def test_a_burst_of_saves_is_few_batches(make_task: MakeTask) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        names = {f"tests/case-{number}.json" for number in range(300)}
        for name in sorted(names):
            (root / name).write_text("{}")
        (root / "zzz").touch()
        batches = await watched.until("zzz")
        assert paths(batches) == {*names, "zzz"}
        # One, but for a machine so busy that the writing itself paused.
        assert len(batches) <= 5


async def test_new_directories_are_watched(make_task: MakeTask) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        (root / "negatives/wrong").mkdir(parents=True)
        await watched.until("negatives")
        (root / "negatives/wrong/solve.sh").touch()
        await watched.until("negatives/wrong/solve.sh")


async def test_a_deleted_directory_is_told_and_watched_again_when_it_is_back(make_task: MakeTask) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        shutil.rmtree(root)
        gone = (await watched.until("."))[-1]
        while not gone.notices:
            gone = await watched.next()
        assert gone.notices == ("the task directory is gone; waiting for it",)
        (root / "tests").mkdir(parents=True)
        assert await watched.next() == Batch(frozenset({"."}), ("the task directory is back",))
        assert await watched.next() == Batch()
        (root / "tests/test.sh").touch()
        await watched.until("tests/test.sh")


async def test_a_moved_directory_is_not_followed(make_task: MakeTask, tmp_path: Path) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        root.rename(tmp_path / "moved")
        notices = [
            notice for batch in [await watched.next(), await watched.next()] for notice in batch.notices
        ]
        assert notices == ["the task directory is gone; waiting for it"]
        (tmp_path / "moved/tests/test.sh").write_text("not ours")
        (tmp_path / "moved").rename(root)
        assert (await watched.next()).notices == ("the task directory is back",)


async def test_a_directory_whose_parent_moved_is_noticed(make_task: MakeTask, tmp_path: Path) -> None:
    root = make_task(name="parent/greet")
    async with watching(root) as watched:
        await watched.next()
        (tmp_path / "parent").rename(tmp_path / "elsewhere")
        assert (await watched.next()).notices == ("the task directory is gone; waiting for it",)


async def test_a_directory_replaced_by_another_is_watched(make_task: MakeTask, tmp_path: Path) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        shutil.copytree(root, tmp_path / "new")
        root.rename(tmp_path / "old")
        (tmp_path / "new").rename(root)
        await watched.until(".")
        while await watched.next() != Batch():  # until the new one is watched
            pass
        (root / "tests/test.sh").write_text("new")
        await watched.until("tests/test.sh")


async def test_a_file_in_place_of_the_directory_is_told(make_task: MakeTask) -> None:
    root = make_task()
    async with watching(root) as watched:
        await watched.next()
        shutil.rmtree(root)
        root.touch()
        batch = await watched.next()
        while not batch.notices:
            batch = await watched.next()
        assert "waiting for it" in batch.notices[0]


ORDINARY = """
import asyncio, os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from workbench.task.watch import watch
async def main():
    async for batch in watch(Path(sys.argv[1])):
        print(sorted(batch.paths), *batch.notices, flush=True)
asyncio.run(main())
"""


@asynccontextmanager
async def watching_elsewhere(*command: str) -> AsyncIterator[Callable[[], asyncio.Future[str]]]:
    """Another process that prints each batch; gives its next line."""
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = process.stdout

    async def line() -> str:
        return (await asyncio.wait_for(lines.readline(), 20)).decode().strip()

    try:
        yield lambda: asyncio.ensure_future(line())
    finally:
        process.kill()
        await process.wait()


async def test_directories_that_may_not_be_read_are_survived() -> None:
    # Not beneath pytest's own directory, which only its user may enter.
    root = Path(f"/tmp/watched-task-{os.getpid()}")
    shutil.rmtree(root, ignore_errors=True)
    try:
        for name in ("tests", "secret"):
            (root / name).mkdir(parents=True)
        (root / "secret").chmod(0o000)
        async with watching_elsewhere(sys.executable, "-c", ORDINARY, str(root)) as line:
            told = (
                "saves cannot be watched (Permission denied (os error 13)), so the task is read every 300 ms"
            )
            assert await line() == f"[] {told}"
            assert await line() == "[]"
            (root / "tests/test.sh").touch()
            assert await line() == "['tests/test.sh']"
            root.chmod(0o000)
            said = await line()
            while "waiting" not in said:
                said = await line()
            assert said == "['.'] the task directory cannot be read (Permission denied); waiting for it"
            root.chmod(0o755)
            assert await line() == "['.'] the task directory is back"
    finally:
        root.chmod(0o755)
        shutil.rmtree(root)


def can_unshare() -> bool:
    command = ["unshare", "-Ur", "sh", "-c", "echo 1 > /proc/sys/user/max_inotify_watches"]
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not can_unshare(), reason="needs user namespaces to set inotify's limits")
@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("max_inotify_watches", "OS file watch limit reached."),
        ("max_inotify_instances", "Error creating recommended watcher: Too many open files (os error 24)"),
    ],
)
async def test_without_watches_the_task_is_polled_and_the_author_told(
    make_task: MakeTask, limit: str, why: str
) -> None:
    root = make_task()
    script = f"""
import asyncio, sys
from pathlib import Path
from workbench.task.watch import watch
async def main():
    Path("/proc/sys/user/{limit}").write_text("0")
    async for batch in watch(Path(sys.argv[1])):
        print(sorted(batch.paths), *batch.notices, flush=True)
asyncio.run(main())
"""
    async with watching_elsewhere("unshare", "-Ur", sys.executable, "-c", script, str(root)) as line:
        said = await line()
        assert said == f"[] saves cannot be watched ({why}), so the task is read every 300 ms"
        assert await line() == "[]"
        (root / "tests/new.json").touch()
        assert "tests/new.json" in await line()
