"""Saves in a task directory, as they happen: a burst of them is one batch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import msgspec
from watchfiles import Change, awatch
from watchfiles.main import FileChange

from workbench.task.ignored import is_ignored
from workbench.task.snapshot import Snapshot
from workbench.task.text import reason

QUIET_MS = 10
"""A batch ends when nothing changed for so long: an editor's save is over in less."""
BURST_MS = 1000
"""A batch ends after so long even when changes go on."""
LOOK_MS = 200
"""How often to look whether the directory is still the one that is watched."""
POLL_MS = 300
"""How often to read the whole tree where the system gives no more watches."""


class Batch(msgspec.Struct, frozen=True):
    """What changed together."""

    paths: frozenset[str] = frozenset()
    """Relative to the task; "." when the directory itself went or came, and all in it may be another."""
    notices: tuple[str, ...] = ()
    """What a person should hear about the watching."""


async def watch(task_dir: Path) -> AsyncIterator[Batch]:
    """Every burst of changes beneath `task_dir`, without end.

    The first batch has no paths: it says that watching has begun. What changed before that, or while
    the directory was away, is for the caller to find by reading the task again. A directory that is
    deleted, moved or cannot be read is told and waited for.
    """
    polling = False
    while True:
        identity = _identity(task_dir)
        if isinstance(identity, str):
            yield Batch(frozenset({"."}), (f"the task directory {identity}; waiting for it",))
            while isinstance(_identity(task_dir), str):
                await asyncio.sleep(LOOK_MS / 1000)
            yield Batch(frozenset({"."}), ("the task directory is back",))
            continue
        try:
            source = _polled(task_dir, identity) if polling else _watched(task_dir, identity)
            async with aclosing(source) as changes:
                async for paths in changes:
                    yield Batch(paths)
        except (OSError, RuntimeError) as error:
            if isinstance(_identity(task_dir), str):
                continue
            if polling:
                raise
            # Limits of inotify: on watches an OSError, on instances watchfiles' own error. A directory
            # beneath that may not be read keeps watchfiles from watching any.
            polling = True
            text = str(error).partition(" (Error ")[0].partition(" about ")[0]
            message = f"saves cannot be watched ({text}), so the task is read every {POLL_MS} ms"
            yield Batch(notices=(message,))


async def _watched(root: Path, identity: tuple[int, int]) -> AsyncGenerator[frozenset[str], None]:
    """An empty batch once the watches are set, then each batch until the directory is another one."""
    resolved = root.resolve()
    watcher = awatch(
        resolved,
        watch_filter=lambda _, path: not is_ignored(os.path.relpath(path, resolved)),
        debounce=BURST_MS,
        step=QUIET_MS,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
    )
    async with aclosing(watcher):
        async with _started(watcher) as first:
            yield frozenset()
            changes = await first
        while True:
            if paths := frozenset(os.path.relpath(path, resolved) for _, path in changes):
                yield paths
            if (Change.deleted, str(resolved)) in changes or _identity(root) != identity:
                return
            changes = await anext(watcher)


async def _polled(root: Path, identity: tuple[int, int]) -> AsyncGenerator[frozenset[str], None]:
    """As `_watched`, by comparing what the directory holds with what it held."""
    before = (await asyncio.to_thread(Snapshot.of, root)).entries
    yield frozenset()
    while _identity(root) == identity:
        await asyncio.sleep(POLL_MS / 1000)
        after = (await asyncio.to_thread(Snapshot.of, root)).entries
        if paths := frozenset(path for path in before | after if before.get(path) != after.get(path)):
            yield paths
        before = after


@asynccontextmanager
async def _started(watcher: AsyncIterator[set[FileChange]]) -> AsyncGenerator[asyncio.Task[set[FileChange]]]:
    """The watcher's first answer, still awaited: its first step has set the watches."""
    first = asyncio.ensure_future(anext(watcher))
    try:
        await asyncio.sleep(0)
        if first.done():
            first.result()
        yield first
    finally:
        first.cancel()
        await asyncio.wait({first})


def _identity(root: Path) -> tuple[int, int] | str:
    """What tells this directory from another at the same path, or why there is none."""
    try:
        with os.scandir(root):
            found = os.stat(root)
    except FileNotFoundError:
        return "is gone"
    except NotADirectoryError:
        return "has become a file"
    except OSError as error:
        return f"cannot be read ({reason(error)})"
    return found.st_dev, found.st_ino
