"""What smolmachines is given to boot, and what names it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from workbench.images.archive import open_archive
from workbench.images.digests import file_digest
from workbench.images.errors import ImageError
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
    notes = (_PACK_NOTE,) if path.name.endswith(PACK) else _archive_notes(path)
    return BootImage(str(path), digest, notes)


def _directory(path: Path) -> BootImage:
    if (path / "oci-layout").is_file():
        raise ImageError(
            f"{path} is an OCI layout, not a root file system", f"pack it: tar -cf image.tar -C {path} ."
        )
    notes: tuple[str, ...] = ()
    if os.geteuid() == 0:
        notes = (f"{path}: as root, the microVM cannot read files in it that only root may read",)
    return BootImage(str(path), str(path.resolve()), notes)


def _archive_notes(path: Path) -> tuple[str, ...]:
    with open_archive(path) as archive:
        layers = len(archive.layers)
    if layers == 1:
        return ()
    # go-containerregistry's `crane export`, before PR 2372, ignores opaque whiteouts.
    return (f"{path} has {layers} layers: what one removed and made again keeps what was in it before",)
