"""What an engine's machines and states cost the host."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from workbench.engine.shells import Shells
from workbench.events import CostsMeasured, MachineCost
from workbench.machines.machine import Machine, MachineError
from workbench.machines.states import StateTree
from workbench.trials.states import living


async def measure(shells: Iterable[Shells], states: StateTree) -> CostsMeasured:
    """What is alive now: the machines of shells and of runs, and the states that are kept."""
    titles = {name: title for each in shells for name, title in each.titles.items()}
    machines = []
    for environment, machine in living():
        session = environment.session_id
        # Harbor names them by the trial, which is named as the run.
        run = "" if session in titles else re.sub("__(?:env|verifier__.*)$", "", session)
        name, stands_on = titles.get(session, (run, f"a run of {run.partition('__')[0]}"))
        with contextlib.suppress(MachineError):
            machines.append(await _cost(machine, name, stands_on, run))
    kept = tuple(MachineCost(one.key, _holds(one.key), one.memory_bytes) for one in states.kept())
    return CostsMeasured(machines=tuple(machines), states=kept)


async def _cost(machine: Machine, name: str, stands_on: str, run: str) -> MachineCost:
    usage = await machine.usage()
    return MachineCost(name, stands_on, usage.memory_bytes, usage.cpu_seconds, usage.processes, run)


def _holds(key: str) -> str:
    """What the state of a key holds, in words."""
    _, case, step = key.rsplit(":", 2)
    if case == "shell":
        return f"what was tried in {step}"
    return f"what {case} left" + (f" at {step}" if step else "")
