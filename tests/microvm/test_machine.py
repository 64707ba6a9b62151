"""A microVM as a machine: what it runs, what it gives and takes, and how it ends."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from smol import Machine

from tests.microvm.conftest import boot, config
from workbench.machines.machine import MachineDiedError, MachineError, Stream
from workbench.machines.smol.image import boot_image
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.sdk import LOCAL
from workbench.machines.smol.session import SmolSession


async def text(machine: SmolMachine, command: str, **options: str) -> str:
    finished = await machine.exec(command, **options)  # type: ignore[arg-type]
    assert finished.exit_code == 0, finished
    return finished.stdout.decode()


async def test_a_machine_from_an_archive_runs_commands(machine: SmolMachine) -> None:
    said = await machine.exec("pwd; id -u; echo $X; echo no >&2; exit 3", cwd="/usr", env={"X": "a b"})
    assert (said.exit_code, said.stdout, said.stderr) == (3, b"/usr\n0\na b\n", b"no\n")
    assert await text(machine, "id -un", user="nobody") == "nobody\n"
    assert await text(machine, "id -u", user="1234") == "1234\n"
    assert (await machine.exec("kill -TERM $$")).exit_code == 128 + 15
    with pytest.raises(MachineError, match="user 'nosuch' not found"):
        await machine.exec("true", user="nosuch")

    pieces: list[tuple[bytes, Stream]] = []
    first = asyncio.Event()

    async def take(piece: bytes, stream: Stream) -> None:
        pieces.append((piece, stream))
        first.set()

    running = asyncio.create_task(
        machine.exec(
            "echo one; until [ -e /tmp/go ]; do sleep 0.1; done; echo two >&2",
            on_output=take,
            keep_output=False,
        )
    )
    await first.wait()
    assert pieces == [(b"one\n", "stdout")]
    await machine.exec("touch /tmp/go")
    finished = await running
    assert (finished.exit_code, finished.stdout, finished.stderr) == (0, b"", b"")
    assert b"".join(piece for piece, stream in pieces if stream == "stderr") == b"two\n"


async def test_nothing_is_left_of_a_command_that_is_cut_short(machine: SmolMachine) -> None:
    with pytest.raises(TimeoutError):
        await machine.exec("setsid sleep 4711 & sleep 4712", timeout=2)
    running = asyncio.create_task(machine.exec("setsid sleep 4713 & echo up > /tmp/up; sleep 4714"))
    await text(machine, "until [ -e /tmp/up ]; do sleep 0.1; done")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await text(machine, "while ps | grep -q '[s]leep 471'; do sleep 0.2; done")
    assert (await machine.exec("exit 124", timeout=30)).exit_code == 124


async def test_files_go_in_and_come_back_with_their_modes(machine: SmolMachine, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tree / "deep" / "run.sh").chmod(0o750)
    (tree / "data").write_bytes(bytes(range(256)) * 8192)
    (tree / "link").symlink_to("deep/run.sh")
    await machine.upload(tree, "/srv/a tree")
    assert await text(machine, "./link; stat -c %a:%U deep/run.sh", cwd="/srv/a tree") == "ran\n750:root\n"
    await machine.upload(tree / "data", "/srv/new/data")
    await machine.exec("ln -s /etc/passwd out; mkfifo pipe; rm data", cwd="/srv/a tree")

    await machine.download("/srv/a tree", tmp_path / "back")
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["deep", "link"]
    assert os.readlink(tmp_path / "back" / "link") == "deep/run.sh"
    assert (tmp_path / "back" / "deep" / "run.sh").stat().st_mode & 0o777 == 0o750
    await machine.download("/srv/new/data", tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == (tree / "data").read_bytes()
    with pytest.raises(MachineError, match="there is no /srv/nothing"):
        await machine.download("/srv/nothing", tmp_path / "nothing")
    assert await text(machine, "ls /var/tmp") == ""


async def test_a_machine_without_network_reaches_nothing(machine: SmolMachine) -> None:
    assert set((await text(machine, "ls /sys/class/net")).split()) <= {"lo", "dummy0"}
    assert len((await text(machine, "cat /proc/net/route")).splitlines()) == 1
    finished = await machine.exec("wget -q -T 5 -O - http://1.1.1.1/ || exit 9")
    assert finished.exit_code == 9
    assert b"unreachable" in finished.stderr.lower()


async def test_what_a_machine_costs_is_known(machine: SmolMachine) -> None:
    usage, guest = await machine.usage(), await machine.guest_usage()
    assert 10 << 20 < usage.memory_bytes < 600 << 20
    assert usage.processes == 1
    assert 400 << 20 < guest.memory_total_bytes <= 520 << 20
    assert 0 < guest.memory_used_bytes < guest.memory_total_bytes


async def test_a_machine_boots_from_a_root_directory(session: SmolSession, rootfs: Path) -> None:
    found = boot_image(str(rootfs))
    machine = await boot(lambda: session.create("from a directory", config(found.reference)))
    assert await text(machine, "python3 -c 'print(6 * 7)'; touch /usr/written") == "42\n"
    assert not (rootfs / "usr/written").exists()
    names = session.names()
    await machine.delete()
    await machine.delete()
    assert set(names) - set(session.names()) == {machine.vm.name}


async def test_a_machine_whose_vmm_is_killed_says_that_it_died(session: SmolSession, image_key: str) -> None:
    machine = await session.states.branch(image_key, "doomed")
    assert isinstance(machine, SmolMachine)
    began = asyncio.Event()

    async def take(piece: bytes, stream: Stream) -> None:
        began.set()

    running = asyncio.create_task(machine.exec("echo up; sleep 600", on_output=take))
    await began.wait()
    assert machine.vm.process is not None
    machine.vm.process.kill()
    with pytest.raises(MachineDiedError):
        await running
    started = time.monotonic()
    with pytest.raises(MachineDiedError):
        await machine.exec("true")
    assert time.monotonic() - started < 1
    with pytest.raises(MachineDiedError):
        await machine.upload(Path(__file__), "/tmp/x")
    await machine.delete()
    assert machine.vm.name not in session.names()


async def test_a_cancelled_create_leaves_nothing(session: SmolSession, rootfs: Path) -> None:
    before = names(session)
    creating = asyncio.create_task(session.create("cancelled", config(str(rootfs))))
    while names(session) == before:
        await asyncio.sleep(0.05)
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    while names(session) != before:
        await asyncio.sleep(0.05)


def names(session: SmolSession) -> set[str]:
    return {machine.name for machine in Machine.list(LOCAL, {"session": session.id})}
