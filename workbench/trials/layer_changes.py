"""What changed in a machine made of layers: its own layer holds just that.

Also a program (`python -m workbench.trials.layer_changes`), for where files belong to users that this
process cannot read: it takes a `Question` on standard input and prints the answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from workbench.machines.bubblewrap.layers import Layers
from workbench.trials.content_kind import SNIFFED
from workbench.trials.file_changes import Changes
from workbench.trials.file_compare import CONTENT_LIMIT, Comparison, Seen, is_skipped

_HASH_LIMIT = 64 << 20
"""Bytes of the largest file whose content is compared with one of the same size."""
_KEPT = 16 << 20
"""Bytes of content kept of what was there before."""
_OPAQUE = "user.overlay.opaque"
_WHITEOUT = Seen(mode=stat.S_IFCHR, size=0, link="whiteout")
"""What hides a path of the layers below."""

type Look = dict[str, Seen]
"""What a machine's own layers hold, by path."""


class Question(msgspec.Struct, frozen=True):
    """What to find out."""

    layers: tuple[Layers, ...]
    before: Look | None = None
    """What the layers held; None to look at what they hold."""


def answer(question: Question) -> Look | Changes:
    """What the layers hold, or with `before` what changed.

    Raises:
        PermissionError: something belongs to a user that this process is not.
    """
    if question.before is None:
        return look(question.layers)
    return compare(question.layers, question.before)


def look(layers: Sequence[Layers]) -> Look:
    """What a machine's own layers hold now."""
    found: Look = {}
    left = _KEPT
    for entry in _entries(layers):
        seen = entry.seen
        if seen.kind == "file" and seen.size <= min(left, CONTENT_LIMIT):
            seen = _with_content(seen, entry)
            left -= seen.size
        found[entry.path] = seen
    return found


def compare(layers: Sequence[Layers], before: Look) -> Changes:
    """What changed since a look."""
    changes = Comparison()
    there: set[str] = set()
    for entry in _entries(layers):
        there.add(entry.path)
        was, seen = before.get(entry.path), entry.seen
        if was is not None and (was.mode, was.version) == (seen.mode, seen.version):
            continue
        below = _below(entry.layers, entry.relative) if was is None else None
        old = below.seen if below else None if was == _WHITEOUT else was
        if old and below and changes.room:
            old = _with_content(old, below)
        if seen == _WHITEOUT:
            changes.add(entry.path, old, None)
            continue
        if seen.kind == "file" and changes.room:
            seen = _with_content(seen, entry)
            if old and below and not seen.whole and _holds_the_same(entry, below):
                old = msgspec.structs.replace(old, version=seen.version)
        changes.add(entry.path, old, seen)
    for entry in _entries(layers):
        own = os.path.join(entry.layers.upper, entry.relative)
        if entry.seen.kind == "directory" and entry.path not in before and _is_opaque(own):
            # It was removed and made anew; there is no whiteout for what was in it.
            for child in _children_below(entry):
                if child.path not in there:
                    changes.add(child.path, _with_content(child.seen, child), None)
    for path in before.keys() - there:
        if before[path] != _WHITEOUT:
            changes.add(path, before[path], None)
    return changes.result()


@dataclass(frozen=True)
class _Entry:
    """A path in one layer."""

    layers: Layers
    relative: str
    """To the layer, and to where that is mounted."""
    where: str
    """On the host, from `directory` on."""
    directory: int | None
    """An open descriptor of the directory that it is in; None where `where` is absolute."""
    seen: Seen

    @property
    def path(self) -> str:
        """In the machine; bytes that are no UTF-8 as `\\xff`."""
        return _shown(os.path.join(self.layers.target, self.relative))

    def open(self) -> int:
        """Open it to read, following nothing."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(self.where, flags, dir_fd=self.directory)


def _entries(layers: Sequence[Layers]) -> Iterator[_Entry]:
    """All that the machine's own layers hold. What is in there may change meanwhile, also into links."""
    for one in layers:
        for root, directories, files, fd in os.fwalk(one.upper, follow_symlinks=False, onerror=_raise):
            base = os.path.relpath(root, one.upper)
            for name in sorted([*directories, *files]):
                relative = os.path.normpath(os.path.join(base, name))
                if is_skipped(os.path.join(one.target, relative)):
                    if name in directories:
                        directories.remove(name)
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield _Entry(one, relative, name, fd, _seen(name, fd))


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _below(layers: Layers, relative: str) -> _Entry | None:
    """A path as the layers beneath the machine's own have it."""
    for layer in reversed(layers.lower):
        path, hides = layer, False
        with contextlib.suppress(FileNotFoundError):
            for part in relative.split("/")[:-1]:
                path = os.path.join(path, part)
                if _seen(path).kind != "directory":
                    return None
                hides = hides or _is_opaque(path)
            seen = _seen(path := os.path.join(layer, relative))
            return None if seen == _WHITEOUT else _Entry(layers, relative, path, None, seen)
        if hides:
            return None
    return None


def _children_below(entry: _Entry) -> Iterator[_Entry]:
    names: set[str] = set()
    for layer in entry.layers.lower:
        with contextlib.suppress(OSError):
            names.update(os.listdir(os.path.join(layer, entry.relative)))
    for name in sorted(names):
        if child := _below(entry.layers, os.path.join(entry.relative, name)):
            yield child


def _is_opaque(path: str) -> bool:
    try:
        return os.getxattr(path, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _seen(name: str, directory: int | None = None) -> Seen:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
        return _WHITEOUT
    link = _shown(os.readlink(name, dir_fd=directory)) if stat.S_ISLNK(status.st_mode) else ""
    version = f"{status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"
    return Seen(status.st_mode, status.st_size, version, link)


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _with_content(seen: Seen, entry: _Entry | None) -> Seen:
    """With all of a small file's content, and the start of a large one's."""
    if entry is None or seen.kind != "file":
        return seen
    limit = CONTENT_LIMIT if seen.size <= CONTENT_LIMIT else SNIFFED
    try:
        with open(entry.open(), "rb") as file:
            content = file.read(limit)
    except PermissionError:
        raise
    except OSError:
        return seen
    return msgspec.structs.replace(seen, content=content)


def _holds_the_same(one: _Entry, other: _Entry) -> bool:
    """Whether two files hold the same; not, where they are too large to tell."""
    return one.seen.size == other.seen.size <= _HASH_LIMIT and _digest(one) == _digest(other)


def _digest(entry: _Entry) -> bytes:
    with open(entry.open(), "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def main() -> None:
    """Answer the question on standard input."""
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    sys.stdout.buffer.write(msgspec.json.encode(answer(question)))


if __name__ == "__main__":
    main()
