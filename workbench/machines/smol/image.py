"""What smolmachines is given to boot, and what names it."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from workbench import places
from workbench.images.archive import IDLE
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError
from workbench.images.flatten import flat_archive
from workbench.images.rootfs import is_local
from workbench.machines.smol.vm import PACK

_PACK_NOTE = "a packed machine keeps the network, cores and memory it was packed with, and cannot be branched"


class BootImage(msgspec.Struct, frozen=True):
    """An image to boot."""

    reference: str
    """An absolute path, or a name in a registry."""
    identity: str
    """Names its content; of a directory and of a name in a registry only where it is."""
    notes: tuple[str, ...] = ()
    """What a person should know of it, one line each."""
    is_archive: bool = False


def boot_image(reference: str) -> BootImage:
    """The image of this reference. Reads it whole, the first time.

    Args:
        reference: A name in a registry, or the path of a docker or OCI archive, of a root directory, or of a
            packed machine (`.smolmachine`).

    Raises:
        ImageError: there is no such file, or it is no image.
    """
    if not is_local(reference):
        return BootImage(reference, reference)
    path = Path(os.path.abspath(os.path.expanduser(reference)))
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _directory(path)
        digest = file_digest(path)
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror or error}") from None
    if path.name.endswith(PACK):
        return BootImage(str(path), digest, (_PACK_NOTE,))
    return BootImage(str(path), digest, is_archive=True)


class Bootable(msgspec.Struct, frozen=True):
    """What smolmachines is given for an image."""

    reference: str
    """As that of the image; of an archive, one of a single layer."""
    command: tuple[str, ...] = ()
    """What runs beside all commands. Empty for what the image says, which only of an archive is known."""


@asynccontextmanager
async def bootable(image: BootImage, cache: Path | None = None) -> AsyncIterator[Bootable]:
    """What to give smolmachines for it while the block runs.

    Args:
        cache: The image store's directory; the user's when None.

    Raises:
        ImageError: it is no image archive, is damaged or hostile, or the disk is full.
    """
    if not image.is_archive:
        yield Bootable(image.reference)
        return
    flat = await flat_archive(Path(image.reference), cache or places.cache_dir() / "images")
    # As in Harbor's Docker environment: the entrypoint runs, the image's own command does not.
    runs = flat.config.entrypoint or flat.config.cmd
    yield Bootable(str(flat.path), (*flat.config.entrypoint, *IDLE) if runs else ())
    del flat


def _directory(path: Path) -> BootImage:
    if (path / "oci-layout").is_file():
        raise ImageError(
            f"{path} is an OCI layout, not a root file system", f"pack it: tar -cf image.tar -C {path} ."
        )
    notes: tuple[str, ...] = ()
    if os.geteuid() == 0:
        notes = (f"{path}: as root, the microVM cannot read files in it that only root may read",)
    return BootImage(str(path), str(path.resolve()), notes)
