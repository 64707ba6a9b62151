"""Whether a microVM boots here, found out by booting one; that a /dev/kvm opens proves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import time
from importlib.metadata import version
from pathlib import Path

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


async def probe(cache: Path | None = None) -> Probe:
    """Boot a small microVM, run a command in it, delete it, and remember how that went.

    Takes a second on a laptop, and half a minute where KVM opens but runs nothing. Cancelling leaves nothing.

    Args:
        cache: As for `remembered`.
    """
    facts = await in_thread(look)
    if found := obstacle(facts):
        return _unusable(facts, found)
    started = time.monotonic()
    failure = await _boot()
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


async def _boot() -> Obstacle | None:
    """What was in the way; None when it booted."""
    session = SmolSession()
    try:
        machine = await session.create("probe", _BARE)
        done = await machine.exec("echo works", timeout=30)
        if done.stdout != b"works\n":
            return Obstacle(f"a microVM boots, but a command in it ended with {done.exit_code}", "")
    except (MachineError, TimeoutError) as error:
        return explain(str(error))
    finally:
        await session.close()
    return None


def explain(said: str) -> Obstacle:
    """What a boot that failed means, though /dev/kvm opens."""
    if _REFUSED.search(said):
        # As root, smolvm gives each VMM a user of its own.
        return Obstacle(
            "as root, microVMs run as users of their own, who may not open /dev/kvm", "chmod 666 /dev/kvm"
        )
    if _MACOS_REFUSED.search(said):
        why = "macOS does not let smolmachines use its hypervisor"
        return Obstacle(why, "pip install --force-reinstall smolmachines, which signs its helper anew")
    *_, cause = said.removeprefix("the microVM did not start: ").rpartition("agent operation failed: ")
    return Obstacle(
        f"/dev/kvm opens, but a microVM does not boot on it: {' '.join(cause.split())}",
        "where this host is a virtual machine, turn on nested virtualization for it; meanwhile use "
        "--provider bubblewrap",
    )


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
