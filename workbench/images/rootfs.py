"""The file system a namespace machine runs in: a directory given as such, or an archive unpacked once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from workbench.images.archive import SAVE_HINT, ImageConfig
from workbench.images.cache import Cache, Hold, remove_tree
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError
from workbench.images.process import leash, started

TREE = "rootfs"
CONFIG = "config.json"
"""What an unpacked image consists of in its directory of the store."""


class Rootfs:
    """A file system to run in. An unpacked one is not removed while this object lives."""

    def __init__(self, path: Path, config: ImageConfig, key: str, hold: Hold | None = None) -> None:
        self.path = path
        """The root directory; never write in it."""
        self.config = config
        self.key = key
        """Names the content: an archive's by its bytes, a directory's by the names, sizes and times in it."""
        self._hold = hold

    def release(self) -> None:
        """Let the store remove it. Idempotent; dropping the object does the same."""
        if self._hold:
            self._hold.release()


def is_local(reference: str) -> bool:
    """Whether an image reference means a path on this machine rather than a name in a registry."""
    return reference.startswith(("/", "./", "../", "~")) or os.path.exists(reference)


async def rootfs_of(reference: str, cache: Path, *, prefix: tuple[str, ...] = ()) -> Rootfs:
    """The file system of a `docker_image` that is a directory or an image archive.

    Args:
        reference: The path; relative ones are the caller's to resolve.
        cache: The store's directory. Only `cache/rootfs` is written.
        prefix: A command that runs another in a user namespace where files can have their true owners, such
            as `unshare --user --map-auto --map-root-user`; used to unpack and to remove.

    Raises:
        ImageError: it is missing, is no image, is damaged or hostile, or cannot be written.
    """
    path = Path(reference).expanduser().absolute()
    kept = path.parent.parent == (cache / "archives").absolute()
    try:
        if kept and (hold := rootfs_cache(cache, prefix).hold(tree_name(path.parent.name, prefix))):
            return _rootfs(hold)
        mode = await asyncio.to_thread(lambda: path.stat().st_mode)
        if stat.S_ISDIR(mode):
            if (path / "oci-layout").is_file():
                hint = f"pack it: tar -cf image.tar -C {path} ."
                raise ImageError(f"{path} is an OCI layout, not a root file system", hint)
            return Rootfs(path, ImageConfig(), await asyncio.to_thread(_tree_key, path))
        if not stat.S_ISREG(mode):
            raise ImageError(f"{path} is neither a directory nor an archive")
        # The store names archives by their content already.
        name = path.parent.name if kept else (await asyncio.to_thread(file_digest, path.resolve()))[:32]
        trees = rootfs_cache(cache, prefix)
        return _rootfs(await trees.get(tree_name(name, prefix), lambda new: _unpack(path, new, prefix)))
    except FileNotFoundError:
        what = f"there is no {path}" if is_local(reference) else f"{reference} is an image in a registry"
        raise ImageError(what, f"name a directory or an image archive; for an archive, {SAVE_HINT}") from None
    except OSError as error:
        raise ImageError(f"{error.filename or path}: {error.strerror or error}") from None


def _rootfs(hold: Hold) -> Rootfs:
    config = msgspec.json.decode((hold.path / CONFIG).read_bytes(), type=ImageConfig)
    return Rootfs(hold.path / TREE, config, hold.path.name, hold)


def sweep_rootfs(cache: Path, prefix: tuple[str, ...] = ()) -> list[str]:
    """Remove what unpacking that was killed left behind; called once when the engine starts."""
    return rootfs_cache(cache, prefix).sweep()


def rootfs_cache(cache: Path, prefix: tuple[str, ...]) -> Cache:
    """The unpacked file systems below `cache`."""

    def remove(tree: Path) -> None:
        if prefix:  # files of other owners can only be removed where their owners exist
            subprocess.run([*prefix, "rm", "-rf", "--", tree], check=True, capture_output=True)
        remove_tree(tree)

    return Cache(cache / "rootfs", remove)


def tree_name(content: str, prefix: tuple[str, ...]) -> str:
    """Names the tree of an image: without the right to set owners the same content gives another."""
    return f"{content}-{owners(prefix)}"


@lru_cache(maxsize=8)
def owners(prefix: tuple[str, ...]) -> Literal["root", "mapped", "own"]:
    """Whose files an unpacked tree holds: anyone's, those of the namespace's users, or this user's alone.

    Raises:
        ImageError: the prefix does not work.
    """
    if os.geteuid() != 0 and not prefix:
        return "own"
    argv = [*prefix, "/bin/cat", "/proc/self/uid_map"]
    try:
        ids = subprocess.run(argv, capture_output=True, text=True)
    except OSError as error:
        raise ImageError(f"{argv[0]} cannot be started: {error.strerror}") from None
    if ids.returncode:
        raise ImageError(f"{argv[0]} does not work here: {ids.stderr.strip()}")
    if sum(int(line.split()[2]) for line in ids.stdout.splitlines()) < 2:
        return "own"
    return "mapped" if os.geteuid() else "root"


async def _unpack(archive: Path, new: Path, prefix: tuple[str, ...]) -> None:
    argv = [*prefix, *leash(), sys.executable, "-m", "workbench.images.unpack", str(archive), str(new / TREE)]
    async with started(argv) as process:
        stdout, stderr = await process.communicate()
    if process.returncode:
        message, _, hint = stderr.decode(errors="replace").strip().partition("\n")
        if process.returncode != 1 or not message:
            message, hint = f"unpacking {archive} ended with exit code {process.returncode}", message
        raise ImageError(message, hint)
    (new / CONFIG).write_bytes(stdout)


def _tree_key(root: Path) -> str:
    """A hash over what `lstat` says of every file: to read them all would cost seconds for every run."""
    hashed = hashlib.sha256(os.fsencode(root.resolve()))
    for name, status in _walk(os.fsencode(root)):
        hashed.update(b"%d %s %d %d %d %d\0" % (len(name), name, *status))
    return f"{hashed.hexdigest()[:32]}-tree"


def _walk(directory: bytes) -> Iterator[tuple[bytes, tuple[int, int, int, int]]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except PermissionError:
        return
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        yield entry.path, (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
