"""The smolmachines SDK as the workbench calls it: on this machine only, and never on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import smol
from smol import ConnectOptions, Machine, MachineConfig
from smol.types import MachineSummary

LOCAL = ConnectOptions(target="local")
"""Goes with every call: without it a token in the environment would send an author's task to a cloud."""

CLI = Path(smol.__file__).with_name("smol-vmm")
"""smolmachines' whole command line, which the wheel carries."""


async def in_thread[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that may block for as long as it likes, in a thread of its own.

    A pool would be used up by calls that wait for a guest, and be waited for when the process ends. A caller
    that is cancelled leaves the call running.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(lambda: None if future.done() else setter())

    def run() -> None:
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            raised = error
            settle(lambda: future.set_exception(raised))
        else:
            settle(lambda: future.set_result(result))

    threading.Thread(target=run, name=f"smol {getattr(function, '__name__', '')}", daemon=True).start()
    return await future


def create(config: MachineConfig) -> Machine:
    """Create, start and wait for a machine. Blocks; removes what it made where it fails."""
    return Machine.create(config, LOCAL)


def start(name: str) -> Machine:
    """Start a machine that was stopped, with its disk as it was, and wait for it. Blocks."""
    return Machine.connect(name, LOCAL)


def delete(name: str) -> None:
    """Delete a machine of this name, if there is one, without booting it. Blocks."""
    Machine.delete_by_name(name, LOCAL)


def machines() -> list[MachineSummary]:
    """All that smolvm's database knows, whoever made it. Blocks."""
    return Machine.list(LOCAL)


def data_directories() -> Path:
    """Where smolvm keeps a directory for each machine, with the machine's name in the file `name`."""
    return _cache() / "smolvm" / "vms"


def archive_directories() -> Path:
    """Where smolvm keeps a directory for each archive that it was given, named by the archive's SHA-256."""
    return _cache() / "smolvm-image-archives"


def _cache() -> Path:
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default)
