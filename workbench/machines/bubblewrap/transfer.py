"""Files in and out as tar streams: the machine's own tar inside, a careful reader on the host.

What comes out of a machine is written by whoever ran there, so the reader makes no use of links while it
writes, keeps no setuid bit and no special file, and leaves out links that lead out of the tree.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from workbench.machines.machine import MachineError

UNPACK = 'mkdir -p -- "$1" && cd -- "$1" && tar xpf -; exit $?'
"""`sh -c UNPACK sh DIRECTORY` reads an archive on stdin."""
PACK = """
if [ -d "$1" ]; then cd -- "$1" && tar cf - .
elif [ -f "$1" ]; then cd -- "$(dirname -- "$1")" && tar chf - -- "./${1##*/}"
elif [ -e "$1" ]; then echo "$1 is neither a file nor a directory" >&2; exit 2
else echo "there is no $1 in the machine" >&2; exit 2
fi
exit $?"""
"""`sh -c PACK sh PATH` writes an archive on stdout: of a directory's contents, or of the file alone."""
CHANGED = 1
"""GNU tar's exit code when a file changed while it was read; the archive is whole all the same."""


class BrokenArchiveError(MachineError):
    """What the machine sent is no archive, or half of one."""


def pack(source: Path, name: str, to_fd: int) -> None:
    """Write a file as `name`, or a directory's contents, to `to_fd`, and close it. Blocks.

    All belongs to root then. Sockets, pipes and devices are left out.
    """
    with (
        contextlib.suppress(BrokenPipeError),
        open(to_fd, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        if source.is_dir():
            for child in sorted(os.listdir(source)):
                tar.add(source / child, child, filter=_as_root)
        else:
            tar.add(source.resolve(), name, filter=_as_root)


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(from_fd: int, target: Path) -> None:
    """Read an archive that `PACK` wrote from `from_fd`, and close it. Blocks.

    A directory's contents go into `target`; a file becomes `target`. Existing files are replaced.

    Raises:
        BrokenArchiveError: it is no whole archive.
        MachineError: an entry cannot be written.
    """
    with open(from_fd, "rb") as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                _Writer(target).write(tar)
        except tarfile.ReadError as error:
            # An archive without a byte: what the machine's tar says is the better message.
            if stream.read(1) or "empty" not in str(error):
                raise BrokenArchiveError(f"what the machine sent is no archive: {error}") from None
        except OSError as error:
            raise MachineError(f"{error.filename or target}: {error.strerror or error}") from None


class _Writer:
    def __init__(self, target: Path) -> None:
        self._target = target
        self._links: list[tuple[Path, str]] = []
        self._directories: list[tuple[Path, tarfile.TarInfo]] = []
        self._written: dict[str, Path] = {}

    def write(self, tar: tarfile.TarFile) -> None:
        """Files first, links when nothing can be written through them any more, then directories' modes."""
        for number, member in enumerate(tar):
            if number == 0 and not member.isdir():
                self._target.parent.mkdir(parents=True, exist_ok=True)
                self._put(tar, member, self._target)
                continue
            parts = _parts(member.name)
            if parts is not None:
                self._put(tar, member, self._target.joinpath(*parts))
        for path, destination in self._links:
            _clear(path)
            path.symlink_to(destination)
        for path, member in reversed(self._directories):
            path.chmod(member.mode & 0o777 | 0o700)  # else its owner could not remove it
            os.utime(path, (member.mtime, member.mtime))

    def _put(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        if member.isdir():
            self._directory(path)
            if path != self._target:
                self._directories.append((path, member))
            return
        if path != self._target:
            self._directory(path.parent)
        if member.issym():
            if stays_inside(member.linkname, depth=len(path.relative_to(self._target).parts) - 1):
                self._links.append((path, member.linkname))
        elif member.isreg():
            source = tar.extractfile(member)
            assert source is not None
            _clear(path)
            _copy(source, path, member)
            self._written[member.name] = path
        elif member.islnk() and member.linkname in self._written:
            _clear(path)
            os.link(self._written[member.linkname], path, follow_symlinks=False)
            self._written[member.name] = path

    def _directory(self, path: Path) -> None:
        """Make a directory, putting one in the place of any link on the way from the target down."""
        self._target.mkdir(parents=True, exist_ok=True)
        here = self._target
        for part in path.relative_to(self._target).parts:
            here = here / part
            with contextlib.suppress(FileExistsError):
                here.mkdir(mode=0o700)
                continue
            if not stat.S_ISDIR(here.lstat().st_mode):
                here.unlink()
                here.mkdir(mode=0o700)


def stays_inside(link: str, depth: int) -> bool:
    """Whether a link `depth` directories below the root of a tree cannot lead out of it.

    Going up is allowed at the beginning only: after a name, which may itself be a link, `..` leads no one
    knows where.
    """
    target = PurePosixPath(link)
    ups = 0
    for part in target.parts:
        if part != "..":
            break
        ups += 1
    return not target.is_absolute() and ups <= depth and ".." not in target.parts[ups:]


def _parts(name: str) -> tuple[str, ...] | None:
    path = PurePosixPath(name)
    return None if path.is_absolute() or ".." in path.parts else path.parts


def _clear(path: Path) -> None:
    """Remove what is at `path`, whatever it is."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()


def _copy(source: IO[bytes], path: Path, member: tarfile.TarInfo) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:
        shutil.copyfileobj(source, file, 1024 * 1024)
        os.fchmod(file.fileno(), member.mode & 0o777 | 0o400)  # else its owner could not read it
        os.utime(file.fileno(), (member.mtime, member.mtime))
