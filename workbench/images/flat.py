"""Images as archives of one layer, which nothing that boots them can flatten wrongly.

smolmachines flattens layers with `crane export`, which brings back what an opaque directory hid
(https://github.com/google/go-containerregistry/issues/1897).
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import tarfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from workbench.images.errors import ImageError
from workbench.images.process import started
from workbench.images.unpack import unwritable

type Sink = Callable[[bytes], None]
"""Takes the next piece of a file."""

_KEPT = ("Env", "Cmd", "Entrypoint", "User", "WorkingDir", "Volumes", "Shell", "Healthcheck", "Labels")
"""What of a config says how an image behaves; the rest is about how it was made."""


def result_key(diff_ids: Sequence[str], config: dict[str, object]) -> str:
    """Names what is in an image: its layers, and what its config says of processes."""
    kept = {name: config[name] for name in _KEPT if config.get(name)}
    text = msgspec.json.encode([list(diff_ids), kept], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


async def write_flat(
    pour: Callable[[Sink], Awaitable[None]], target: Path, config: dict[str, object], architecture: str
) -> None:
    """Write a docker-archive of one layer to the new file `target`.

    Args:
        pour: Gives the layer, a tar, piece by piece.
        config: As in an image's JSON; only what speaks of processes is kept.

    Raises:
        ImageError: the layer could not be had, or the disk is full.
    """
    try:
        with target.open("xb") as file:
            await _write(pour, file, config, architecture)
            await asyncio.to_thread(os.fsync, file.fileno())
    except OSError as error:
        raise unwritable(target, error) from None


async def pour_from(argv: Sequence[str], sink: Sink) -> None:
    """Hand on what a program prints.

    Raises:
        ImageError: it failed; its last words say why.
    """
    async with started(argv) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.ensure_future(process.stderr.read())
        while piece := await process.stdout.read(1 << 20):
            sink(piece)
        said = (await errors).decode(errors="replace").strip()
        if await process.wait():
            raise ImageError(f"the image could not be exported: {said.splitlines()[-1] if said else argv[0]}")


async def _write(
    pour: Callable[[Sink], Awaitable[None]], file: BinaryIO, config: dict[str, object], architecture: str
) -> None:
    hashed = hashlib.sha256()

    def sink(piece: bytes) -> None:
        hashed.update(piece)
        file.write(piece)

    file.write(bytes(tarfile.BLOCKSIZE))  # the header, known when the layer has been written
    await pour(sink)
    size = file.tell() - tarfile.BLOCKSIZE
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
