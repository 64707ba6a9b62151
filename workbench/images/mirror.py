"""A mounted image's file system as a tree of its own: `python -m workbench.images.mirror TARGET [LIKE]`.

Run in the root of the mount. What the tree `LIKE` of an earlier image has from the very same file of the
builder's store is linked to rather than copied, so that after an edit only what the edit touched is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from workbench.images.errors import ImageError
from workbench.images.process import started
from workbench.images.unpack import keeps_attribute, unwritable

SOURCES = "sources"
"""The file beside a tree that says where its files came from."""

type _Sources = dict[bytes, tuple[int, int]]
"""Path to inode and change time of the file it was copied from. An overlay shows those of the layer's own
file, and a layer never changes, so the same two are the same content."""


def mirror(source: Path, target: Path, like: Path | None = None) -> None:
    """Copy the tree `source` to the new directory `target`, and note beside it where its files came from.

    Owners, modes, times, hard links and harmless attributes are kept; devices and sockets are left out.

    Args:
        like: A tree made by this function on the same file system; it is not changed.

    Raises:
        ImageError: the disk is full.
    """
    try:
        mirrored = _Mirror(like)
        mirrored.directory(os.fsencode(source), os.fsencode(target), b"")
        (target.parent / SOURCES).write_bytes(msgspec.msgpack.encode(mirrored.sources))
    except OSError as error:
        raise unwritable(target, error) from None


class _Mirror:
    def __init__(self, like: Path | None) -> None:
        self.sources: _Sources = {}
        self._like = os.fsencode(like) if like else b""
        self._before: _Sources = _read_sources(like) if like else {}
        self._links: dict[int, bytes] = {}
        """Files with several names, by inode, to the first name's copy."""

    def directory(self, source: bytes, target: bytes, name: bytes) -> None:
        os.mkdir(target, 0o700)
        for entry in os.scandir(source):
            path = os.path.join(name, entry.name)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self.directory(entry.path, os.path.join(target, entry.name), path)
            else:
                self._file(entry.path, os.path.join(target, entry.name), path, status)
        _describe(source, target, os.stat(source, follow_symlinks=False))

    def _file(self, source: bytes, target: bytes, path: bytes, status: os.stat_result) -> None:
        kind = stat.S_IFMT(status.st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFIFO):
            return
        self.sources[path] = origin = (status.st_ino, status.st_ctime_ns)
        if status.st_nlink > 1 and kind == stat.S_IFREG:
            first = self._links.setdefault(status.st_ino, target)
            if first is not target:
                os.link(first, target)
                return
        if self._before.get(path) == origin:
            with contextlib.suppress(OSError):  # gone, or has as many names as a file can have
                os.link(os.path.join(self._like, path), target, follow_symlinks=False)
                return
        if kind == stat.S_IFLNK:
            os.symlink(os.readlink(source), target)
        elif kind == stat.S_IFIFO:
            os.mkfifo(target)
        else:
            shutil.copyfile(source, target, follow_symlinks=False)
        _describe(source, target, status)


def _describe(source: bytes, target: bytes, status: os.stat_result) -> None:
    os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(target, stat.S_IMODE(status.st_mode))
        for name in os.listxattr(source):
            if keeps_attribute(name, owners=True):
                os.setxattr(target, name, os.getxattr(source, name))
    os.utime(target, ns=(status.st_mtime_ns, status.st_mtime_ns), follow_symlinks=False)


def _read_sources(tree: Path) -> _Sources:
    try:
        return msgspec.msgpack.decode((tree.parent / SOURCES).read_bytes(), type=_Sources)
    except (OSError, msgspec.DecodeError):
        return {}


async def mirror_in(argv: Callable[[Sequence[str]], Sequence[str]], target: Path, like: Path | None) -> None:
    """Run `mirror` as a program, in whatever place `argv` gives it.

    Raises:
        ImageError: it failed.
    """
    paths = [str(path) for path in (target, like) if path]
    async with started(argv((sys.executable, "-m", "workbench.images.mirror", *paths))) as process:
        _, stderr = await process.communicate()
    if process.returncode:
        message, _, hint = stderr.decode(errors="replace").strip().partition("\n")
        raise ImageError(f"the image could not be unpacked: {message or process.returncode}", hint)


def main(arguments: list[str]) -> int:
    """The program; returns its exit code."""
    os.umask(0o022)
    try:
        mirror(Path.cwd(), *map(Path, arguments))
    except ImageError as error:
        print(error, error.hint, sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
