"""Images as archives of one layer, which nothing that boots them can flatten wrongly.

smolmachines flattens layers with `crane export`, which brings back what an opaque directory hid
(https://github.com/google/go-containerregistry/issues/1897). `python -m workbench.images.flatten ARCHIVE`
prints an archive's file system as one tar.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from workbench.images.archive import host_architecture, open_archive
from workbench.images.cache import Cache, Hold
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError
from workbench.images.layers import merged
from workbench.images.process import started
from workbench.images.unpack import bound_memory, unwritable

ARCHIVE = "image.tar"
"""The name of an archive in its directory of the store."""
_KEPT = ("Env", "Cmd", "Entrypoint", "User", "WorkingDir", "Volumes", "Shell", "Healthcheck", "Labels")
"""What of a config says how an image behaves; the rest is about how it was made."""
_XATTRS = "SCHILY.xattr."


def result_key(diff_ids: Sequence[str], config: dict[str, object]) -> str:
    """Names what is in an image: its layers, and what its config says of processes."""
    kept = {name: config[name] for name in _KEPT if config.get(name)}
    text = msgspec.json.encode([list(diff_ids), kept], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


def flat_tar_of(archive: Path) -> tuple[str, ...]:
    """A command that prints an archive's file system as one tar."""
    return (sys.executable, "-m", "workbench.images.flatten", str(archive))


class FlatArchive:
    """An archive of one layer. One that the store made is not removed while this object lives."""

    def __init__(self, path: Path, hold: Hold | None = None) -> None:
        self.path = path
        self._hold = hold


async def flat_archive(archive: Path, cache: Path) -> FlatArchive:
    """A user's archive as one of a single layer; itself where it has but one.

    Args:
        cache: The image store's directory, where the flattened one is kept by its content.

    Raises:
        ImageError: it is no image archive, is damaged or hostile, or the disk is full.
    """
    said, platform, layers = await asyncio.to_thread(_look, archive)
    if layers == 1:
        return FlatArchive(archive)
    name = (await asyncio.to_thread(file_digest, archive.resolve()))[:32]

    async def flatten(new: Path) -> None:
        architecture = platform.partition("/")[2] or host_architecture()
        await write_flat(flat_tar_of(archive), new / ARCHIVE, said, architecture)

    hold = await Cache(cache / "archives").get(name, flatten)
    return FlatArchive(hold.path / ARCHIVE, hold)


def _look(archive: Path) -> tuple[dict[str, object], str, int]:
    with open_archive(archive) as image:
        return image.said, image.platform, len(image.layers)


async def write_flat(argv: Sequence[str], target: Path, config: dict[str, object], architecture: str) -> int:
    """Write a docker-archive of one layer to the new file `target`.

    Args:
        argv: Prints the layer as a tar.
        config: As in an image's JSON; only what speaks of processes is kept.

    Returns:
        Its size in bytes.

    Raises:
        ImageError: the command failed, or the disk is full.
    """
    try:
        with target.open("xb") as file:
            await _write(argv, file, config, architecture)
            await asyncio.to_thread(os.fsync, file.fileno())
            return file.tell()
    except OSError as error:
        raise unwritable(target, error) from None


async def _write(argv: Sequence[str], file: BinaryIO, config: dict[str, object], architecture: str) -> None:
    hashed = hashlib.sha256()
    size = 0
    file.write(bytes(tarfile.BLOCKSIZE))  # the header, known when the layer has been written
    async with started(argv) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.ensure_future(process.stderr.read())
        while piece := await process.stdout.read(1 << 20):
            hashed.update(piece)
            file.write(piece)
            size += len(piece)
        said = (await errors).decode(errors="replace").strip()
        if await process.wait():
            raise ImageError(f"the image could not be exported: {said.splitlines()[-1] if said else argv[0]}")
    file.write(bytes(-size % tarfile.BLOCKSIZE))
    image = {
        "architecture": architecture,
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {name: config[name] for name in _KEPT if config.get(name)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashed.hexdigest()}"]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "harbor-workbench"}],
    }
    manifest = [
        {"Config": "config.json", "RepoTags": ["localhost/workbench:latest"], "Layers": ["layer.tar"]}
    ]
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in (("config.json", image), ("manifest.json", manifest)):
            data = msgspec.json.encode(content)
            tar.addfile(_member(name, len(data)), io.BytesIO(data))
    end = file.tell()
    file.seek(0)
    file.write(_member("layer.tar", size).tobuf(tarfile.GNU_FORMAT))  # one block, also above 8 GiB
    file.seek(end)


def _member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info


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
            for field in (
                "mode",
                "mtime",
                "uid",
                "gid",
                "uname",
                "gname",
                "linkname",
                "devmajor",
                "devminor",
            ):
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
