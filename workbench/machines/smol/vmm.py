"""The host process of a microVM."""

from __future__ import annotations

import contextlib

import psutil

from workbench.machines.machine import Usage
from workbench.machines.smol import sdk

BOOT = "_boot-vm"
"""The word in a VMM's command line that tells it from any other process."""


def process_of(pid: int | None) -> psutil.Process | None:
    """The VMM of this pid, None where there is none any more."""
    with contextlib.suppress(psutil.Error, ValueError):
        process = psutil.Process(pid) if pid else None
        if process and BOOT in process.cmdline():
            return process
    return None


def find(name: str) -> psutil.Process | None:
    """The VMM of the machine of this name. Blocks for a look into smolvm's database."""
    pids = [machine.pid for machine in sdk.machines() if machine.name == name]
    return process_of(pids[0]) if pids else None


def alive(process: psutil.Process | None) -> bool:
    """Whether it runs; one that ended stays a zombie until smolvm looks at it again."""
    try:
        return bool(
            process
            and process.is_running()
            and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        )
    except psutil.Error:
        return False


def usage(process: psutil.Process | None) -> Usage:
    """The resident set and the processor time of a VMM; zeros when it has ended."""
    if process is not None:
        with contextlib.suppress(psutil.Error), process.oneshot():
            times = process.cpu_times()
            return Usage(process.memory_info().rss, times.user + times.system, 1)
    return Usage(0, 0.0, 0)


def kill(process: psutil.Process | None) -> None:
    """End a VMM at once. A frozen one does not listen to anything less, nor notice that its creator died."""
    if process is not None:
        with contextlib.suppress(psutil.Error):
            process.kill()
