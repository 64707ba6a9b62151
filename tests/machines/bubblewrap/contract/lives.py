"""How machines live side by side, and that nothing is left of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from tests.machines.bubblewrap.bench import Bench, out
from workbench.machines.machine import MachineDiedError, MachineError


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
    async with bench.machine() as machine:
        await out(machine, "mkdir -m 000 shut; setsid sleep 987 > /dev/null 2>&1 &")
        if bench.session.mode != "single":
            await out(machine, "mkdir -m 700 theirs; touch theirs/f; chown -R daemon theirs")
        before = {path.name for path in bench.session.path.iterdir() if path.name.startswith("m")}
    await bench.session.settled()
    left = {path.name for path in bench.session.path.iterdir() if path.name.startswith("m")}
    assert len(before - left) == 1
    assert not await asyncio.to_thread(_running, "sleep\x00987\x00")


def _running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_text() == command:
                return True
    return False
