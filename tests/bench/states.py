"""What states of microVMs are worth: verifying again on a branch, and the memory of one more branch.

Needs a /dev/kvm that can run a guest, and nothing else at work on the host while it measures memory.

    uv run python -m tests.bench.states [ROUNDS]
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from harbor.environments.base import BaseEnvironment
from harbor.models.trial.config import AgentConfig, EnvironmentConfig
from rich.console import Console
from rich.table import Table
from smol import MachineConfig

from tests.microvm import image
from tests.microvm.conftest import SMALL, boot
from workbench import places
from workbench.machines.machine import Machine
from workbench.machines.smol.image import boot_image
from workbench.machines.smol.session import SmolSession
from workbench.trials.observer import Silent
from workbench.trials.outcome import Outcome
from workbench.trials.run import TrialRequest, run_trial
from workbench.trials.smol import WorkbenchSmolEnvironment, use_session
from workbench.trials.states import KeptState

LIMIT = 0.5
ROUNDS = 5
BRANCHES = 4
BOOTS = 2
ATTEMPTS = 4
"""At a trial whose machine died: on an emulated processor some do."""
MIB = 1 << 20
ENVIRONMENT = EnvironmentConfig(import_path="workbench.trials.smol:WorkbenchSmolEnvironment")


async def main(rounds: int) -> bool:
    archive = Path(os.environ.get("MICROVM_IMAGE") or places.cache_dir() / "tests" / "microvm.tar")
    if not archive.exists():
        image.make(archive)
    session = SmolSession()
    use_session(session)
    try:
        with tempfile.TemporaryDirectory(prefix="states-") as scratch:
            branch, fresh = await memory(session, archive)
            print(
                f"one more branch: {branch / MIB:.0f} MiB, one more boot: {fresh / MIB:.0f} MiB", flush=True
            )
            bench = Bench(task(archive, Path(scratch)), Path(scratch) / "trials")
            whole, again = await bench.run(rounds)
    finally:
        await session.close(60)
    ratios = [one / other for one, other in zip(again, whole, strict=True)]
    report(whole, again)
    ratio = statistics.median(ratios)
    print(f"bench states: {ratio:.3f} (required: <= {LIMIT})")
    return ratio <= LIMIT


async def memory(session: SmolSession, archive: Path) -> tuple[float, float]:
    """Host memory, in bytes, of one more branch of a state, and of one more boot of its image."""
    config = MachineConfig(image=str(archive), resources=SMALL)
    key = await boot(lambda: session.image_state(boot_image(str(archive)).identity, config))
    first = await session.states.branch(key, "first")  # this freezes the state

    async def branch(number: int) -> Machine:
        return await session.states.branch(key, f"branch-{number}")

    async def start(number: int) -> Machine:
        return await boot(lambda: session.create(f"fresh-{number}", config))

    cost = {}
    for make, count in ((branch, BRANCHES), (start, BOOTS)):
        before = psutil.virtual_memory().available
        machines = [await make(number) for number in range(count)]
        for machine in machines:
            assert (await machine.exec("python3 -c 'print(1)'")).exit_code == 0
        cost[make] = (before - psutil.virtual_memory().available) / count
        for machine in machines:
            await machine.delete()
    await first.delete()
    return cost[branch], cost[start]


def task(archive: Path, scratch: Path) -> Path:
    """Slugify on an image that is to be had here, with time for a slow host."""
    path = scratch / "slugify"
    shutil.copytree(places.shipped("sample_tasks") / "slugify", path)
    file = path / "task.toml"
    file.write_text(
        file.read_text().replace("python:3.12-slim", str(archive)).replace("_sec = ", "_sec = 10")
    )
    return path


@dataclass
class Bench:
    """Whole trials of the oracle, and re-verifications of what the first one left, in alternation."""

    task: Path
    trials_dir: Path
    kept: KeptState | None = None

    async def run(self, rounds: int) -> tuple[list[float], list[float]]:
        """Seconds of each."""
        await self._trial("first", keep=True)
        whole, again = [], []
        for number in range(rounds):
            whole.append(await self._trial(f"whole-{number}"))
            again.append(await self._trial(f"again-{number}", kept=self.kept))
        return whole, again

    async def _trial(self, name: str, *, keep: bool = False, kept: KeptState | None = None) -> float:
        for attempt in range(ATTEMPTS):
            outcome, took = await self._attempt(f"{name}-{attempt}", keep, kept)
            if outcome.kind != "killed":
                break
        assert (outcome.kind, outcome.whole) == ("passed", kept is None), outcome
        return took

    async def _attempt(self, name: str, keep: bool, kept: KeptState | None) -> tuple[Outcome, float]:
        async def freeze(environment: BaseEnvironment, step: str) -> None:
            assert isinstance(environment, WorkbenchSmolEnvironment)
            self.kept = KeptState(await environment.keep_state(), request.trial_dir)

        request = TrialRequest(
            self.task,
            self.trials_dir,
            name,
            AgentConfig(name="oracle"),
            ENVIRONMENT,
            before_verifying=freeze if keep else None,
            kept=kept,
        )
        started = time.monotonic()
        outcome = await run_trial(request, Silent())
        return outcome, time.monotonic() - started


def report(whole: list[float], again: list[float]) -> None:
    table = Table("", "median", "least", "most", box=None)
    for name, seconds in (("whole trial, s", whole), ("verified again, s", again)):
        table.add_row(name, *(f"{find(seconds):.2f}" for find in (statistics.median, min, max)))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(not asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)))
