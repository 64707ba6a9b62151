"""What to do when the host refuses a namespace."""

from __future__ import annotations

import os
import re
from pathlib import Path

from workbench.machines.machine import MachineError

_SWITCHES = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"),
)
_CONTAINER = (
    "this seems to be a container that hides part of /proc or forbids namespaces; run it with "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined, or with --privileged"
)
_SAYINGS = (
    (r"\bproc\b", _CONTAINER),
    (r"overlay", "keep machines on ext4, xfs, btrfs or tmpfs: set XDG_STATE_HOME to a directory there"),
    (r"newuidmap|newgidmap", "look at this user's lines in /etc/subuid and /etc/subgid"),
)


def refused(said: str) -> MachineError:
    """The error for what a program said, with the next command to run where that can be told."""
    return MachineError(said or "this host allows no user namespaces", hint_for(said))


def hint_for(said: str, sysctl: Path = Path("/proc/sys"), uid: int | None = None) -> str:
    """What to do about a refusal: by the host's own switches first, then by what was said."""
    for name, off, command in _SWITCHES:
        by_root = name != "user/max_user_namespaces" and (os.geteuid() if uid is None else uid) == 0
        if not by_root and _value(sysctl / name) == off:
            return command
    for pattern, hint in _SAYINGS:
        if re.search(pattern, said, re.IGNORECASE):
            return hint
    if re.search(r"not permitted|permission denied|unshare", said, re.IGNORECASE):
        return _CONTAINER
    return ""


def _value(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
