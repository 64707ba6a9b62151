"""One whole trial through Harbor's own `Trial`, told as it happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment
from harbor.models.trajectories import Agent
from harbor.models.trial.config import (
    AgentConfig,
    EnvironmentConfig,
    SourceTrialConfig,
    TaskConfig,
    TrialConfig,
    VerifierConfig,
)
from harbor.models.trial.paths import EnvironmentPaths
from harbor.trial.hooks import TrialEvent, TrialHookEvent
from harbor.trial.trial import Trial

from workbench.trials.file_changes import copy_changes, write_changes
from workbench.trials.follow import following
from workbench.trials.observer import Observer, observing
from workbench.trials.outcome import Outcome
from workbench.trials.plain_words import in_plain_words
from workbench.trials.read import read_outcome
from workbench.trials.reverify import reverified_trial
from workbench.trials.script_agent import LOG_FILE, ScriptAgent
from workbench.trials.script_trajectory import write_trajectory
from workbench.trials.states import KeptState
from workbench.trials.watch_files import FileWatch

VERIFIER = "workbench.trials.verifier:FollowedVerifier"

type BeforeVerifying = Callable[[BaseEnvironment, str], Awaitable[None]]
"""Called with the agent's environment and the step once the agent is done and before its work is
verified. Takes none of the verifier's time."""


@dataclass(frozen=True)
class TrialRequest:
    """What to run."""

    task_dir: Path
    trials_dir: Path
    """Where the trial directory is made."""
    trial_name: str
    """The trial directory's name, unique there."""
    agent: AgentConfig
    environment: EnvironmentConfig
    threshold: float = 1.0
    """The least reward that passes."""
    before_verifying: BeforeVerifying | None = None
    kept: KeptState | None = None
    """Verify what this state's agent left, instead of running the agent."""
    regrade: Path | None = None
    """Verify the artifacts of this trial, instead of running the agent: where the verifier is separate."""
    digest: str = ""
    """Of all the task's files, when known; what verifies again shares what is read of them."""

    @property
    def whole(self) -> bool:
        """Whether the agent runs."""
        return self.kept is None and self.regrade is None

    @property
    def trial_dir(self) -> Path:
        """The trial directory."""
        return self.trials_dir / self.trial_name


@dataclass
class _Watch:
    """The hooks of one trial: phases, and the agent's output live."""

    trial: Trial
    observer: Observer
    before_verifying: BeforeVerifying | None
    _agent: AsyncExitStack = field(default_factory=AsyncExitStack)
    _files: FileWatch | None = None

    def attach(self) -> None:
        for event, hook in (
            (TrialEvent.ENVIRONMENT_START, self._environment_start),
            (TrialEvent.AGENT_START, self._agent_start),
            (TrialEvent.AGENT_END, self._agent_end),
            (TrialEvent.VERIFICATION_START, self._verification_start),
        ):
            self.trial.add_hook(event, hook)

    async def close(self) -> None:
        await self._agent.aclose()
        await self._write_trajectory()

    async def _environment_start(self, event: TrialHookEvent) -> None:
        self.observer.phase("environment", "")

    async def _agent_start(self, event: TrialHookEvent) -> None:
        step = _step_of(event)
        environment, paths = self.trial.agent_environment, self.trial.paths
        self._files = FileWatch(environment)
        with _informing(self.observer):
            await self._files.begin()
        self.observer.phase("agent", step)
        await self._agent.enter_async_context(
            following(
                environment,
                EnvironmentPaths.for_os(environment.os).agent_dir / LOG_FILE,
                paths.agent_dir / LOG_FILE,
                lambda text: self.observer.output("agent", text, step),
            )
        )

    async def _agent_end(self, event: TrialHookEvent) -> None:
        await self._agent.aclose()
        step = _step_of(event)
        self.observer.phase("transfer", step)
        with _informing(self.observer):
            if self._files:
                changes = await self._files.end()
                await asyncio.to_thread(write_changes, changes, self.trial.paths.trial_dir, step)

    async def _verification_start(self, event: TrialHookEvent) -> None:
        await self._write_trajectory()
        # In separate mode the agent's environment has ended by now.
        if self.before_verifying is not None:
            await self.before_verifying(self.trial.agent_environment, _step_of(event))

    async def _write_trajectory(self) -> None:
        """Tell what a script ran; only when its logs have gone back to the environment, which lacks this."""
        agent, directory = self.trial.agent, self.trial.paths.agent_dir
        if not isinstance(agent, ScriptAgent) or agent.traced is None or not directory.is_dir():
            return
        traced, agent.traced = agent.traced, None
        who = Agent(name=agent.name(), version=agent.version())
        with _informing(self.observer):
            await asyncio.to_thread(write_trajectory, traced, who, directory / LOG_FILE)


@contextlib.contextmanager
def _informing(observer: Observer) -> Iterator[None]:
    """Do what only informs of a trial, which must not fail for it."""
    try:
        yield
    except Exception as error:
        observer.note(f"not all is told of the run: {error}")


async def run_trial(request: TrialRequest, observer: Observer) -> Outcome:
    """Run a trial to its end and say what it came to.

    Whatever Harbor raises becomes the outcome. When the task that awaits this is cancelled, Harbor
    tidies up and the outcome is `cancelled`; a second cancellation while it tidies is let pass.
    """
    token = observing.set(observer)
    try:
        return await _run(request, observer)
    except asyncio.CancelledError:
        return Outcome(kind="cancelled", reason="cancelled")
    except (Exception, SystemExit) as error:
        # Harbor's checks before a trial raise from Trial.create; some of its providers exit instead.
        what, hint = in_plain_words(type(error).__name__, str(error))
        return Outcome(
            kind="error",
            reason=what,
            detail=tuple(str(error).splitlines()[1:]) + ((hint,) if hint else ()),
            exception=type(error).__name__,
            whole=request.whole,
        )
    finally:
        observing.reset(token)


async def _run(request: TrialRequest, observer: Observer) -> Outcome:
    config = TrialConfig(
        task=TaskConfig(path=request.task_dir),
        trials_dir=request.trials_dir,
        trial_name=request.trial_name,
        agent=request.agent,
        environment=request.environment,
        verifier=VerifierConfig(import_path=VERIFIER),
        source_trial=(
            SourceTrialConfig(action="regrade", type="local", path=request.regrade)
            if request.regrade
            else None
        ),
    )
    trial = await (
        reverified_trial(config, request.kept, request.digest) if request.kept else Trial.create(config)
    )
    watch = _Watch(trial, observer, request.before_verifying)
    watch.attach()
    try:
        result = await trial.run()
    finally:
        with contextlib.suppress(Exception):
            await watch.close()
    if source := request.regrade or (request.kept and request.kept.trial_dir):
        # What the agent changed is what it changed in the run that is verified again.
        await asyncio.to_thread(copy_changes, source, request.trial_dir)
    notes: Sequence[str] = getattr(trial.agent_environment, "notes", ())
    return read_outcome(result, request.trial_dir, request.threshold, tuple(notes), whole=request.whole)


def _step_of(event: TrialHookEvent) -> str:
    steps: Any = event.result.step_results
    return str(steps[-1].step_name) if steps else ""
