"""What `workbench images` prints: the images that are kept, and which of them went."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import starmap
from pathlib import Path

import msgspec
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from workbench.console import plain
from workbench.images.dockerfile import is_pinned
from workbench.images.errors import ImageError
from workbench.images.store import BUDGET, ImageStore, StoredImage
from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.machines.machine import MachineError

_KINDS = {"archive": "archive", "rootfs": "file system"}
_PURGE = ("-P", "-m", "workbench.machines.smol.purge")
_NAME = 12
"""Characters of a name that are enough to tell it from others."""


def show_images(out: Console, directory: Path) -> None:
    """Print a table of what is kept in the image store, the last used first."""
    images = _kept(directory)
    if not images:
        out.print(plain(f"no images are kept in {directory}"), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("image", "kind", "built from"):
        table.add_column(name, overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    for name in ("made", "used", ""):
        table.add_column(name, no_wrap=True)
    for image in reversed(images):
        table.add_row(*_row(image))
    out.print(table)
    total = decimal(sum(image.size for image in images))
    out.print(plain(f"{len(images)} images, {total}, in {directory}"), soft_wrap=True)


def images_as_json(directory: Path) -> str:
    """What is kept in the image store, the least recently used first."""
    return msgspec.json.format(msgspec.json.encode(_kept(directory))).decode()


def prune_images(out: Console, directory: Path, keep: int | None, *, dry_run: bool) -> None:
    """Remove the least recently used images that nothing uses, until the rest takes `keep` bytes.

    Args:
        keep: Bytes; the store's budget when None. With 0, the layers of builds in microVMs go too.
    """
    gone: list[StoredImage] = []
    if directory.is_dir():
        with _removing() as prefix:
            store = ImageStore(directory, prefix=prefix)
            store.sweep()
            gone = store.prune(BUDGET if keep is None else keep, dry_run=dry_run)
    removed = "would remove" if dry_run else "removed"
    for image in gone:
        name, kind, _, size, *_ = _row(image)
        origin = f", built from {plain(', '.join(image.contexts))}" if image.contexts else ""
        out.print(f"{removed} {name}: {kind}, {size}{origin}", soft_wrap=True)
    for _ in _forget_layers(dry_run=dry_run) if keep == 0 else ():
        out.print(f"{removed} a microVM to build in, with the layers it keeps")
    freed = decimal(sum(image.size for image in gone))
    out.print(f"{len(gone)} images, {freed}, {'would be' if dry_run else 'were'} removed")


def _forget_layers(*, dry_run: bool) -> list[str]:
    """Remove the microVMs that keep layers; by a process of its own, since smolmachines is slow to load."""
    words = ("--kept", "--dry-run") if dry_run else ("--kept",)
    done = subprocess.run([sys.executable, *_PURGE, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"the layers of microVMs: {(done.stderr.splitlines() or ['not removed'])[-1]}")
    return done.stdout.split()


def _kept(directory: Path) -> list[StoredImage]:
    return ImageStore(directory).images() if directory.is_dir() else []


def _row(image: StoredImage) -> tuple[str, ...]:
    return (
        image.name[:_NAME],
        _KINDS[image.kind],
        plain("\n".join((*image.contexts, *starmap(_base, image.bases.items())))),
        decimal(image.size),
        _when(image.made_at),
        _when(image.used_at),
        "in use" if image.in_use else "",
    )


def _base(name: str, digest: str) -> str:
    """An image of a registry, with the digest that was used where its name does not hold one."""
    if is_pinned(name) or not digest:
        return f"on {name}"
    return f"on {name} ({digest.removeprefix('sha256:')[:_NAME]})"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "seconds")


@contextmanager
def _removing() -> Iterator[tuple[str, ...]]:
    """What file systems are removed under that hold files of other users."""
    try:
        session = BubblewrapSession()
    except MachineError:
        # Then none was unpacked here either.
        yield ()
        return
    try:
        yield session.as_owner
    finally:
        asyncio.run(session.close())
