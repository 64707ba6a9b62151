"""States: what is kept, and what may be deleted when."""

from __future__ import annotations

import asyncio

import pytest

from tests.machines.bubblewrap.bench import Bench, code, out
from workbench.machines.bubblewrap.state import BubblewrapState
from workbench.machines.machine import Machine, MachineError, Stream


async def a_state_keeps_files_and_the_machine_goes_on(bench: Bench) -> None:
    async with bench.machine() as machine:
        await out(
            machine,
            """
            echo one > kept; chmod 640 kept
            rm -r /etc/cron.d /etc/profile.d /etc/bash.bashrc; mkdir /etc/profile.d
            nohup sh -c 'while :; do echo tick; sleep 0.01; done' > ticks 2>&1 &
            """,
        )
        state = await machine.freeze()
        assert state.had_processes
        assert not state.keeps_processes
        more = "n=$(wc -l < ticks); while [ $(wc -l < ticks) -le $n ]; do sleep 0.01; done"
        await out(machine, more, timeout=10)
        await out(machine, "echo two > kept; echo 1 > later")
        branch = await state.branch("branch-1")
        assert await out(branch, "cat kept; stat -c %a kept; ls -A /etc/profile.d") == "one\n640\n"
        for gone in ("later", "/etc/cron.d", "/etc/bash.bashrc"):
            assert await code(branch, f"[ -e {gone} ]") == 1, gone
        assert (await branch.usage()).processes == 1
        await out(branch, "echo three > kept")
        assert await out(await state.branch("branch-2"), "cat kept") == "one\n"
        assert await out(machine, "cat kept") == "two\n"


async def a_state_tells_whether_something_ran(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert not (await machine.freeze()).had_processes
        begun = asyncio.Event()

        async def on_output(piece: bytes, stream: Stream) -> None:
            begun.set()

        follower = asyncio.create_task(
            machine.exec("echo; while [ ! -e stop ]; do sleep 0.02; done", on_output=on_output, timeout=20)
        )
        await begun.wait()
        assert not (await machine.freeze()).had_processes, "a command of the engine's own does not count"
        await out(machine, "touch stop")
        assert (await follower).exit_code == 0, "commands go on after they were stopped"


async def states_stand_on_states(bench: Bench) -> None:
    async with bench.machine() as machine:
        await out(machine, "echo 1 > a; echo 1 > b")
        first = await machine.freeze()
    branch = await first.branch("first")
    await out(branch, "rm a; echo 2 > b; echo 2 > c")
    second = await branch.freeze()
    await branch.delete()
    assert first.key != second.key
    with pytest.raises(MachineError, match="stand on it"):
        await first.delete()
    branch = await second.branch("second")
    assert await out(branch, "cat b c; ls") == "2\n2\nb\nc\n"
    with pytest.raises(MachineError, match="stand on it"):
        await second.delete()
    await branch.delete()
    await second.delete()
    await second.delete()
    await first.delete()
    with pytest.raises(MachineError, match="was deleted"):
        await first.branch("late")


async def owners_survive_in_a_state(bench: Bench) -> None:
    if bench.session.mode == "single":
        return
    async with bench.machine() as machine:
        await out(machine, "mkdir -m 700 d; echo x > d/f; chown -R daemon:games d; chmod u+s d/f")
        state = await machine.freeze()
        assert (await state.usage()).memory_bytes > 0
    branch = await state.branch("owners")
    assert await out(branch, "stat -c '%n %U %G %a' d d/f") == "d daemon games 700\nd/f daemon games 4644\n"


async def states_of_any_depth_can_be_made(bench: Bench) -> None:
    machine: Machine = await bench.session.create("deep", await bench.base(), network=False)
    await out(machine, "mkdir gone turned; touch gone/x turned/y; echo base > /etc/issue")
    for depth in range(40):
        await out(machine, f"echo {depth} > last; echo {depth} > f{depth}; rm -f f{depth - 1}")
        if depth == 5:
            await out(machine, "rm -r gone /etc/issue; rm -r turned; echo file > turned")
        if depth == 25:
            await out(machine, "rm turned; mkdir turned; touch turned/z")
        state = await machine.freeze()
        await machine.delete()
        machine = await state.branch(f"deep-{depth}")
    assert await out(machine, "cat last; ls; ls turned") == "39\nf39\nlast\nturned\nz\n"
    assert await code(machine, "[ -e /etc/issue ]") == 1
    assert isinstance(state, BubblewrapState)
    assert len(state.spec.layers) < 40
