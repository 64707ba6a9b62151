"""What of this host decides whether microVMs can boot: facts first, then what they mean."""

from __future__ import annotations

import grp
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Literal

import msgspec
import smol

from workbench.machines.smol.sdk import data_directories

KVM = Path("/dev/kvm")
_MINIMUM_GLIBC = (2, 34)
_MODULES = {"vmx": "kvm_intel", "svm": "kvm_amd"}
_MAC_ARCHITECTURE = "arm64"


class HostFacts(msgspec.Struct, frozen=True):
    """What was looked up. Nothing was booted for it."""

    system: str
    """As `sys.platform`."""
    machine: str
    """As `platform.machine()`."""
    libc: str = ""
    """Such as "glibc 2.36"; empty where there is none."""
    kvm: Literal["absent", "denied", "open"] = "absent"
    kvm_group: str = ""
    """The group that may use /dev/kvm; empty where there is none but root's."""
    in_group: bool = False
    """Whether the user is entered in it, though this process may not have it yet."""
    virtualization: str = ""
    """The processor's flag for it, `vmx` or `svm`; empty where it has none, or shows none."""
    virtual: bool = False
    """Whether this host is itself a virtual machine."""
    engine: str = ""
    """Why smolmachines says that it cannot run here; empty where it does not."""
    free_bytes: int = 0
    """On the disk where machines are kept."""


class Obstacle(msgspec.Struct, frozen=True):
    """What is in the way of booting."""

    why: str
    hint: str


def look() -> HostFacts:
    """The facts of this host. Takes some milliseconds."""
    available, _, reason = smol.local_availability()
    libc = " ".join(part for part in platform.libc_ver() if part) if sys.platform == "linux" else ""
    group, in_group = _group()
    flags = _processor_flags()
    return HostFacts(
        system=sys.platform,
        machine=platform.machine(),
        libc=libc,
        kvm="absent" if not KVM.exists() else "open" if os.access(KVM, os.R_OK | os.W_OK) else "denied",
        kvm_group=group,
        in_group=in_group,
        virtualization=next((flag for flag in _MODULES if flag in flags), ""),
        virtual="hypervisor" in flags,
        engine="" if available else (reason or "it does not say why").splitlines()[0],
        free_bytes=shutil.disk_usage(_existing(data_directories())).free,
    )


def obstacle(facts: HostFacts) -> Obstacle | None:
    """What keeps microVMs from booting, as far as that can be told without booting one."""
    if facts.system == "darwin":
        if facts.machine != _MAC_ARCHITECTURE:
            return Obstacle("microVMs need a Mac with Apple silicon", "use --provider harbor:docker")
    elif facts.system == "linux":
        if found := _of_linux(facts):
            return found
    else:
        return Obstacle(f"microVMs do not run on {facts.system}", "use --provider harbor:docker")
    if facts.engine:
        again = "pip install --force-reinstall smolmachines"
        return Obstacle(f"smolmachines cannot run here: {facts.engine}", again)
    return None


def _of_linux(facts: HostFacts) -> Obstacle | None:
    name, _, version = facts.libc.partition(" ")
    if name != "glibc":
        return Obstacle("smolmachines needs glibc, which this Linux has not", "use another distribution")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _MINIMUM_GLIBC:
        oldest = ".".join(map(str, _MINIMUM_GLIBC))
        hint = "upgrade to Debian 12, Ubuntu 22.04, Fedora 35 or newer"
        return Obstacle(f"smolmachines needs glibc {oldest} or newer; this host has {version}", hint)
    if facts.kvm == "absent":
        return Obstacle("there is no /dev/kvm", _how_to_get_kvm(facts))
    if facts.kvm == "denied":
        return Obstacle("you may not open /dev/kvm", _how_to_open(facts))
    return None


def _how_to_get_kvm(facts: HostFacts) -> str:
    if facts.virtualization:
        return f"sudo modprobe {_MODULES[facts.virtualization]}"
    if facts.virtual:
        return "turn on nested virtualization for this virtual machine, in the hypervisor that runs it"
    return "turn on virtualization (VT-x, AMD-V or SVM) in the firmware's settings"


def _how_to_open(facts: HostFacts) -> str:
    if not facts.kvm_group:
        return f"sudo chmod 666 {KVM}"
    if facts.in_group:
        return f"log out and in again: you are in the group {facts.kvm_group}, but this session is not"
    return f"sudo usermod -aG {facts.kvm_group} $USER, then log out and in again"


def _group() -> tuple[str, bool]:
    """The group that may use /dev/kvm, and whether the user is entered in it."""
    try:
        status = KVM.stat()
        group = grp.getgrgid(status.st_gid)
    except (OSError, KeyError):
        return "", False
    if status.st_gid == 0 or status.st_mode & 0o060 != 0o060:
        return "", False
    return group.gr_name, status.st_gid in os.getgroups() or os.environ.get("USER", "") in group.gr_mem


def _processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())
