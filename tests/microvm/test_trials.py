"""Harbor's trials in microVMs: a task's whole proof, states, deaths, and that Harbor's own give the same."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from harbor.environments.base import BaseEnvironment
from harbor.environments.smol import close_harbor_goldens
from harbor.models.trial.config import AgentConfig, EnvironmentConfig

from tests.microvm.conftest import boot
from tests.trials.conftest import Heard
from workbench.machines.machine import MachineError
from workbench.machines.smol import vmm
from workbench.machines.smol.session import SmolSession
from workbench.task.load import LoadedTask
from workbench.trials.outcome import Outcome
from workbench.trials.run import TrialRequest, run_trial
from workbench.trials.script_agent import IMPORT_PATH
from workbench.trials.smol import WorkbenchSmolEnvironment, use_session
from workbench.trials.states import KeptState

THEIRS = EnvironmentConfig.model_validate({"type": "smol"})
OURS = EnvironmentConfig(import_path="workbench.trials.smol:WorkbenchSmolEnvironment")


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def in_session(session: SmolSession) -> AsyncIterator[None]:
    use_session(session)
    yield
    use_session(None)


async def test_trials_come_out_as_on_harbors_own_environment_and_are_verified_again(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    heard, kept, before = list[Heard](), list[KeptState](), session.names()
    numbers = itertools.count()

    async def keep(environment: BaseEnvironment, step: str) -> None:
        assert isinstance(environment, WorkbenchSmolEnvironment)
        kept.append(KeptState(await environment.keep_state(), environment.trial_paths.trial_dir))

    async def run(agent: str, config: EnvironmentConfig, **more: Any) -> Outcome:
        async def once() -> Outcome:
            request = TrialRequest(
                task.path, tmp_path, f"{agent}-{next(numbers)}", AgentConfig(name=agent), config, **more
            )
            heard.append(Heard())
            outcome = await run_trial(request, heard[-1])
            if outcome.exception:
                raise MachineError(outcome.reason)
            return outcome

        return await boot(once)

    oracle = await run("oracle", OURS, before_verifying=keep)
    assert (oracle.kind, oracle.reward, oracle.whole) == ("passed", 1.0, True)
    printed = (kept[-1].trial_dir or tmp_path) / "verifier" / "test-stdout.txt"
    assert heard[-1].text("verifier") == printed.read_text() != ""
    nop = await run("nop", OURS)
    assert (nop.kind, nop.reward) == ("failed", 0.0)
    try:
        for agent, own in (("oracle", oracle), ("nop", nop)):
            harbors = await run(agent, THEIRS)
            assert (own.kind, own.reason, own.rewards) == (harbors.kind, harbors.reason, harbors.rewards)
            assert [phase.name for phase in own.phases] == [phase.name for phase in harbors.phases]
            assert own.tests == harbors.tests
    finally:
        await close_harbor_goldens()

    again = await run("oracle", OURS, kept=kept[-1])
    assert (again.kind, again.reward, again.whole) == ("passed", 1.0, False)
    for one in kept:
        await one.state.delete()
    assert len(set(session.names()) - set(before)) <= 1  # the image's state


async def test_a_vmm_killed_in_a_trial_is_an_outcome_of_its_own(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    script = task.path / "negatives" / "sleeps.sh"
    script.write_text("#!/bin/bash\necho asleep\nsleep 600\n")
    script.chmod(0o755)
    agent = AgentConfig(
        import_path=IMPORT_PATH, kwargs={"task_dir": str(task.path), "scripts": [str(script)]}
    )
    before, numbers = set(session.names()), itertools.count()

    async def asleep() -> asyncio.Task[Outcome]:
        heard = Heard()
        request = TrialRequest(task.path, tmp_path, f"killed-{next(numbers)}", agent, OURS)
        running = asyncio.create_task(run_trial(request, heard))
        running.add_done_callback(lambda _: heard.news.set())
        await heard.until(lambda: running.done() or "asleep" in heard.text("agent"), seconds=300)
        if running.done():
            raise MachineError(f"it ended too early: {running.result()}")
        return running

    try:
        running = await boot(asleep)
        # The state of its image may be new, too.
        newest = max(set(session.names()) - before, key=lambda name: int(name.rpartition("-")[2]))
        vmm.kill(vmm.find(newest))
        outcome = await running
    finally:
        script.unlink()
    assert (outcome.kind, outcome.exception, outcome.reward) == ("killed", "MachineDiedError", None)
    assert outcome.reason.startswith("the machine died")
