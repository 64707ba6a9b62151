"""Where images are kept: archives by what is in them, builds by what went in, and unpacked file systems."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from workbench.images.archive import ImageConfig
from workbench.images.build_events import StepRecord
from workbench.images.cache import Cache, Hold, making, remove_tree
from workbench.images.flatten import ARCHIVE
from workbench.images.inputs import Inputs
from workbench.images.rootfs import CONFIG, TREE, owners, rootfs_cache, tree_name

BUDGET = 20 << 30
"""Bytes kept when nothing else is said."""
_RESTING = 24 * 3600
"""Seconds after which a context without an image is taken for gone; before, its first build may run."""

type MakeArchive = Callable[[Path], Awaitable[None]]
type MakeTree = Callable[[Path, Path | None], Awaitable[None]]


class BuildRecord(msgspec.Struct, frozen=True):
    """One build: what it came to, and from what."""

    key: str
    result: str
    context: str
    """The directory it was built from."""
    inputs: Inputs
    built_at: float
    """Unix seconds."""
    seconds: float
    """What building and keeping it took."""
    steps: tuple[StepRecord, ...]
    config: ImageConfig = ImageConfig()
    warnings: tuple[str, ...] = ()


class BuiltImage:
    """An image ready to boot. It is not removed while this object lives."""

    def __init__(self, record: BuildRecord, archive: Path, hold: Hold) -> None:
        self.record = record
        self.archive = archive
        """A docker-archive of one layer; never rewrite it, machines share its blocks. In a store that keeps
        trees it may be missing: it names the image for `rootfs_of` all the same."""
        self._hold = hold

    @property
    def place(self) -> Path:
        """What is kept of it: the archive, or the unpacked file system."""
        tree = self._hold.path / TREE
        return tree if tree.is_dir() else self.archive

    @property
    def key(self) -> str:
        """Names what it was built from."""
        return self.record.key

    @property
    def result(self) -> str:
        """Names what is in it: two builds with one result boot the same machine."""
        return self.record.result

    def release(self) -> None:
        """Let the store remove it. Idempotent; dropping the object does the same."""
        self._hold.release()


class StoredImage(msgspec.Struct, frozen=True):
    """One thing in the store, for a person to read."""

    name: str
    kind: Literal["archive", "rootfs"]
    size: int
    """Bytes on the disk."""
    made_at: float
    used_at: float
    contexts: tuple[str, ...]
    """Directories it was built from; empty for what came from an archive."""
    in_use: bool
    bases: dict[str, str] = {}
    """Images of registries that it starts or copies from, to the digests that were used; empty where the
    builder did not say."""


class ImageStore:
    """The store below one directory, shared by all workbenches of a user."""

    def __init__(
        self, directory: Path, budget: int = BUDGET, prefix: tuple[str, ...] = (), *, trees: bool = False
    ) -> None:
        """
        Args:
            directory: Made if missing; nothing else is written.
            budget: Bytes that archives and file systems may take.
            prefix: As for `rootfs_of`, which makes the trees.
            trees: Keep unpacked file systems rather than archives, where the builder can give them: quicker
                for namespaces, of no use to anything else.
        """
        self.directory = directory
        self.budget = budget
        self._prefix = prefix
        self._archives = Cache(directory / "archives")
        self._rootfs = rootfs_cache(directory, prefix)
        self._keeps_trees = trees and owners(prefix) != "own"
        self._builds = directory / "builds"
        self._contexts = directory / "contexts"
        for path in (self._builds, self._contexts):
            path.mkdir(exist_ok=True)

    def sweep(self) -> None:
        """Remove what was being made when its maker died."""
        self._archives.sweep()
        self._rootfs.sweep()
        for left in (*self._builds.glob("*.new"), *self._contexts.glob("*.new")):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > 60:  # written at once, so nobody's any more
                    left.unlink()

    @asynccontextmanager
    async def building(self, key: str) -> AsyncIterator[None]:
        """Held while the image of `key` is built, so that others wait for it rather than build it too."""
        async with making(self._builds / f"{key}.lock"):
            yield

    def find(self, key: str) -> BuiltImage | None:
        """The image built from exactly these inputs, taken into use."""
        record = _read(self._builds / f"{key}.json", BuildRecord)
        if record is None:
            return None
        hold = self._tree(record.result) or self._archives.hold(record.result)
        return BuiltImage(record, self._archive(record.result), hold) if hold else None

    def last(self, context: Path) -> BuiltImage | None:
        """The image last built from `context`, whatever is in that directory now."""
        key = _read(self._context_file(context), str)
        return self.find(key) if key else None

    async def add(
        self, record: BuildRecord, archive: MakeArchive, tree: MakeTree | None = None
    ) -> BuiltImage:
        """Keep an image. Nothing is made when there already is one with the same result.

        Args:
            archive: Writes the archive to a new file.
            tree: Makes the file system as a new directory, given that of an image it may be like; None where
                only an archive can be had.
        """
        since = time.monotonic()
        if self._keeps_trees and tree is not None:
            hold = await self._rootfs.get(
                tree_name(record.result, self._prefix), lambda new: self._add_tree(new, record, tree)
            )
        else:
            hold = await self._archives.get(record.result, lambda new: archive(new / ARCHIVE))
        record = msgspec.structs.replace(record, seconds=record.seconds + time.monotonic() - since)
        _write(self._builds / f"{record.key}.json", msgspec.json.encode(record))
        self.remember(Path(record.context), record.key)
        return BuiltImage(record, self._archive(record.result), hold)

    async def _add_tree(self, new: Path, record: BuildRecord, tree: MakeTree) -> None:
        before = self.last(Path(record.context))
        like = self._tree(before.result) if before else None
        await tree(new / TREE, like.path / TREE if like else None)
        (new / CONFIG).write_bytes(msgspec.json.encode(record.config))

    def _tree(self, result: str) -> Hold | None:
        return self._rootfs.hold(tree_name(result, self._prefix)) if self._keeps_trees else None

    def _archive(self, result: str) -> Path:
        return self._archives.directory / result / ARCHIVE

    def remember(self, context: Path, key: str) -> None:
        """Note that `key` is the image of `context`."""
        _write(self._context_file(context), msgspec.json.encode(key))

    def images(self) -> list[StoredImage]:
        """All that is kept, least recently used first."""
        contexts: dict[str, set[str]] = {}
        bases: dict[str, dict[str, str]] = {}
        for path in self._builds.glob("*.json"):
            if record := _read(path, BuildRecord):
                contexts.setdefault(record.result, set()).add(record.context)
                bases.setdefault(record.result, {}).update(record.inputs.bases)
        kinds: tuple[tuple[Literal["archive", "rootfs"], Cache], ...] = (
            ("archive", self._archives),
            ("rootfs", self._rootfs),
        )
        found = []
        for kind, cache in kinds:
            for name in cache.names():
                try:
                    status = (cache.directory / name).stat()
                except FileNotFoundError:  # another workbench prunes
                    continue
                found.append(
                    StoredImage(
                        name=name,
                        kind=kind,
                        size=_size(cache.directory / name, status.st_ino),
                        made_at=_made(cache.directory / name),
                        used_at=status.st_mtime,
                        contexts=tuple(sorted(contexts.get(name.partition("-")[0], ()))),
                        in_use=cache.in_use(name),
                        bases=bases.get(name.partition("-")[0], {}),
                    )
                )
        return sorted(found, key=lambda image: image.used_at)

    def prune(self, budget: int | None = None, *, dry_run: bool = False) -> list[StoredImage]:
        """Remove the least recently used until the rest fits; never what is in use.

        Args:
            budget: Bytes; the store's own when None, 0 for all.
            dry_run: Only say what would go.

        Returns:
            What went.
        """
        limit = self.budget if budget is None else budget
        kept = self.images()
        total = sum(image.size for image in kept)
        gone = []
        for image in kept:
            if total <= limit:
                break
            cache = self._archives if image.kind == "archive" else self._rootfs
            if image.in_use or not (dry_run or cache.remove(image.name)):
                continue
            total -= image.size
            gone.append(image)
        if gone and not dry_run:
            self._forget()
        return gone

    def staging(self, context: Path) -> Path:
        """Where the context is staged for builders that believe times."""
        return self._contexts / _name(context)

    def _forget(self) -> None:
        """Remove what is known of images that are gone."""
        there = {name.partition("-")[0] for cache in (self._archives, self._rootfs) for name in cache.names()}
        contexts = set()
        for path in self._builds.glob("*.json"):
            record = _read(path, BuildRecord)
            if record is not None and record.result in there:
                contexts.add(_name(Path(record.context)))
            else:
                path.unlink(missing_ok=True)
        for path in self._contexts.iterdir():
            if path.stem not in contexts and time.time() - path.stat().st_mtime > _RESTING:
                remove_tree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _context_file(self, context: Path) -> Path:
        return self._contexts / f"{_name(context)}.json"


def _name(context: Path) -> str:
    return hashlib.sha256(os.fsencode(context.resolve())).hexdigest()[:16]


def _write(path: Path, text: bytes) -> None:
    """Replace a small file as a whole."""
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_bytes(text)
    new.replace(path)


def _read[T](path: Path, kind: type[T]) -> T | None:
    """What is in a small file; None when it is missing or of another release."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _made(entry: Path) -> float:
    with contextlib.suppress(FileNotFoundError, StopIteration):
        return next(os.scandir(entry)).stat(follow_symlinks=False).st_ctime
    return 0.0


@lru_cache(maxsize=1000)
def _size(thing: Path, inode: int) -> int:
    """Bytes on the disk of a finished thing; files with several names count to each its share."""
    total = 0
    todo = [os.fspath(thing)]
    while todo:
        with contextlib.suppress(PermissionError, FileNotFoundError):
            for entry in os.scandir(todo.pop()):
                status = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                    total += status.st_blocks * 512
                else:
                    total += status.st_blocks * 512 // status.st_nlink
    return total
