"""What a crash leaves: nothing, once a sweep has run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.microvm.conftest import boot
from workbench.machines.smol import sdk, vmm
from workbench.machines.smol.session import SmolSession

DRIVER = """
import asyncio, sys
from tests.microvm.conftest import boot, config
from workbench.machines.smol.session import SmolSession

async def main():
    session = SmolSession()
    machine = await boot(lambda: session.create("m", config(sys.argv[1])))
    await machine.freeze()
    print(session.id, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_kill_9_of_an_engine_leaves_no_vmm_no_record_and_no_disk(
    session: SmolSession, rootfs: Path
) -> None:
    async def start() -> tuple[asyncio.subprocess.Process, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", DRIVER, str(rootfs)), stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        return process, (await process.stdout.readline()).decode().strip()

    engine, dead = await boot(start)
    mine = session.names()
    left = [machine for machine in await sdk.in_thread(sdk.machines) if dead in machine.name]
    assert len(left) == 2
    processes = [vmm.process_of(machine.pid) for machine in left]
    directories = [path.parent for path in sdk.data_directories().glob("*/name") if dead in path.read_text()]
    assert len(directories) == 2
    engine.kill()
    await engine.wait()

    # The frozen machine's VMM does not notice; the guard that the session started does.
    async with asyncio.timeout(120):
        while (sdk.data_directories().parents[1] / "workbench" / "smol-sessions" / dead).exists():
            await asyncio.sleep(0.1)
    assert not [machine for machine in await sdk.in_thread(sdk.machines) if dead in machine.name]
    assert not any(vmm.alive(process) for process in processes)
    assert not any(directory.exists() for directory in directories)
    assert not [name for name in os.listdir(sdk.data_directories()) if dead in name]
    assert not [process for process in psutil.process_iter() if dead in _command(process)]
    assert session.names() == mine


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
