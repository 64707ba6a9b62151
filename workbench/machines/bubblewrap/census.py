"""Who lives in a machine, as the host's /proc tells it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from workbench.machines.machine import Usage


class Inhabitant(NamedTuple):
    """A process of a machine, by the host's numbers."""

    pid: int
    parent: int
    session: int
    entered: bool
    """Whether its parent is outside: nsenter, which waits for it."""


def inhabitants(pid_namespace: int) -> list[Inhabitant]:
    """All processes in the namespace with that inode, zombies left out."""
    members = set(_members(pid_namespace))
    found = []
    for pid in members:
        with contextlib.suppress(OSError):
            _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            state, parent, _, session = rest.split()[:4]
            if state not in "ZX":
                found.append(Inhabitant(pid, int(parent), int(session), int(parent) not in members))
    return found


def usage_of(pid_namespace: int) -> Usage:
    """What these processes cost; shared memory counts for each of its users."""
    memory, cpu, count = 0, 0.0, 0
    for pid in _members(pid_namespace):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            memory += process.memory_info().rss
            times = process.cpu_times()
            cpu += times.user + times.system
            count += 1
    return Usage(memory, cpu, count)


def _members(pid_namespace: int) -> Iterator[int]:
    wanted = f"pid:[{pid_namespace}]"
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == wanted:
                    yield int(name)
