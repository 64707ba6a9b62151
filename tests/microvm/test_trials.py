"""Harbor's trials in microVMs: a task's whole proof, states, deaths, and that Harbor's own give the same."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from harbor.environments.base import BaseEnvironment
from harbor.environments.smol import close_harbor_goldens
from harbor.models.trial.config import AgentConfig, EnvironmentConfig

from tests.trials.conftest import Heard
from workbench.cases.agents import agent_of
from workbench.cases.case import Case
from workbench.cases.find import find_cases
from workbench.cases.judge import judge
from workbench.machines.smol import vmm
from workbench.machines.smol.session import SmolSession
from workbench.proof.decide import decide
from workbench.task.load import LoadedTask, load
from workbench.trials.outcome import Outcome
from workbench.trials.run import TrialRequest, run_trial
from workbench.trials.script_agent import IMPORT_PATH
from workbench.trials.smol import WorkbenchSmolEnvironment, use_session
from workbench.trials.states import KeptState

SLUGIFY = Path(__file__).parents[2] / "sample_tasks" / "slugify"
OURS = "workbench.trials.smol:WorkbenchSmolEnvironment"


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def in_session(session: SmolSession) -> AsyncIterator[None]:
    use_session(session)
    yield
    use_session(None)


@pytest.fixture(scope="module")
def task(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> LoadedTask:
    """Slugify with an image that is to be had here, and time for an emulated processor."""
    path = tmp_path_factory.mktemp("tasks") / "slugify"
    shutil.copytree(SLUGIFY, path)
    file = path / "task.toml"
    text = file.read_text().replace("python:3.12-slim", str(archive)).replace("_sec = ", "_sec = 10")
    file.write_text(text)
    task, problems = load(path)
    assert task is not None, problems
    return task


def environment(**more: Any) -> EnvironmentConfig:
    return EnvironmentConfig(import_path=OURS, **more)


async def test_a_whole_proof_holds_and_what_the_agent_left_is_verified_again(
    task: LoadedTask, tmp_path: Path, session: SmolSession
) -> None:
    cases, problems = await asyncio.to_thread(find_cases, task.path)
    assert problems == ()
    assert [case.kind for case in cases].count("negative") >= 3
    heard = {case.name: Heard() for case in cases}
    kept: list[KeptState] = []

    async def run(case: Case) -> Outcome:
        async def keep(environment: BaseEnvironment, step: str) -> None:
            assert isinstance(environment, WorkbenchSmolEnvironment)
            kept.append(KeptState(await environment.keep_state(), request.trial_dir))

        request = TrialRequest(
            task_dir=task.path,
            trials_dir=tmp_path,
            trial_name=case.name,
            agent=agent_of(case, task),
            environment=environment(),
            before_verifying=keep if case.kind == "oracle" else None,
        )
        async with slots:
            outcome = await run_trial(request, heard[case.name])
        return judge(case, outcome, request.trial_dir)

    slots = asyncio.Semaphore(2)
    outcomes = dict(zip(heard, await asyncio.gather(*map(run, cases)), strict=True))
    verdict = decide(cases, {name: [outcome] for name, outcome in outcomes.items()})
    assert verdict.kind == "holds", outcomes
    assert outcomes["oracle"].reward == 1.0
    assert {outcome.reward for name, outcome in outcomes.items() if name != "oracle"} == {0.0}
    assert "passed" in heard["oracle"].text("verifier").lower() or heard["oracle"].text("verifier")
    assert [phase.name for phase in outcomes["oracle"].phases][-1] == "teardown"

    again = TrialRequest(
        task_dir=task.path,
        trials_dir=tmp_path,
        trial_name="again",
        agent=AgentConfig(name="oracle"),
        environment=environment(),
        kept=kept[0],
    )
    verified = await run_trial(again, Heard())
    assert (verified.kind, verified.reward, verified.whole) == ("passed", 1.0, False)
    await kept[0].state.delete()
    assert len(session.names()) == len(session.states.kept()) + 1  # the machine that other tests share


async def test_harbors_own_environment_gives_the_same(task: LoadedTask, tmp_path: Path) -> None:
    async def run(name: str, agent: str, config: EnvironmentConfig) -> Outcome:
        request = TrialRequest(task.path, tmp_path, f"{name}-{agent}", AgentConfig(name=agent), config)
        return await run_trial(request, Heard())

    theirs = EnvironmentConfig.model_validate({"type": "smol"})
    try:
        for agent in ("oracle", "nop"):
            own, harbors = await run("ours", agent, environment()), await run("harbors", agent, theirs)
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
    request = TrialRequest(task.path, tmp_path, "killed", agent, environment())
    running = asyncio.create_task(run_trial(request, heard))
    try:
        await heard.until(lambda: "asleep" in heard.text("agent"))
        (name,) = set(session.names()) - before
        vmm.kill(vmm.find(name))
        outcome = await running
    finally:
        script.unlink()
    assert (outcome.kind, outcome.exception, outcome.reward) == ("error", "MachineDiedError", None)
    assert outcome.reason.startswith("the machine died")
