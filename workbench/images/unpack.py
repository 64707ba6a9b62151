"""An image archive unpacked to a directory: `python -m workbench.images.unpack ARCHIVE TARGET`.

A program of its own so that it can run below another (`unshare --user --map-auto ...`, which gives files
their true owners without root), and so that what a hostile archive costs in memory is bounded. On success the
image's config is printed as JSON; on failure the message, then the hint, a line each, go to standard error.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import stat
import sys
import tarfile
from pathlib import Path

import msgspec

from workbench.images import layers
from workbench.images.archive import ImageConfig, open_archive
from workbench.images.errors import ROOM_HINT, ImageError

MEMORY_LIMIT = 4 << 30
"""Bytes of address space of the program; a header may claim any length, and is read whole."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_XATTR = "SCHILY.xattr."


def unpack(archive: Path, target: Path, limits: layers.Limits = layers.Limits()) -> ImageConfig:  # noqa: B008
    """Write the image's file system to the new directory `target`.

    Owners are set only as root (of the namespace, where there is one). Device nodes are left out: machines
    bring their own `/dev`. Of extended attributes only `user.*`, and as root file capabilities, are kept.

    Raises:
        ImageError: the archive is damaged or not an image, or would write outside of `target`, or the disk is
            full. What was written until then stays.
    """
    os.mkdir(target, 0o700)
    try:
        with open_archive(archive) as image, _Writer(target) as writer:
            for entry in layers.merged(image, limits):
                writer.write(entry)
            writer.finish()
            return image.config
    except MemoryError:
        raise ImageError(f"{archive} has headers too large to be read") from None
    except OSError as error:
        raise unwritable(target, error) from None


def unwritable(target: Path, error: OSError) -> ImageError:
    """What to say when writing below `target` failed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ImageError(f"no room left on the disk that holds {target.parent}", ROOM_HINT)
    return ImageError(f"{target} cannot be written: {error.strerror or error}")


class _Writer:
    """Writes entries below a directory that is its own."""

    def __init__(self, target: Path) -> None:
        self._root = os.open(target, _DIRECTORY)
        self._owners = os.geteuid() == 0
        self._directories: list[tuple[layers.Path, tarfile.TarInfo | None]] = []
        self._parent: tuple[layers.Path, int] = ((), os.dup(self._root))

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._parent[1])
        os.close(self._root)

    def write(self, entry: layers.Entry) -> None:
        info = entry.info
        if entry.data is None and entry.link is None and (info is None or info.isdir()):
            if entry.path:
                os.mkdir(entry.path[-1], 0o700, dir_fd=self._open(entry.path[:-1]))
            # Last, so that a read-only directory can be filled and keeps its time.
            self._directories.append((entry.path, info))
            return
        assert info is not None
        parent, name = self._open(entry.path[:-1]), entry.path[-1]
        if entry.link is not None:
            source = self._walk(entry.link[:-1])
            try:
                os.link(entry.link[-1], name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
            finally:
                os.close(source)
        elif entry.data is not None:
            with os.fdopen(os.open(name, _CREATE, 0o600, dir_fd=parent), "wb") as file:
                shutil.copyfileobj(entry.data, file, 1 << 20)
                file.flush()
                self._describe(file.fileno(), info)
        elif info.issym():
            os.symlink(info.linkname, name, dir_fd=parent)
            self._own(info, name, parent)
            os.utime(name, ns=_times(info), dir_fd=parent, follow_symlinks=False)
        elif info.isfifo():
            os.mkfifo(name, 0o600, dir_fd=parent)
            self._own(info, name, parent)
            os.chmod(name, stat.S_IMODE(info.mode), dir_fd=parent)

    def finish(self) -> None:
        """Give the directories their owners, modes and times."""
        for path, info in reversed(self._directories):
            directory = self._walk(path)
            try:
                if info is None:
                    os.fchmod(directory, 0o755)
                else:
                    self._describe(directory, info)
            finally:
                os.close(directory)

    def _describe(self, file: int, info: tarfile.TarInfo) -> None:
        self._own(info, file)
        os.fchmod(file, stat.S_IMODE(info.mode))  # after the owner: changing that drops setuid
        for key, value in info.pax_headers.items():
            name = key.removeprefix(_XATTR)
            if name != key and keeps_attribute(name, owners=self._owners):
                with contextlib.suppress(OSError):  # the file system may have none
                    os.setxattr(file, name, value.encode("utf-8", "surrogateescape"))
        os.utime(file, ns=_times(info))

    def _own(self, info: tarfile.TarInfo, file: int | str, parent: int | None = None) -> None:
        if self._owners:
            try:
                os.chown(file, info.uid, info.gid, dir_fd=parent, follow_symlinks=parent is None)
            except OSError as error:
                if error.errno != errno.EINVAL:  # a user whom the namespace does not have
                    raise

    def _open(self, path: layers.Path) -> int:
        if self._parent[0] != path:
            descriptor = self._walk(path)
            os.close(self._parent[1])
            self._parent = (path, descriptor)
        return self._parent[1]

    def _walk(self, path: layers.Path) -> int:
        here = os.dup(self._root)
        for part in path:
            above = here
            try:
                here = os.open(part, _DIRECTORY, dir_fd=above)
            finally:
                os.close(above)
        return here


def keeps_attribute(name: str, *, owners: bool) -> bool:
    """Whether a file keeps this extended attribute; `user.overlay.*` would change what an overlay shows.

    Args:
        owners: This process may give files away, and with that capabilities to programs.
    """
    user = name.startswith("user.") and not name.startswith("user.overlay.")
    return user or (owners and name == "security.capability")


def _times(info: tarfile.TarInfo) -> tuple[int, int]:
    nanoseconds = min(max(int(info.mtime * 1_000_000_000), 0), (1 << 62))
    return nanoseconds, nanoseconds


def bound_memory() -> None:
    """Keep this process from taking more memory than an honest archive needs; macOS knows no such limit."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def main(arguments: list[str]) -> int:
    """The program; returns its exit code."""
    archive, target = arguments
    bound_memory()
    os.umask(0o022)
    try:
        config = unpack(Path(archive), Path(target))
    except ImageError as error:
        print(error, error.hint, sep="\n", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(config))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
