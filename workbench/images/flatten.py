"""Archives of several layers as one: `python -m workbench.images.flatten ARCHIVE` prints it as one tar."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tarfile
from functools import partial
from pathlib import Path
from typing import BinaryIO

from workbench.images.archive import ImageConfig, open_archive
from workbench.images.cache import Cache, Hold
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError
from workbench.images.flat import pour_from, write_flat
from workbench.images.layers import merged
from workbench.images.oci import host_architecture
from workbench.images.unpack import bound_memory

ARCHIVE = "image.tar"
"""The name of an archive in its directory of the store."""
_XATTRS = "SCHILY.xattr."
_FIELDS = ("mode", "mtime", "uid", "gid", "uname", "gname", "linkname", "devmajor", "devminor")


def flat_tar_of(archive: Path) -> tuple[str, ...]:
    """A command that prints an archive's file system as one tar."""
    return (sys.executable, "-m", "workbench.images.flatten", str(archive))


class FlatArchive:
    """An archive of one layer. One that the store made is not removed while this object lives."""

    def __init__(self, path: Path, config: ImageConfig, hold: Hold | None = None) -> None:
        self.path = path
        self.config = config
        self._hold = hold


async def flat_archive(archive: Path, cache: Path) -> FlatArchive:
    """A user's archive as one of a single layer; itself where it has but one.

    Args:
        cache: The image store's directory, where the flattened one is kept by its content.

    Raises:
        ImageError: it is no image archive, is damaged or hostile, or the disk is full.
    """
    said, config, layers = await asyncio.to_thread(_look, archive)
    if layers == 1:
        return FlatArchive(archive, config)
    name = (await asyncio.to_thread(file_digest, archive.resolve()))[:32]

    async def flatten(new: Path) -> None:
        architecture = config.platform.partition("/")[2] or host_architecture()
        await write_flat(partial(pour_from, flat_tar_of(archive)), new / ARCHIVE, said, architecture)

    hold = await Cache(cache / "archives").get(name, flatten)
    return FlatArchive(hold.path / ARCHIVE, config, hold)


def _look(archive: Path) -> tuple[dict[str, object], ImageConfig, int]:
    with open_archive(archive) as image:
        return image.said, image.config, len(image.layers)


def print_flat(archive: Path, out: BinaryIO) -> None:
    """Write an archive's file system to `out` as one tar.

    Raises:
        ImageError: the archive is damaged, hostile or not an image.
    """
    with (
        open_archive(archive) as image,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT, bufsize=1 << 20) as tar,
    ):
        for entry in merged(image):
            before = entry.info or _implied()
            if before.ischr() and before.devmajor == before.devminor == 0:
                continue  # to an overlay, a deleted file
            info = tarfile.TarInfo("/".join(entry.path) or ".")
            for field in _FIELDS:
                setattr(info, field, getattr(before, field))
            info.pax_headers = {k: v for k, v in before.pax_headers.items() if k.startswith(_XATTRS)}
            info.type = before.type
            if entry.link is not None:
                info.type, info.linkname = tarfile.LNKTYPE, "/".join(entry.link)
            elif entry.data is not None:
                info.type, info.size = tarfile.REGTYPE, before.size  # also of sparse ones
            tar.addfile(info, entry.data)
            tar.members = []  # type: ignore[attr-defined]  # kept by nobody


def _implied() -> tarfile.TarInfo:
    info = tarfile.TarInfo()
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    return info


def main(arguments: list[str]) -> int:
    """The program; returns its exit code."""
    bound_memory()
    try:
        print_flat(Path(arguments[0]), sys.stdout.buffer)
    except (ImageError, MemoryError) as error:
        print(error or "headers too large to be read", file=sys.stderr)
        return 1
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.close(sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
