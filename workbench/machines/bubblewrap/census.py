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
    """Whether its parent is outside: bwrap, or nsenter, which waits for it."""
    state: str
    """The letter that ps shows."""

    @property
    def runs(self) -> bool:
        """Whether it does something, or would if it were let."""
        return self.state not in "TtZX"


def inhabitants(namespace: int) -> list[Inhabitant]:
    """All processes in the namespace with that inode."""
    members = set(_members(namespace))
    found = []
    for pid in members:
        with contextlib.suppress(OSError):
            _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            state, parent, _, session = rest.split()[:4]
            entered = int(parent) not in members
            found.append(Inhabitant(pid, int(parent), int(session), entered, state))
    return found


def pid_namespace(pid: int) -> int:
    """The inode of a process's namespace, 0 when it is gone."""
    try:
        name = os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return 0
    return int(name.removeprefix("pid:[").removesuffix("]"))


def usage_of(namespace: int) -> Usage:
    """What these processes cost; shared memory counts for each of its users."""
    memory, cpu, count = 0, 0.0, 0
    for pid in _members(namespace):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            memory += process.memory_info().rss
            times = process.cpu_times()
            cpu += times.user + times.system
            count += 1
    return Usage(memory, cpu, count)


def _members(namespace: int) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdecimal() and pid_namespace(int(name)) == namespace:
            yield int(name)
