"""The build context: what a builder sees of a directory, and a copy of it that BuildKit cannot misread."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from workbench.images.cache import remove_tree
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError

type Files = dict[str, str]
"""Path below the context, in POSIX form, to what it is: kind, mode, and content's hash or link's target."""

_ALWAYS = ("Dockerfile", ".dockerignore")
"""Sent to the builder even when ignored."""


def context_files(context: Path) -> Files:
    """All that a builder sees of `context`, sorted by path.

    Times and owners are left out: COPY gives files to root, and a touched file is the same file.

    Raises:
        ImageError: the directory cannot be read.
    """
    ignored = read_ignore(context)
    return {_text(name): _what(path, status) for name, path, status in _walk(context, ignored)}


def _what(path: str, status: os.stat_result) -> str:
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    if stat.S_ISLNK(status.st_mode):
        return f"link {_text(os.readlink(path))}"
    if stat.S_ISDIR(status.st_mode):
        return f"directory {mode}"
    if stat.S_ISFIFO(status.st_mode):
        return f"fifo {mode}"
    try:
        return f"file {mode} {file_digest(path)}"
    except PermissionError:
        # An error only if it is copied, which the builder knows; one with other rights even reads it.
        return f"unreadable {mode} {status.st_size} {status.st_mtime_ns}"
    except FileNotFoundError:
        return "gone"


def _walk(context: Path, ignored: Ignore) -> Iterator[tuple[str, str, os.stat_result]]:
    """Name, path and status of every entry; sockets and devices are nothing to a builder."""
    todo = [("", os.fspath(context))]
    while todo:
        prefix, directory = todo.pop()
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except PermissionError:
            continue
        except OSError as error:
            raise ImageError(f"{directory} cannot be read: {error.strerror}") from None
        below = []
        for entry in entries:
            name = prefix + entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            out = ignored.matches(name) and name not in _ALWAYS
            if is_directory and (not out or ignored.has_exceptions):
                below.append((name + "/", entry.path))
            if out:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO):
                yield name, entry.path, status
        todo += reversed(below)


class Ignore:
    """The patterns of a `.dockerignore`.

    As Docker's own matcher reads them (https://github.com/moby/patternmatcher): paths from the context's
    root, `*` and `?` within a component, `**` across them, `!` for exceptions, the last pattern that fits
    wins, and what fits a directory fits all below it. A pattern not understood ignores nothing: a key then
    holds too much, which costs a build, rather than too little, which would keep a stale image.
    """

    def __init__(self, text: str = "") -> None:
        self._patterns: list[tuple[bool, re.Pattern[str]]] = []
        for line in text.removeprefix("\ufeff").splitlines():
            if line.startswith("#") or not (pattern := line.strip()):
                continue
            exception = pattern.startswith("!")
            pattern = os.path.normpath(pattern.removeprefix("!").strip()).lstrip("/")
            if pattern in ("", "."):
                continue
            try:
                self._patterns.append((exception, re.compile(f"(?s:{_regex(pattern)})(?:/.*)?")))
            except re.error:
                continue

    @property
    def has_exceptions(self) -> bool:
        return any(exception for exception, _ in self._patterns)

    def matches(self, name: str) -> bool:
        """Whether the file `name`, relative to the context, is ignored."""
        out = False
        for exception, pattern in self._patterns:
            if exception == out and pattern.fullmatch(name):
                out = not exception
        return out


def _regex(pattern: str) -> str:
    parts = [part for part in re.split(r"(\*\*/?|\*|\?|\[[^\]]*\]|\\.)", pattern) if part]
    made = []
    for rest, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        match part:
            case "**/" | "**":
                made.append("(?:.*/)?" if rest else ".*")
            case "*":
                made.append("[^/]*")
            case "?":
                made.append("[^/]")
            case _ if part.startswith("[") and len(part) > 2:
                made.append(part)
            case _ if part.startswith("\\") and len(part) == 2:
                made.append(re.escape(part[1]))
            case _:
                made.append(re.escape(part))
    return "".join(made)


def read_ignore(context: Path) -> Ignore:
    """The ignore file a build of `context/Dockerfile` uses.

    Builders differ on `.containerignore`, so where there is one nothing counts as ignored.
    """
    if (context / ".containerignore").exists():
        return Ignore()
    for name in ("Dockerfile.dockerignore", ".dockerignore"):
        try:
            return Ignore((context / name).read_bytes().decode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ImageError(f"{context / name}: {error.strerror}") from None
    return Ignore()


def stage(context: Path, staging: Path) -> Path:
    """A copy of what `context_files` names, below `staging`, for builders that believe times.

    BuildKit takes a file for unchanged when size and modification time are
    (https://github.com/tonistiigi/fsutil), so each copy's nanoseconds are taken from its content's hash:
    other content has another time, and the same content the same. Of directories it even overlooks a changed
    mode; another set of directories therefore gets another place. What is already right is not written again.

    Returns:
        The directory to build.
    """
    entries = list(_walk(context, read_ignore(context)))
    shape = [(name, status.st_mode) for name, _, status in entries if stat.S_ISDIR(status.st_mode)]
    place = staging / hashlib.sha256(repr(shape).encode()).hexdigest()[:16]
    for other in staging.glob("*"):
        if other != place:
            remove_tree(other)
    place.mkdir(parents=True, exist_ok=True)
    for name, _ in shape:
        directory = place / name
        directory.mkdir(exist_ok=True)
        directory.chmod(0o700)
    staged = {name: status for name, _, status in _walk(place, Ignore()) if not stat.S_ISDIR(status.st_mode)}
    for name in staged.keys() - {name for name, _, _ in entries}:
        (place / name).unlink()
    for name, path, status in entries:
        if not stat.S_ISDIR(status.st_mode):
            _copy(path, status, os.path.join(place, name), staged.get(name))
    for name, mode in reversed(shape):
        (place / name).chmod(stat.S_IMODE(mode))
    return place


def _copy(source: str, status: os.stat_result, target: str, before: os.stat_result | None) -> None:
    what = _what(source, status)
    nanoseconds = int.from_bytes(hashlib.sha256(what.encode()).digest()[:4]) % 1_000_000_000
    time = status.st_mtime_ns // 1_000_000_000 * 1_000_000_000 + nanoseconds
    if before is not None:
        if (before.st_size, before.st_mtime_ns) == (status.st_size, time):
            return  # the time holds the hash of kind, mode and content
        os.unlink(target)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISFIFO(status.st_mode):
        os.mkfifo(target)
    elif what.startswith("unreadable"):
        Path(target).touch()  # so that the builder says what it would have said
    else:
        shutil.copyfile(source, target, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(time, time), follow_symlinks=False)


def _text(name: str) -> str:
    """A name as text that can be shown and kept; one that is not UTF-8 has its odd bytes spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
