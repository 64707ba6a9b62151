"""Several frozen layers as one, by overlayfs's rules.

A program of its own (`python -m workbench.machines.bubblewrap.merge TO FROM...`), as it has to run where the
files' owners exist.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

_OPAQUE = "user.overlay.opaque"


def merge(layers: list[Path], target: Path) -> None:
    """Make `target` out of `layers`, the lowest first. It must not exist, and be on their file system.

    Raises:
        OSError, subprocess.CalledProcessError: something could not be copied.
    """
    _copy(layers[0], target)
    for number, layer in enumerate(layers[1:]):
        copy = target.with_name(f"{target.name}.{number}")
        _copy(layer, copy)
        _lay_over(copy, target)
        shutil.rmtree(copy)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["/bin/cp", "-a", "--reflink=auto", "--", source, target], check=True)


def _lay_over(upper: Path, lower: Path) -> None:
    """Move everything in `upper` over `lower`, and give `lower` the attributes of `upper`."""
    for entry in os.scandir(upper):
        above, below = Path(entry.path), lower / entry.name
        both = _is_directory(above) and _is_directory(below)
        if both and not _is_opaque(above):
            _lay_over(above, below)
            continue
        if _is_directory(below):
            shutil.rmtree(below)
        else:
            below.unlink(missing_ok=True)
        above.rename(below)  # a whiteout too: it hides what is in the base
    status = upper.stat()
    os.chown(lower, status.st_uid, status.st_gid)
    for name in os.listxattr(upper):
        os.setxattr(lower, name, os.getxattr(upper, name))
    shutil.copystat(upper, lower)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_opaque(path: Path) -> bool:
    try:
        return os.getxattr(path, _OPAQUE) == b"y"
    except OSError:
        return False


if __name__ == "__main__":
    to, *sources = map(Path, sys.argv[1:])
    merge(sources, to)
