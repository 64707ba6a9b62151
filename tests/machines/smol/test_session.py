"""What a session owes its machines, without a microVM."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from smol import ExecOptions, MachineConfig, ResourceSpec

from tests.machines.smol.fake import FakeMachine, FakeSmolvm
from workbench.machines.machine import MachineDiedError, MachineError, Stream
from workbench.machines.smol import sdk
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.purge import sweep
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.session import SmolSession

IMAGE = MachineConfig(image="python:3.12-slim", resources=ResourceSpec(cpus=1, memory_mb=512))


type Events = Iterator[dict[str, object]]


async def until(host: FakeSmolvm, count: int) -> None:
    async with asyncio.timeout(10):
        while len(host.records) != count:
            await asyncio.sleep(0.01)


async def test_a_token_in_the_environment_sends_nothing_to_a_cloud(
    host: FakeSmolvm, session: SmolSession
) -> None:
    key = await session.image_state("i", IMAGE)
    machine = await session.states.branch(key, "m")
    await machine.freeze()
    await machine.delete()
    await session.close()
    assert {call.split()[0] for call in host.calls} == {"create", "list", "exec", "branch", "delete"}
    assert set(host.targets) == {"local"}


async def test_machines_are_labelled_with_what_they_belong_to(host: FakeSmolvm, session: SmolSession) -> None:
    await session.create("m", IMAGE)
    (config,) = host.configs
    assert config.labels == {"app": "harbor-workbench", "session": session.id}
    assert config.branchable is True
    assert config.name == f"workbench-{session.id}-1"
    assert (config.image, config.resources) == (IMAGE.image, IMAGE.resources)


async def test_an_image_is_booted_once_for_all_who_ask(host: FakeSmolvm, session: SmolSession) -> None:
    keys = await asyncio.gather(*(session.image_state("one", IMAGE) for _ in range(5)))
    assert len(set(keys)) == 1
    assert len(host.configs) == 1
    other = MachineConfig(image=IMAGE.image, resources=ResourceSpec(cpus=2, memory_mb=512))
    assert await session.image_state("one", other) != keys[0]
    assert await session.image_state("two", IMAGE) != keys[0]
    assert len(host.configs) == 3


async def test_smolvms_links_to_archives_go_with_the_last_machine(
    host: FakeSmolvm, session: SmolSession, tmp_path: Path
) -> None:
    links = []
    for name in ("one", "two"):
        archive = tmp_path / f"{name}.tar"
        archive.write_text(name)
        links.append(sdk.archive_directories() / hashlib.sha256(name.encode()).hexdigest())
        key = await session.image_state(name, MachineConfig(image=str(archive)))
        session.states.forget(key)
    assert [link.exists() for link in links] == [False, True]
    await session.close()
    assert [link.exists() for link in links] == [False, False]


async def test_a_kept_machine_is_stopped_with_its_session_and_started_by_the_next(host: FakeSmolvm) -> None:
    first, second = SmolSession(), SmolSession()
    machine = await first.kept("builder", "i", IMAGE)
    name = machine.vm.name
    assert host.configs[0].persistent is True
    assert first.names() == [name]
    beside = await second.kept("builder", "i", IMAGE)
    assert beside.vm.name == f"workbench-{second.id}-1"
    await first.close()
    assert not machine.alive
    assert sweep() == ()
    assert f"stop {name}" in host.calls
    await second.close()
    assert list(host.records) == [name]

    third = SmolSession()
    again = await third.kept("builder", "i", IMAGE)
    assert (again.vm.name, again.alive, len(host.configs)) == (name, True, 2)
    assert host.calls.count(f"connect {name}") == 1
    host.records[name].stop()
    assert (await third.kept("builder", "i", IMAGE)).alive
    await third.close()
    assert not host.records[name].runs
    assert set(host.targets) == {"local"}


async def test_a_machine_kept_of_another_image_goes_unless_a_session_has_it(host: FakeSmolvm) -> None:
    first, second = SmolSession(), SmolSession()
    old = await first.kept("builder", "old", IMAGE)
    new = await second.kept("builder", "new", IMAGE)
    assert old.alive
    await first.close()
    await second.close()
    third = SmolSession()
    await third.kept("builder", "new", IMAGE)
    assert list(host.records) == [new.vm.name]
    await third.close()


async def test_a_kept_machine_that_twice_does_not_start_is_made_anew(host: FakeSmolvm) -> None:
    for failing, created in ((0, 1), (1, 1), (2, 2)):
        session = SmolSession()
        host.failing = failing
        machine = await session.kept("builder", "i", IMAGE)
        assert (machine.alive, len(host.configs), len(host.records)) == (True, created, 1)
        await session.close()


async def test_an_image_without_a_shell_is_told_so_and_leaves_no_machine(
    host: FakeSmolvm, session: SmolSession
) -> None:
    def no_shell(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Events:
        yield {"kind": "stderr", "data": "nsenter: failed to execute /bin/sh: No such file or directory\n"}
        yield {"kind": "exit", "exit_code": 127}

    host.script = no_shell
    with pytest.raises(MachineError, match=r"python:3\.12-slim has no working /bin/sh: .*No such file"):
        await session.image_state("i", IMAGE)
    assert host.records == {}
    host.script = None
    assert await session.image_state("i", IMAGE)


async def test_freezing_moves_the_machine_on_and_nothing_runs_in_what_was_frozen(
    host: FakeSmolvm, session: SmolSession
) -> None:
    machine = await session.create("m", IMAGE)
    first = machine.vm.name
    state = await machine.freeze()
    assert (state.key, machine.name) == (first, "m")
    assert machine.vm.name != first
    assert f"branch {first} {machine.vm.name}" in host.calls
    assert (await machine.exec("true")).exit_code == 0
    with pytest.raises(MachineError, match="is frozen and runs nothing"):
        await state.vm.run(["true"], ExecOptions())
    again = await machine.freeze()
    assert again.vm.parent is state.vm
    branch = await state.branch("b")
    assert branch.vm.parent is state.vm
    assert f"--name {machine.vm.name} -it" in " ".join(machine.shell().argv)


async def test_a_command_in_flight_is_ended_before_its_machine_is_frozen(
    host: FakeSmolvm, session: SmolSession
) -> None:
    def forever(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Events:
        yield {"kind": "stdout", "data": "up\n"}
        while not machine.frozen:
            time.sleep(0.01)
            yield {"kind": "waiting"}
        threading.Event().wait()

    host.script = forever
    machine = await session.create("m", IMAGE)
    up = asyncio.Event()

    async def take(piece: bytes, stream: Stream) -> None:
        up.set()

    running = asyncio.create_task(machine.exec("serve", on_output=take))
    await up.wait()
    await machine.freeze()
    with pytest.raises(MachineError, match="frozen or deleted"):
        async with asyncio.timeout(5):
            await running


async def test_a_source_goes_after_its_branches(host: FakeSmolvm, session: SmolSession) -> None:
    machine = await session.create("m", IMAGE)
    state = await machine.freeze()
    with pytest.raises(MachineError, match=f"has branches, which go first: {machine.vm.name}"):
        await state.delete()
    await machine.delete()
    await machine.delete()
    await state.delete()
    assert host.records == {}
    assert list(host.directories.iterdir()) == []


async def test_a_machine_with_a_shell_goes_on_as_it_is_when_its_state_is_kept(
    host: FakeSmolvm, session: SmolSession
) -> None:
    machine = await session.create("m", IMAGE)
    machine.shell()
    vm = machine.vm
    state = await machine.freeze()
    assert machine.vm is vm
    assert state.vm.parent is vm
    assert not host.records[vm.name].frozen
    assert (await machine.exec("true")).exit_code == 0
    branch = await state.branch("b")
    assert host.records[state.key].frozen

    await machine.delete()
    assert not machine.alive
    with pytest.raises(MachineDiedError):
        await machine.exec("true")
    assert host.records[vm.name].runs  # else smolvm could not branch the state any more
    await branch.delete()
    assert set(host.records) == {vm.name, state.key}
    await state.delete()
    assert host.records == {}


async def test_branches_of_one_state_are_made_one_after_the_other(
    host: FakeSmolvm, session: SmolSession
) -> None:
    key = await session.image_state("i", IMAGE)
    await asyncio.gather(*(session.states.branch(key, f"m{number}") for number in range(6)))
    assert host.most_branching == 1
    assert len(host.records) == 7


async def test_what_a_cancelled_create_makes_is_deleted(host: FakeSmolvm, session: SmolSession) -> None:
    host.create_may_end.clear()
    creating = asyncio.create_task(session.create("m", IMAGE))
    await in_thread(host.creating.wait)
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    assert len(host.records) == 1
    host.create_may_end.set()
    await until(host, 0)


async def test_what_a_cancelled_branch_makes_is_deleted(host: FakeSmolvm, session: SmolSession) -> None:
    key = await session.image_state("i", IMAGE)
    host.create_may_end.clear()
    branching = asyncio.create_task(session.states.branch(key, "m"))
    async with asyncio.timeout(10):
        while not host.branching:
            await asyncio.sleep(0.01)
    branching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await branching
    host.create_may_end.set()
    async with asyncio.timeout(10):
        while not any(call.startswith("delete") for call in host.calls):
            await asyncio.sleep(0.01)
    await until(host, 1)
    assert await session.states.branch(key, "m")


async def test_a_cancelled_freeze_still_knows_where_the_machine_goes_on(
    host: FakeSmolvm, session: SmolSession
) -> None:
    machine = await session.create("m", IMAGE)
    first = machine.vm
    host.create_may_end.clear()
    freezing = asyncio.create_task(machine.freeze())
    async with asyncio.timeout(10):
        while not host.branching:
            await asyncio.sleep(0.01)
    freezing.cancel()
    host.create_may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await freezing
    assert machine.vm.parent is first
    assert (await machine.exec("true")).exit_code == 0


async def test_a_killed_vmm_is_told_as_a_death(host: FakeSmolvm, session: SmolSession) -> None:
    def until_killed(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Events:
        yield {"kind": "stdout", "data": "up\n"}
        while machine.runs:
            time.sleep(0.01)
            yield {"kind": "waiting"}
        yield {"kind": "error", "message": "[SMOLVM_ERROR] io operation failed: connection closed"}

    host.script = until_killed
    machine = await session.create("m", IMAGE)
    up = asyncio.Event()

    async def take(piece: bytes, stream: Stream) -> None:
        up.set()

    running = asyncio.create_task(machine.exec("serve", on_output=take))
    await up.wait()
    host.records[machine.vm.name].process.kill()
    with pytest.raises(MachineDiedError, match=r"the microVM ended: .*connection closed"):
        await running
    with pytest.raises(MachineDiedError):
        await machine.exec("true")
    with pytest.raises(MachineDiedError):
        await machine.freeze()
    await machine.delete()
    assert host.records == {}


async def test_closing_deletes_everything_leaves_first(host: FakeSmolvm, session: SmolSession) -> None:
    machine = await session.create("m", IMAGE)
    for _ in range(3):
        await machine.freeze()
    await session.image_state("i", IMAGE)
    processes = [psutil.Process(record.process.pid) for record in host.records.values()]
    guards = [child for child in psutil.Process().children() if child.name() == "sh"]
    assert len(guards) == 1
    await session.close()
    assert host.records == {}
    assert list(host.directories.iterdir()) == []
    assert not any(process.is_running() and process.status() != "zombie" for process in processes)
    assert not guards[0].is_running()
    with pytest.raises(MachineError, match="the session has ended"):
        await session.create("late", IMAGE)


async def test_closing_ends_a_machine_that_is_still_being_made(
    host: FakeSmolvm, session: SmolSession
) -> None:
    host.create_may_end.clear()
    creating = asyncio.create_task(session.create("m", IMAGE))
    await in_thread(host.creating.wait)
    closing = asyncio.create_task(session.close(0.3))
    await closing
    host.create_may_end.set()
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    await until(host, 0)


async def test_a_sweep_removes_what_dead_sessions_left_and_nothing_else(
    host: FakeSmolvm, session: SmolSession
) -> None:
    dead = SmolSession()
    machine = await dead.create("m", IMAGE)
    await machine.freeze()
    await (await dead.create("n", IMAGE)).freeze()
    host.create(MachineConfig(name="somebody-elses"))
    mine = await session.create("m", IMAGE)
    forgotten = host.records.pop(machine.vm.name)  # as smolvm's commands do when its VMM has died
    dead_names = [name for name in [*host.records, machine.vm.name] if dead.id in name]
    assert sweep() == ()
    os.kill(dead._guard.pid, signal.SIGKILL)
    dead._lock.release(remove=False)  # as the end of its process does
    assert sweep() == tuple(sorted(dead_names))
    assert sorted(host.records) == sorted(["somebody-elses", mine.vm.name])
    assert forgotten.process.wait(5) == -signal.SIGKILL
    assert sorted(path.name for path in host.directories.iterdir()) == sorted(
        path.name for path in (host.directory("somebody-elses"), host.directory(mine.vm.name))
    )
    assert sweep() == ()


async def test_output_in_pieces_is_joined_and_not_kept_when_not_wanted(
    host: FakeSmolvm, session: SmolSession
) -> None:
    def talk(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Events:
        for word in ("a", "b"):
            yield {"kind": "stdout", "data": word}
        yield {"kind": "stderr", "data": "é"}
        yield {"kind": "stdout", "data": "c"}
        yield {"kind": "exit", "exit_code": 7}

    host.script = talk
    machine = await session.create("m", IMAGE)
    seen: dict[Stream, bytes] = {"stdout": b"", "stderr": b""}

    async def take(piece: bytes, stream: Stream) -> None:
        seen[stream] += piece

    finished = await machine.exec("talk", on_output=take)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (7, b"abc", "é".encode())
    assert seen == {"stdout": b"abc", "stderr": "é".encode()}
    assert (await machine.exec("talk", on_output=take, keep_output=False)).stdout == b""


async def test_a_command_past_its_timeout_raises_and_one_that_exits_with_124_does_not(
    host: FakeSmolvm, session: SmolSession
) -> None:
    def late(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Events:
        if argv[-1] == "late":
            assert options.timeout == 2.5
            yield {"kind": "stderr", "data": "\ncommand timed out after 2500ms"}
        yield {"kind": "exit", "exit_code": 124}

    host.script = late
    machine = await session.create("m", IMAGE)
    with pytest.raises(TimeoutError, match=r"longer than 2\.5 s"):
        await machine.exec("late", timeout=2.5)
    assert (await machine.exec("other", timeout=2.5)).exit_code == 124


async def test_a_shell_speaks_of_its_machine_and_takes_nothing_else_along(
    host: FakeSmolvm, session: SmolSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    machine = await session.create("m", IMAGE)
    command = machine.shell(user="nobody", env={"A": "b c"})
    assert command.relays
    assert "secret" not in str(command.env)
    assert command.env["XDG_CACHE_HOME"] == os.environ["XDG_CACHE_HOME"]
    at = command.argv.index("exec")
    assert command.argv[at : at + 4] == ("exec", "--name", machine.vm.name, "-it")
    assert command.argv[command.argv.index("-u") + 1] == "nobody"
    assert command.argv[command.argv.index("A=b c") - 1] == "-e"
    assert isinstance(machine, SmolMachine)
    assert Path(command.argv[0]).name == "smol-vmm"
