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

OURS = EnvironmentConfig(import_path="workbench.trials.smol:WorkbenchSmolEnvironment")


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def in_session(session: SmolSession) -> AsyncIterator[None]:
    use_session(session)
    yield
    use_session(None)


async def test_what_an_agent_left_is_verified_again_on_a_branch(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    heard, kept, before = Heard(), list[KeptState](), session.names()

    async def keep(environment: BaseEnvironment, step: str) -> None:
        assert isinstance(environment, WorkbenchSmolEnvironment)
        kept.append(KeptState(await environment.keep_state(), tmp_path / "whole"))

    async def run(name: str, **more: Any) -> Outcome:
        return await run_trial(
            TrialRequest(task.path, tmp_path, name, AgentConfig(name="oracle"), OURS, **more), heard
        )

    whole = await run("whole", before_verifying=keep)
    assert (whole.kind, whole.reward, whole.whole) == ("passed", 1.0, True)
    printed = (tmp_path / "whole" / "verifier" / "test-stdout.txt").read_text()
    assert heard.text("verifier") == printed != ""
    for name in ("again", "and again"):
        again = await run(name, kept=kept[0])
        assert (again.kind, again.reward, again.whole) == ("passed", 1.0, False)
    await kept[0].state.delete()
    assert len(set(session.names()) - set(before)) <= 1  # the image's state


async def test_harbors_own_environment_gives_the_same(task: LoadedTask, tmp_path: Path) -> None:
    async def run(name: str, agent: str, config: EnvironmentConfig) -> Outcome:
        async def once() -> Outcome:
            trial = f"{name}-{agent}-{next(numbers)}"
            outcome = await run_trial(
                TrialRequest(task.path, tmp_path, trial, AgentConfig(name=agent), config), Heard()
            )
            if outcome.exception:
                raise MachineError(outcome.reason)
            return outcome

        return await boot(once)

    numbers = itertools.count()

    theirs = EnvironmentConfig.model_validate({"type": "smol"})
    try:
        for agent in ("oracle", "nop"):
            own, harbors = await run("ours", agent, OURS), await run("harbors", agent, theirs)
            assert (own.kind, own.reason, own.rewards) == (harbors.kind, harbors.reason, harbors.rewards)
            assert [phase.name for phase in own.phases] == [phase.name for phase in harbors.phases]
            assert own.tests == harbors.tests
    finally:
        await close_harbor_goldens()


async def test_a_vmm_killed_in_a_trial_is_an_outcome_of_its_own(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    script = task.path / "negatives" / "sleeps.sh"
    script.write_text("#!/bin/bash\necho asleep\nsleep 600\n")
    script.chmod(0o755)
    agent = AgentConfig(
        import_path=IMPORT_PATH, kwargs={"task_dir": str(task.path), "scripts": [str(script)]}
    )
    heard, before = Heard(), set(session.names())
    request = TrialRequest(task.path, tmp_path, "killed", agent, OURS)
    running = asyncio.create_task(run_trial(request, heard))
    try:
        await heard.until(lambda: "asleep" in heard.text("agent"))
        (name,) = set(session.names()) - before
        vmm.kill(vmm.find(name))
        outcome = await running
    finally:
        script.unlink()
    assert (outcome.kind, outcome.exception, outcome.reward) == ("killed", "MachineDiedError", None)
    assert outcome.reason.startswith("the machine died")
