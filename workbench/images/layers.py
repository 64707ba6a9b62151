"""Layers laid over each other: what an image's file system comes to, worked out from the layers' headers
alone.

The result is a list of entries that name every file once, with whiteouts applied, links in parents resolved
inside the image, and parents before children. Whoever writes it out has nothing left to resolve, so a hostile
archive has nothing left to trick. Rules: https://github.com/opencontainers/image-spec/blob/v1.1.0/layer.md;
where that leaves a choice (a parent that is a link), as containerd does.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple, cast

import msgspec

from workbench.images.archive import Archive
from workbench.images.errors import ImageError

LINKS_LIMIT = 40
"""Links followed for one name, as in the kernel."""
DEPTH_LIMIT = 256
_OPAQUE = ".wh..wh..opq"
_WHITEOUT = ".wh."
_AUFS = ".wh..wh."
"""Bookkeeping of a file system of old, never part of an image."""

type Path = tuple[str, ...]
"""Components below the image's root, all but the last of them real directories."""


class Limits(msgspec.Struct, frozen=True):
    """What an image may cost before it is refused."""

    entries: int = 2_000_000
    """In all layers together."""
    size: int = 64 << 30
    """Bytes of file content in all layers together, uncompressed."""


class Entry(NamedTuple):
    """One file of the image."""

    path: Path
    info: tarfile.TarInfo | None
    """None for a directory that no layer describes."""
    data: IO[bytes] | None = None
    """A regular file's content, to be read before the next entry is asked for."""
    link: Path | None = None
    """For a hard link: the path, given before, of the file it is."""


class _Node:
    """A name in the image as laid so far."""

    __slots__ = ("children", "info", "layer", "source", "target")

    def __init__(self, layer: int, source: tuple[int, int] | None = None, target: str | None = None) -> None:
        self.layer = layer
        """The layer that gave this name last; whiteouts hit only those below their own."""
        self.source = source
        """Layer and member where the content lies; hard links share it. None for directories."""
        self.target = target
        """Where a symbolic link points."""
        self.children: dict[str, _Node] | None = None
        self.info: tarfile.TarInfo | None = None


class _Image:
    """The names laid so far."""

    def __init__(self) -> None:
        self.root = _directory(0)
        self._layer = 0
        self._asked: Path | None = None
        self._parent = self.root
        """The parent found last; names in a layer come sorted by directory."""

    def start(self, layer: int) -> None:
        self._layer = layer

    def lay(self, member: tarfile.TarInfo, index: int) -> None:
        parts = components(member.name)
        if not parts:
            if not member.isdir():
                raise ImageError(f"{member.name!r} stands in the place of the image's root")
            self.root.info = member
            return
        name = parts[-1]
        if name.startswith(_WHITEOUT):
            self._white_out(parts[:-1], name)
            return
        if len(parts) > DEPTH_LIMIT:
            raise ImageError(f"{member.name[:80]!r}… is nested deeper than {DEPTH_LIMIT} directories")
        siblings = _children(self._resolve(parts[:-1], make=True))
        before = siblings.get(name)
        if member.isdir():
            if before is None or before.children is None:
                self._asked = None
                before = siblings[name] = _directory(self._layer)
            before.layer, before.info = self._layer, member
        elif member.islnk():
            linked = self._linked(member)
            siblings[name] = _Node(self._layer, linked.source, linked.target)
            self._asked = None
        elif member.isreg() or member.issym() or member.isfifo() or member.ischr() or member.isblk():
            target = member.linkname if member.issym() else None
            siblings[name] = _Node(self._layer, (self._layer, index), target)
            if before is not None or target is not None:
                self._asked = None
        else:
            raise ImageError(f"{member.name!r} is of a kind ({member.type!r}) that no image holds")

    def _linked(self, member: tarfile.TarInfo) -> _Node:
        parts = components(member.linkname)
        parent = self._resolve(parts[:-1], make=False)
        node = _children(parent).get(parts[-1]) if parent and parts else None
        if node is None or node.source is None:
            what = "a directory" if node else "missing"
            raise ImageError(f"{member.name!r} is a hard link to {member.linkname!r}, which is {what}")
        return node

    def _white_out(self, parts: Path, name: str) -> None:
        parent = self._resolve(parts, make=False)
        self._asked = None
        if parent is None or (name != _OPAQUE and name.startswith(_AUFS)):
            return
        siblings = _children(parent)
        if name == _OPAQUE:
            doomed = list(siblings)
        else:
            doomed = [name.removeprefix(_WHITEOUT)]
            if doomed[0] in ("", ".", ".."):
                raise ImageError(f"{name!r} in {'/'.join(parts)!r} deletes a name that no file can have")
        for child in doomed:
            if child in siblings and not self._keep(siblings[child]):
                del siblings[child]

    def _keep(self, node: _Node) -> bool:
        """Drop what lower layers gave below `node`; False if that leaves nothing."""
        if node.children is not None:
            node.children = {name: child for name, child in node.children.items() if self._keep(child)}
            if node.layer < self._layer and node.children:
                node.layer, node.info = self._layer, None
        return node.layer == self._layer

    def _resolve(self, parts: Path, *, make: bool) -> _Node | None:
        """The directory `parts` leads to, links followed inside the image.

        Returns:
            None if there is none and none is to be made.
        """
        if parts == self._asked:
            return self._parent
        stack = [self.root]
        todo = list(reversed(parts))
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                if len(stack) > 1:
                    stack.pop()
                continue
            siblings = _children(stack[-1])
            node = siblings.get(part)
            if node is None:
                if not make:
                    return None
                if len(stack) > DEPTH_LIMIT:
                    raise ImageError(
                        f"{'/'.join(parts)[:80]!r}… is nested deeper than {DEPTH_LIMIT} directories"
                    )
                node = siblings[part] = _directory(self._layer)
            if node.target is not None:
                links += 1
                if links > LINKS_LIMIT:
                    raise ImageError(f"{'/'.join(parts)!r} leads through a loop of links")
                if node.target.startswith("/"):
                    del stack[1:]
                todo += [p for p in reversed(node.target.split("/")) if p not in ("", ".")]
            elif node.children is None:
                if not make:
                    return None
                raise ImageError(f"{'/'.join(parts)!r} leads through {part!r}, which is not a directory")
            else:
                stack.append(node)
        self._asked, self._parent = parts, stack[-1]
        return stack[-1]

    def names(self) -> Iterator[tuple[Path, _Node]]:
        """Every name, parents first; the root is `()`."""
        todo: list[tuple[Path, _Node]] = [((), self.root)]
        while todo:
            path, node = todo.pop()
            yield path, node
            if node.children:
                todo += [((*path, name), child) for name, child in reversed(node.children.items())]


def merged(archive: Archive, limits: Limits = Limits()) -> Iterator[Entry]:  # noqa: B008 (frozen)
    """The image's entries: directories first, then files in the order of the layers.

    Raises:
        ImageError: the archive is damaged, breaks the limits, or names files outside of the image.
    """
    image = _Image()
    entries = size = 0
    for number, layer in enumerate(archive.layers):
        image.start(number)
        with archive.open(layer, verify=False) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for index, member in members(tar):
                entries += 1
                size += member.size if member.isreg() else 0
                if entries > limits.entries:
                    raise ImageError(f"the image holds more than {limits.entries:,} files")
                if size > limits.size:
                    raise ImageError(f"the image holds more than {limits.size >> 20:,} MiB")
                image.lay(member, index)
    paths: dict[tuple[int, int], list[Path]] = {}
    for path, node in image.names():
        if node.source is None:
            yield Entry(path, node.info)
        else:
            paths.setdefault(node.source, []).append(path)
    del image
    for number, layer in enumerate(archive.layers):
        with archive.open(layer) as file, tarfile.open(fileobj=file, mode="r|", bufsize=1 << 20) as tar:
            for index, member in members(tar):
                found = paths.get((number, index), [])
                for nth, path in enumerate(found):
                    if nth:
                        yield Entry(path, member, link=found[0])
                    else:
                        data = tar.extractfile(member) if member.isreg() else None
                        yield Entry(path, member, data or (io.BytesIO() if member.isreg() else None))


def members(tar: tarfile.TarFile) -> Iterator[tuple[int, tarfile.TarInfo]]:
    """The members of an open tar, numbered, without keeping them all in memory."""
    index = 0
    while (member := tar.next()) is not None:
        yield index, member
        tar.members = []  # type: ignore[attr-defined]  # as `stream=True` does from Python 3.13 on
        index += 1


def components(name: str) -> Path:
    """The components of a name in a layer; a leading `/` means the image's root.

    Raises:
        ImageError: the name climbs by `..`, or no file can have it.
    """
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts or "\0" in name:
        raise ImageError(f"{name!r} would lie outside of the image")
    return parts


def _directory(layer: int) -> _Node:
    node = _Node(layer)
    node.children = {}
    return node


def _children(node: _Node | None) -> dict[str, _Node]:
    return cast("dict[str, _Node]", node.children if node else {})
