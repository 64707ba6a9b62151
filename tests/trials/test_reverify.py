"""Verifying again what an agent left."""

from __future__ import annotations

from dataclasses import replace

from harbor.environments.base import BaseEnvironment
from harbor.models.job.lock import TrialLock
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths
from harbor.models.trial.result import TrialResult
from harbor.publisher.packager import Packager

from tests.trials.conftest import REWARD, Trials
from workbench.task.snapshot import Snapshot
from workbench.trials.run import run_trial
from workbench.trials.states import KeptState, StatefulEnvironment


async def whole(trials: Trials) -> KeptState:
    """A whole trial; what its agent left."""
    kept = []

    async def keep(environment: BaseEnvironment, step: str) -> None:
        assert isinstance(environment, StatefulEnvironment)
        kept.append(KeptState(await environment.keep_state(), trials.trial_dir))

    outcome = await run_trial(replace(trials.request(), before_verifying=keep), trials.heard)
    assert (outcome.reward, outcome.whole) == (1.0, True)
    return kept[0]


async def test_each_trial_tells_of_the_files_as_they_are(trials: Trials) -> None:
    kept = await whole(trials)
    for reward in (1.0, 0.5, 0.5, 1.0):
        trials.write("tests/test.sh", f"#!/bin/bash\necho {reward} > {REWARD}\n")
        digest = repr(sorted(Snapshot.of(trials.task).entries.items()))
        again = replace(trials.request(), kept=kept, digest=digest)
        outcome = await run_trial(again, trials.heard)
        assert (outcome.reward, outcome.whole) == (reward, False)
        paths = TrialPaths(trials.trial_dir)
        lock = TrialLock.model_validate_json(paths.lock_path.read_text())
        assert lock.task.digest == f"sha256:{Packager.compute_content_hash(trials.task)[0]}"
        result = TrialResult.model_validate_json(paths.result_path.read_text())
        assert result.task_checksum == Task(trials.task).checksum


async def test_a_limit_that_changed_holds(trials: Trials) -> None:
    kept = await whole(trials)
    again = replace(trials.request(), kept=kept, digest="the same")
    assert (await run_trial(again, trials.heard)).reward == 1.0
    text = (trials.task / "task.toml").read_text()
    trials.write("task.toml", text.replace("[verifier]\ntimeout_sec = 30", "[verifier]\ntimeout_sec = 1"))
    trials.write("tests/test.sh", "#!/bin/bash\nsleep 60\n")
    again = replace(trials.request(), kept=kept, digest="the same")
    assert (await run_trial(again, trials.heard)).exception == "VerifierTimeoutError"
