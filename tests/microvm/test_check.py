"""`workbench check` in microVMs: a sample's whole proof, by the command that users run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.microvm.conftest import boot
from workbench import events as ev
from workbench.machines.machine import MachineError
from workbench.machines.smol import sdk
from workbench.machines.smol.purge import session_of
from workbench.machines.smol.session import SmolSession
from workbench.task.load import LoadedTask


async def test_a_whole_proof_holds_and_leaves_no_machine(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    events = list[ev.Event]()

    async def check() -> None:
        # What a microVM that died leaves unproven is all that is run again.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "workbench", "check", "--provider", "smol", "-n", "2"),
            *("--cached", "--json", str(task.path)),
            stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )
        stdout, _ = await process.communicate()
        told = [ev.decode(line) for line in stdout.splitlines()]
        events.extend(told)
        failed = [event.message for event in told if isinstance(event, ev.EngineFailed)]
        ended = [event.outcome for event in told if isinstance(event, ev.RunEnded)]
        failed += [outcome.reason for outcome in ended if outcome.exception]
        if failed:
            raise MachineError(" ".join(failed))
        assert process.returncode == 0, stdout.decode()

    await boot(check)
    chosen = {(event.name, event.label) for event in events if isinstance(event, ev.ProviderChosen)}
    assert chosen == {("smol", "smol: microVMs")}
    outcomes = {event.case: event.outcome for event in events if isinstance(event, ev.RunEnded)}
    assert outcomes.pop("oracle").reward == 1.0
    assert outcomes["nop"].reward == 0.0
    assert len(outcomes) >= 4
    assert {(outcome.kind, outcome.reward, outcome.met) for outcome in outcomes.values()} == {
        ("failed", 0.0, True)
    }
    *_, verdict = [event.verdict for event in events if isinstance(event, ev.VerdictReached)]
    assert verdict.kind == "holds"
    printed = "".join(event.text for event in events if isinstance(event, ev.Output))
    assert printed

    left = {machine.name for machine in await sdk.in_thread(sdk.machines) if session_of(machine.name)}
    assert left == set(session.names())
