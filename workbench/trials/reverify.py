"""Verifying again what an agent left, on a branch of the kept state.

A trial of Harbor's own whose agent part is taken from an earlier one, so that users, variables,
timeouts, network phases, hooks and the trial directory are what they are in any trial. Leans on the
inside of Harbor's `Trial`, as its own regrade does.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import override

from harbor.models.task.config import StepConfig
from harbor.models.task.verifier_mode import resolve_step_verifier_mode
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.paths import TrialPaths
from harbor.models.trial.result import StepResult, TrialResult
from harbor.trial.multi_step import MultiStepTrial
from harbor.trial.single_step import SingleStepTrial
from harbor.trial.trial import Trial

from workbench.trials.read_once import TaskRead, read_once
from workbench.trials.states import KeptState, StatefulEnvironment


async def reverified_trial(config: TrialConfig, kept: KeptState, digest: str = "") -> Trial:
    """A trial that starts where the kept state's agent ended.

    Args:
        config: Of a task in a local directory.
        digest: Of all the task's files; trials of the same digest share what Harbor makes of them.

    Raises:
        TypeError: the environment cannot start from a state.
        Exception: whatever Harbor raises for a task or a configuration that it refuses.
    """
    read = await read_once(config, digest)
    kind = ReverifiedSteps if read.task.has_steps else ReverifiedTrial
    return kind(config, kept, read)


class _FromState(Trial):
    """What both kinds share: the environment starts as a branch, and the record is taken over."""

    def __init__(self, config: TrialConfig, kept: KeptState, read: TaskRead) -> None:
        with read.in_locks():
            super().__init__(config, _task=read.task, _task_download_result=read.downloaded)
        read.lock = self._trial_lock.task
        environment = self.agent_environment
        if not isinstance(environment, StatefulEnvironment):
            raise TypeError(f"{type(environment).__name__} cannot start from a state")
        environment.start_state = kept.state
        self._source = TrialPaths(kept.trial_dir) if kept.trial_dir else None
        self._source_result = (
            TrialResult.model_validate_json(self._source.result_path.read_text()) if self._source else None
        )
        self._from_step = kept.step

    @override
    async def _prepare(self) -> None:
        await self._setup_agent_environment()
        self.result.agent_info = self.agent.to_agent_info()


class ReverifiedTrial(_FromState, SingleStepTrial):
    """A task without steps: the verifier alone."""

    @override
    async def _run(self) -> None:
        self._are_agent_logs_downloaded = self._are_artifacts_collected = True
        if self._source is not None and self._source_result is not None:
            _copy(self._source.agent_dir, self.paths.agent_dir)
            _copy(self._source.artifacts_dir, self.paths.artifacts_dir)
            self.result.agent_result = self._source_result.agent_result
            raised = self._source_result.exception_info
            if raised is not None and raised.policy.should_grade and _by_agent(self._source_result):
                self.result.exception_info = raised
        await self._run_verifier()
        await self._stop_agent_environment()


class ReverifiedSteps(_FromState, MultiStepTrial):
    """A task of several steps: the verifier of the step it starts from, then the steps after it whole."""

    @override
    async def _run(self) -> None:
        steps: Sequence[StepConfig] = self.task.config.steps or []
        first = next(index for index, step in enumerate(steps) if step.name == self._from_step)
        self.result.step_results = []
        for step in steps[:first]:
            self._take_over(step)
        for index, step in enumerate(steps[first:], start=first + 1):
            result = StepResult(step_name=step.name)
            self.result.step_results.append(result)
            if index == first + 1:
                await self._verify_again(step, result)
            else:
                await self._run_step(step, result, index=index, total=len(steps))
            if self._should_stop_after_step(step, result):
                self._move_agent_dir_to_step(step)
                break
        self.result.verifier_result = self._select_multi_step_reward()
        await self._stop_agent_environment()
        self.paths.cleanup_empty_mount_dirs()

    def _recorded(self, step: StepConfig) -> StepResult | None:
        recorded = (self._source_result.step_results if self._source_result else None) or []
        return next((result for result in recorded if result.step_name == step.name), None)

    def _take_over(self, step: StepConfig) -> None:
        self._skip_script()
        if self._source is not None:
            _copy(self._source.step_dir(step.name), self.paths.step_dir(step.name))
        if (recorded := self._recorded(step)) is not None:
            assert self.result.step_results is not None
            self.result.step_results.append(recorded)

    async def _verify_again(self, step: StepConfig, result: StepResult) -> None:
        self._skip_script()
        self._create_step_dirs(step)
        artifacts = self.paths.step_artifacts_dir(step.name)
        if self._source is not None:
            _copy(self._source.step_agent_dir(step.name), self.paths.agent_dir)
            _copy(self._source.step_artifacts_dir(step.name), artifacts)
        if (recorded := self._recorded(step)) is not None:
            result.agent_result, result.agent_execution = recorded.agent_result, recorded.agent_execution
        self._are_agent_logs_downloaded = True
        mode = resolve_step_verifier_mode(self.task.config, step)
        await self._run_step_verifier(step, result, artifacts_dir=artifacts, mode=mode)
        self._archive_step_outputs(step)

    def _skip_script(self) -> None:
        """Oracle and script agents count the steps they have run."""
        for counter in ("_step_index", "_step"):
            if hasattr(self.agent, counter):
                setattr(self.agent, counter, getattr(self.agent, counter) + 1)


def _by_agent(result: TrialResult) -> bool:
    """Whether what the trial raised came before its verifier began."""
    raised, verifier = result.exception_info, result.verifier
    return bool(
        raised and (verifier is None or not verifier.started_at or raised.occurred_at <= verifier.started_at)
    )


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
