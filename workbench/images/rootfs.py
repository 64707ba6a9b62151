"""The file system a namespace machine runs in: a directory given as such, or an archive unpacked once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from workbench.images.archive import SAVE_HINT, ImageConfig
from workbench.images.cache import Cache, Hold, remove_tree
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError

_TREE = "rootfs"
_CONFIG = "config.json"


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
    path = Path(reference).expanduser()
    try:
        mode = await asyncio.to_thread(lambda: path.stat().st_mode)
    except FileNotFoundError:
        what = f"there is no {path}" if is_local(reference) else f"{reference} is an image in a registry"
        raise ImageError(what, f"name a directory or an image archive; for an archive, {SAVE_HINT}") from None
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        if (path / "oci-layout").is_file():
            hint = f"pack it: tar -cf image.tar -C {path} ."
            raise ImageError(f"{path} is an OCI layout, not a root file system", hint)
        return Rootfs(path, ImageConfig(), await asyncio.to_thread(_tree_key, path))
    if not stat.S_ISREG(mode):
        raise ImageError(f"{path} is neither a directory nor an archive")
    try:
        store = rootfs_cache(cache, prefix)
        key = f"{await _content(path.resolve(), cache)}-{_owners(prefix)}"
        hold = await store.get(key, lambda new: _unpack(path, new, prefix))
    except OSError as error:
        raise ImageError(f"{error.filename or path}: {error.strerror or error}") from None
    config = msgspec.json.decode((hold.path / _CONFIG).read_bytes(), type=ImageConfig)
    return Rootfs(hold.path / _TREE, config, key, hold)


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


async def _content(archive: Path, cache: Path) -> str:
    """Names what is in an archive; those the store made are named so already."""
    if archive.parent.parent == (cache / "archives").resolve():
        return archive.parent.name
    return (await asyncio.to_thread(file_digest, archive))[:32]


def _owners(prefix: tuple[str, ...]) -> str:
    """Whose files an unpacked tree holds: without the right to set owners the same archive gives another."""
    return "root" if os.geteuid() == 0 else "mapped" if prefix else "own"


async def _unpack(archive: Path, new: Path, prefix: tuple[str, ...]) -> None:
    process = await asyncio.create_subprocess_exec(
        *prefix,
        *(sys.executable, "-m", "workbench.images.unpack", str(archive), str(new / _TREE)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        message, _, hint = stderr.decode(errors="replace").strip().partition("\n")
        if process.returncode != 1 or not message:
            message, hint = f"unpacking {archive} ended with exit code {process.returncode}", message
        raise ImageError(message, hint)
    (new / _CONFIG).write_bytes(stdout)


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
