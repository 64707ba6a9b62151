"""How machines live side by side, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.machines.bubblewrap.bench import Bench, out
from workbench.machines.machine import MachineDiedError, MachineError, Stream


async def twenty_machines_run_at_once(bench: Bench) -> None:
    base = await bench.base()
    machines = await asyncio.gather(
        *(bench.session.create(f"many-{n}", base, network=n % 2 == 0) for n in range(24))
    )
    said = await asyncio.gather(
        *(out(machine, f"echo {n} > f; sleep 0.05; cat f") for n, machine in enumerate(machines))
    )
    assert said == [f"{n}\n" for n in range(24)]
    assert {(await machine.usage()).processes for machine in machines} == {1}
    await asyncio.gather(*(machine.delete() for machine in machines))


async def a_deleted_machine_runs_nothing(bench: Bench) -> None:
    async with bench.machine() as machine:
        running = asyncio.create_task(machine.exec("sleep 987"))
        while (await machine.usage()).processes < 2:
            await asyncio.sleep(0)
        await machine.delete()
        with pytest.raises(MachineDiedError):
            await running
        with pytest.raises(MachineDiedError):
            await machine.exec("true")
        with pytest.raises(MachineDiedError):
            await machine.freeze()
        await machine.delete()


async def names_are_not_shared(bench: Bench) -> None:
    async with bench.machine() as machine:
        with pytest.raises(MachineError, match="already"):
            await bench.session.create(machine.name, await bench.base())


async def nothing_is_left_of_a_deleted_machine(bench: Bench) -> None:
    await bench.session.settled()
    before = set(bench.session.path.iterdir())
    mark = f"9{os.getpid()}"
    async with bench.machine() as machine:
        await out(machine, f"mkdir -m 000 shut; setsid sleep {mark} > /dev/null 2>&1 &")
        if bench.session.mode != "single":
            await out(machine, "mkdir -m 700 theirs; touch theirs/f; chown -R daemon theirs")
        assert len(set(bench.session.path.iterdir()) - before) == 1
    await bench.session.settled()
    assert set(bench.session.path.iterdir()) == before
    assert not await asyncio.to_thread(_running, f"sleep\x00{mark}\x00")


async def a_stopped_shell_holds_up_no_one(bench: Bench) -> None:
    stop = "kill -STOP $PPID; echo stopped; sleep 987"  # nsenter, outside, then stops itself
    async with bench.machine() as machine:
        with pytest.raises(TimeoutError):
            await machine.exec(stop, timeout=0.5)
        assert await out(machine, "echo alive") == "alive\n"
        begun = asyncio.Event()

        async def on_output(piece: bytes, stream: Stream) -> None:
            begun.set()

        running = asyncio.create_task(machine.exec(stop, on_output=on_output))
        await begun.wait()
        async with asyncio.timeout(10):
            await machine.delete()
            with pytest.raises(MachineDiedError):
                await running


def _running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_text() == command:
                return True
    return False
