"""A directory of finished, named things: each made beside, renamed when whole, and kept while it is used.

Several workbenches share one. Whoever makes a thing holds `NAME.lock`; whoever uses it holds a shared lock on
the thing's own directory, which its process gives up however it ends. Both are `flock`s, so a crash leaves no
lock, only a `NAME.new` that the next start removes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_POLL = 0.05
"""Seconds between two tries for a lock that someone holds; a waiting thread could not be cancelled."""


class Hold:
    """Keeps one thing from being removed, until released, dropped, or its process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()


class Cache:
    """The things below `directory`, one directory each."""

    def __init__(self, directory: Path, remove: Callable[[Path], None] | None = None) -> None:
        """
        Args:
            directory: Made if missing, for its owner's eyes only: images hold setuid files.
            remove: Deletes a tree; `remove_tree` when None.
        """
        self.directory = directory
        self._remove = remove or remove_tree
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)

    def hold(self, name: str) -> Hold | None:
        """Take `name` into use; None where there is no such thing."""
        path = self.directory / name
        while True:
            try:
                descriptor = os.open(path, _DIRECTORY)
            except FileNotFoundError:
                return None
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if _is(descriptor, path):
                os.utime(descriptor)
                return Hold(path, descriptor)
            os.close(descriptor)

    async def get(self, name: str, make: Callable[[Path], Awaitable[None]]) -> Hold:
        """`name`, taken into use; made by `make` in a new directory where it is missing.

        Two who ask at once, in whatever processes, get one thing made once. What `make` raises is raised, and
        nothing stays.
        """
        while (hold := self.hold(name)) is None:
            async with making(self.directory / f"{name}.lock"):
                path, new = self.directory / name, self.directory / f"{name}.new"
                if path.exists():
                    continue
                await asyncio.to_thread(self._remove, new)
                new.mkdir(mode=0o700)
                try:
                    await make(new)
                    new.rename(path)
                except BaseException:
                    self._remove(new)
                    raise
        return hold

    def sweep(self) -> list[str]:
        """Remove what makers that died left behind; returns the names."""
        swept = []
        for new in self.directory.glob("*.new"):
            with contextlib.suppress(BlockingIOError), locked(self.directory / f"{new.stem}.lock"):
                self._remove(new)
                swept.append(new.stem)
        return swept

    def remove(self, name: str) -> bool:
        """Remove a thing; False when it is missing, or in use here or elsewhere."""
        path, gone = self.directory / name, self.directory / f"{name}.new"
        with contextlib.suppress(FileNotFoundError, BlockingIOError), locked(self.directory / f"{name}.lock"):
            descriptor = os.open(path, _DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Renamed first: a removal cut short must not leave half a thing under its name.
                path.rename(gone)
            finally:
                os.close(descriptor)
            self._remove(gone)
            return True
        return False

    def names(self) -> list[str]:
        """All finished things, least recently used first."""
        found = [entry for entry in os.scandir(self.directory) if entry.is_dir()]
        found.sort(key=lambda entry: entry.stat().st_mtime_ns)
        return [entry.name for entry in found if not entry.name.endswith(".new")]

    def in_use(self, name: str) -> bool:
        """Whether someone holds it."""
        try:
            descriptor = os.open(self.directory / name, _DIRECTORY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


@asynccontextmanager
async def making(path: Path) -> AsyncIterator[None]:
    """Waits for the lock at `path`, then holds it; the file is gone when nobody has it."""
    while True:
        with contextlib.suppress(BlockingIOError):
            lock = locked(path)
            break
        await asyncio.sleep(_POLL)
    with lock:
        yield


def locked(path: Path) -> AbstractContextManager[None]:
    """Takes the lock at `path`, to be given up on leaving the context.

    Raises:
        BlockingIOError: someone else has it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(descriptor, path):
                return _locked(path, os.dup(descriptor))
        finally:
            os.close(descriptor)


@contextmanager
def _locked(path: Path, descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        path.unlink()
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    """Whether `path` still is what was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def remove_tree(path: Path) -> None:
    """Delete a tree that may hold directories its owner cannot write. Missing is fine."""
    for parent, directories, _ in os.walk(path):
        for name in directories:
            directory = os.path.join(parent, name)
            if not os.path.islink(directory):
                os.chmod(directory, 0o700)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
