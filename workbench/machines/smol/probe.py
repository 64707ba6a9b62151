"""Whether a microVM boots here, found out by booting one; that a /dev/kvm opens proves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import time
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from smol import MachineConfig, ResourceSpec

from workbench import places
from workbench.machines.machine import MachineError
from workbench.machines.provider import Probe
from workbench.machines.smol.host import HostFacts, Obstacle, look, obstacle
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.session import LABEL, LIMITS, SmolSession

_BARE = MachineConfig(resources=ResourceSpec(cpus=1, memory_mb=512, network=False))
"""Boots smolvm's own small Linux: nothing but the host can be at fault."""
_UNSURE = 86400.0
"""Seconds after which a boot that failed is tried again: the host may just have been busy."""
_GIB = 1 << 30
_LEAST_FREE = 4 * _GIB
_REFUSED = re.compile(r"KvmOpen\(Error\(13\)\)")
_MACOS_REFUSED = re.compile(r"krun_start_enter returned: -22")
_ending: set[asyncio.Future[Obstacle | None]] = set()
"""Boots that were given up: smolvm may unpack its own Linux for a minute before it can be ended."""


class _Answer(msgspec.Struct, frozen=True):
    """A boot that was tried, and where."""

    kernel: str
    smolmachines: str
    booted: bool
    why: str
    hint: str
    at: float
    seconds: float


def remembered(cache: Path | None = None) -> Probe | None:
    """What is known without booting; None when that takes a boot. Takes some milliseconds.

    Args:
        cache: Where answers are kept; the user's cache directory when None.
    """
    facts = look()
    if found := obstacle(facts):
        return _unusable(facts, found)
    answer = _read(cache)
    if answer is None or not (answer.booted or time.time() - answer.at < _UNSURE):
        return None
    return _probe(facts, answer)


async def probe(cache: Path | None = None, patience: float | None = None) -> Probe:
    """Boot a small microVM, run a command in it, delete it, and remember how that went.

    Takes a second on a laptop, and half a minute where KVM opens but runs nothing. Cancelling leaves nothing.

    Args:
        cache: As for `remembered`.
        patience: Seconds after which a boot that is not over counts as failed, and is ended meanwhile; it has
            none when None.
    """
    facts = await in_thread(look)
    if found := obstacle(facts):
        return _unusable(facts, found)
    started = time.monotonic()
    failure = await _within(patience, _boot(facts))
    answer = _Answer(
        kernel=_kernel(),
        smolmachines=version("smolmachines"),
        booted=failure is None,
        why=failure.why if failure else "a microVM boots here",
        hint=failure.hint if failure else "",
        at=time.time(),
        seconds=time.monotonic() - started,
    )
    await asyncio.to_thread(_write, cache, answer)
    return _probe(facts, answer)


async def _within(patience: float | None, boot: Coroutine[Any, Any, Obstacle | None]) -> Obstacle | None:
    """What a boot comes to; where that takes too long it is ended, which no one has to wait for."""
    booting = asyncio.ensure_future(boot)
    try:
        await asyncio.wait({booting}, timeout=patience)
    except asyncio.CancelledError:
        booting.cancel()
        await asyncio.wait({booting})
        raise
    if booting.done():
        return booting.result()
    booting.cancel()
    _ending.add(booting)
    booting.add_done_callback(_forget)
    return Obstacle(
        f"a microVM did not boot within {patience:g} s", "workbench doctor --again, which waits longer"
    )


def _forget(booting: asyncio.Future[Obstacle | None]) -> None:
    _ending.discard(booting)
    if not booting.cancelled():
        booting.exception()  # of what was given up, which no one asks about any more


async def _boot(facts: HostFacts) -> Obstacle | None:
    """What was in the way; None when it booted."""
    session = SmolSession()
    try:
        machine = await session.create("probe", _BARE)
        done = await machine.exec("echo works", timeout=30)
        if done.stdout != b"works\n":
            return Obstacle(f"a microVM boots, but a command in it ended with {done.exit_code}", "")
    except (MachineError, TimeoutError) as error:
        return explain(str(error), facts)
    finally:
        await session.close()
    return None


def explain(said: str, facts: HostFacts) -> Obstacle:
    """What a boot that failed means, though nothing of the host seemed to be in the way."""
    if _REFUSED.search(said):
        # As root, smolvm gives each VMM a user of its own.
        why = "as root, microVMs run as users of their own, who may not open /dev/kvm"
        return Obstacle(why, "chmod 666 /dev/kvm, then workbench doctor --again")
    if _MACOS_REFUSED.search(said):
        why = "macOS does not let smolmachines use its hypervisor"
        again = "pip install --force-reinstall smolmachines, which signs its helper anew"
        return Obstacle(why, f"{again}, then workbench doctor --again")
    *_, cause = said.removeprefix("the microVM did not start: ").rpartition("agent operation failed: ")
    why = f"a microVM does not boot here: {' '.join(cause.split())}"
    if facts.system == "linux":
        why = f"/dev/kvm opens, but {why}"
    if facts.virtual:
        return Obstacle(why, "turn on nested virtualization for this virtual machine, in its hypervisor")
    return Obstacle(why, "workbench doctor --again, when the host is less busy")


def _probe(facts: HostFacts, answer: _Answer) -> Probe:
    limits: tuple[str, ...] = LIMITS
    if facts.free_bytes < _LEAST_FREE:
        limits = (*limits, f"only {facts.free_bytes / _GIB:.1f} GiB are free for machines' disks")
    tried = time.strftime("%Y-%m-%d %H:%M", time.localtime(answer.at))
    return Probe(
        provider="smol",
        usable=answer.booted,
        label=LABEL,
        why=answer.why,
        hint=answer.hint,
        limits=limits if answer.booted else (),
        details=_details(facts) | {"tried": f"{tried}, in {answer.seconds:.1f} s"},
    )


def _unusable(facts: HostFacts, found: Obstacle) -> Probe:
    return Probe("smol", False, LABEL, found.why, found.hint, details=_details(facts))


def _details(facts: HostFacts) -> dict[str, str]:
    details = {"smolmachines": version("smolmachines"), "disk": f"{facts.free_bytes / _GIB:.1f} GiB free"}
    if facts.system == "linux":
        details |= {"/dev/kvm": facts.kvm, "libc": facts.libc or "none"}
    return details


def _kernel() -> str:
    return f"{platform.system()} {platform.release()} {platform.version()}"


def _read(cache: Path | None) -> _Answer | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        answer = msgspec.json.decode(_file(cache).read_bytes(), type=_Answer)
        if (answer.kernel, answer.smolmachines) == (_kernel(), version("smolmachines")):
            return answer
    return None


def _write(cache: Path | None, answer: _Answer) -> None:
    path = _file(cache)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_bytes(msgspec.json.encode(answer))
        new.replace(path)


def _file(cache: Path | None) -> Path:
    return (cache or places.cache_dir()) / "smol-boots.json"
