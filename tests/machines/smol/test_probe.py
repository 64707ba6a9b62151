"""What is said of hosts: with no /dev/kvm, no right to it, one that runs nothing, and all well."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from smol import ConnectOptions, ExecOptions, MachineConfig, SmolError

from tests.machines.smol.fake import FakeMachine, FakeSmolvm
from workbench.machines.smol import probe as probing
from workbench.machines.smol import sdk
from workbench.machines.smol.host import HostFacts, look, obstacle
from workbench.machines.smol.probe import probe, remembered
from workbench.machines.smol.purge import session_of

WELL = HostFacts(
    system="linux", machine="x86_64", libc="glibc 2.36", kvm="open", virtualization="vmx", free_bytes=1 << 40
)
type Host = Callable[..., None]


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Host:
    """Makes this host another one."""

    def be(**changes: object) -> None:
        monkeypatch.setattr(probing, "look", lambda: msgspec.structs.replace(WELL, **changes))

    return be


def works(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Iterator[dict[str, object]]:
    yield {"kind": "stdout", "data": "works\n"}
    yield {"kind": "exit", "exit_code": 0}


@pytest.mark.parametrize(
    ("changes", "why", "hint"),
    [
        ({"kvm": "absent"}, "there is no /dev/kvm", "sudo modprobe kvm_intel"),
        ({"kvm": "absent", "virtualization": "svm"}, "there is no /dev/kvm", "sudo modprobe kvm_amd"),
        (
            {"kvm": "absent", "virtualization": "", "virtual": True},
            "there is no /dev/kvm",
            "turn on nested virtualization for this virtual machine, in the hypervisor that runs it",
        ),
        (
            {"kvm": "absent", "virtualization": ""},
            "there is no /dev/kvm",
            "turn on virtualization (VT-x, AMD-V or SVM) in the firmware's settings",
        ),
        (
            {"kvm": "denied", "kvm_group": "kvm"},
            "you may not open /dev/kvm",
            "sudo usermod -aG kvm $USER, then log out and in again",
        ),
        (
            {"kvm": "denied", "kvm_group": "kvm", "in_group": True},
            "you may not open /dev/kvm",
            "log out and in again: you are in the group kvm, but this session is not",
        ),
        ({"kvm": "denied"}, "you may not open /dev/kvm", "sudo chmod 666 /dev/kvm"),
        (
            {"libc": "glibc 2.31"},
            "smolmachines needs glibc 2.34 or newer; this host has 2.31",
            "upgrade to Debian 12, Ubuntu 22.04, Fedora 35 or newer",
        ),
        ({"libc": ""}, "smolmachines needs glibc, which this Linux has not", "use another distribution"),
        (
            {"engine": "no prebuilt local engine for linux/riscv64"},
            "smolmachines cannot run here: no prebuilt local engine for linux/riscv64",
            "pip install --force-reinstall smolmachines",
        ),
        (
            {"system": "darwin"},
            "microVMs need a Mac with Apple silicon",
            "use --provider harbor:docker",
        ),
    ],
)
def test_what_is_in_the_way_is_named_with_the_next_command(
    facts: Host, changes: dict[str, object], why: str, hint: str, tmp_path: Path
) -> None:
    facts(**changes)
    found = remembered(tmp_path)
    assert found is not None
    assert (found.usable, found.why, found.hint) == (False, why, hint)


def test_a_host_with_all_that_is_needed_is_not_usable_before_a_microvm_booted(
    facts: Host, tmp_path: Path
) -> None:
    assert obstacle(WELL) is None
    assert obstacle(HostFacts(system="darwin", machine="arm64")) is None
    facts()
    assert remembered(tmp_path) is None


async def test_a_boot_is_remembered_for_this_kernel_and_this_smolmachines(
    facts: Host, host: FakeSmolvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts()
    host.script = works
    found = await probe(tmp_path)
    assert (found.usable, found.why, found.hint) == (True, "a microVM boots here", "")
    (config,) = host.configs
    assert config.image is None
    assert config.resources is not None
    assert (config.resources.memory_mb, config.resources.network) == (512, False)
    assert host.records == {}
    assert remembered(tmp_path) == found
    monkeypatch.setattr(probing, "version", lambda name: "9.9.9")
    assert remembered(tmp_path) is None
    monkeypatch.undo()
    facts()
    monkeypatch.setattr(platform, "release", lambda: "99.0")
    assert remembered(tmp_path) is None


async def test_a_kvm_that_opens_and_runs_nothing_is_told_so_and_tried_again_another_day(
    facts: Host, host: FakeSmolvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts(virtual=True)

    def fail(config: MachineConfig, conn: ConnectOptions) -> FakeMachine:
        raise SmolError(
            "SMOLVM_ERROR",
            "Agent error (start machine): agent operation failed: monitor agent: "
            "boot process exited (code 1) before the agent was ready",
        )

    monkeypatch.setattr(host, "create", fail)
    found = await probe(tmp_path)
    assert not found.usable
    assert found.why == (
        "/dev/kvm opens, but a microVM does not boot here: "
        "monitor agent: boot process exited (code 1) before the agent was ready"
    )
    assert found.hint == "turn on nested virtualization for this virtual machine, in its hypervisor"
    assert remembered(tmp_path) == found
    later = time.time() + 90_000
    monkeypatch.setattr(time, "time", lambda: later)
    assert remembered(tmp_path) is None


@pytest.mark.parametrize(
    ("said", "why", "hint"),
    [
        (
            "build microVM: KvmContext(KvmOpen(Error(13)))",
            "as root, microVMs run as users of their own, who may not open /dev/kvm",
            "chmod 666 /dev/kvm, then workbench doctor --again",
        ),
        (
            "agent operation failed: krun_start_enter returned: -22",
            "macOS does not let smolmachines use its hypervisor",
            "pip install --force-reinstall smolmachines, which signs its helper anew, "
            "then workbench doctor --again",
        ),
        (
            "agent operation failed: wait for ready: agent did not become ready within 30 seconds",
            "/dev/kvm opens, but a microVM does not boot here: wait for ready: agent did not become ready "
            "within 30 seconds",
            "workbench doctor --again, when the host is less busy",
        ),
    ],
)
def test_a_boot_that_failed_is_explained(said: str, why: str, hint: str) -> None:
    found = probing.explain(f"the microVM did not start: Agent error (start machine): {said}", WELL)
    assert (found.why, found.hint) == (why, hint)


async def test_a_command_that_does_not_work_is_no_working_microvm(
    facts: Host, host: FakeSmolvm, tmp_path: Path
) -> None:
    facts()
    found = await probe(tmp_path)
    assert (found.usable, found.why) == (False, "a microVM boots, but a command in it ended with 0")


async def test_little_room_is_a_limit(facts: Host, host: FakeSmolvm, tmp_path: Path) -> None:
    facts(free_bytes=3 << 30)
    host.script = works
    assert "only 3.0 GiB are free for machines' disks" in (await probe(tmp_path)).limits


async def test_a_cancelled_probe_leaves_nothing(facts: Host, host: FakeSmolvm, tmp_path: Path) -> None:
    facts()
    host.create_may_end.clear()
    probing_now = asyncio.create_task(probe(tmp_path))
    await sdk.in_thread(host.creating.wait)
    probing_now.cancel()
    host.create_may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await probing_now
    async with asyncio.timeout(10):
        while host.records:
            await asyncio.sleep(0.01)
    assert remembered(tmp_path) is None


async def test_no_one_waits_for_a_boot_that_was_given_up_and_nothing_of_it_stays(
    facts: Host, host: FakeSmolvm, tmp_path: Path
) -> None:
    facts()
    host.create_may_end.clear()
    async with asyncio.timeout(5):
        found = await probe(tmp_path, patience=0.05)
    assert (found.usable, found.why) == (False, "a microVM did not boot within 0.05 s")
    assert remembered(tmp_path) == found
    host.create_may_end.set()
    async with asyncio.timeout(10):
        while host.records:
            await asyncio.sleep(0.01)


async def test_this_host_is_probed_for_real_and_nothing_of_it_stays(tmp_path: Path) -> None:
    if obstacle(look()) is not None:
        pytest.skip("no microVM can be tried here")
    found = await probe(tmp_path)
    assert found.why
    assert found.usable or found.hint
    known = remembered(tmp_path)
    assert known is not None
    assert (known.usable, known.why, known.hint) == (found.usable, found.why, found.hint)
    assert not [machine for machine in sdk.machines() if session_of(machine.name)]
