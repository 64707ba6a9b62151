"""One run of a case: a whole trial, or a verification of what an earlier one's agent left."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from dataclasses import replace as with_changes
from pathlib import Path

from harbor.environments.base import BaseEnvironment

from workbench import events as ev
from workbench.cases.agents import agent_of
from workbench.cases.judge import judge
from workbench.engine.emit import Emit
from workbench.engine.known import Kept, KnownCase
from workbench.engine.services import Services
from workbench.machines.machine import MachineError
from workbench.proof.keys import StageKeys
from workbench.task.load import LoadedTask
from workbench.trials.observer import Source
from workbench.trials.outcome import Outcome, PhaseName
from workbench.trials.run import TrialRequest, run_trial
from workbench.trials.states import KeptState, StatefulEnvironment


@dataclass(frozen=True)
class Replay:
    """What to run."""

    run: str
    """The run's identifier and the trial directory's name."""
    known: KnownCase
    keys: StageKeys
    """Of the files when it was queued."""
    loaded: LoadedTask
    trials_dir: Path
    why: str
    digest: str = ""
    """Of all the task's files when it was queued."""
    counts: bool = True
    """Whether its outcome is the case's; what is tried in a shell is not."""
    reuse: tuple[str, Kept] | None = None
    """The step to verify again and what its agent left; None for a whole trial."""
    trace: bool = False
    """Whether to tell the commands of its script apart."""
    times: int = 1
    """How many like it were asked for together."""
    again: bool = False
    """A whole trial in place of a verification that could not be held."""

    @property
    def trial_dir(self) -> Path:
        """The trial directory."""
        return self.trials_dir / (f"{self.run}-whole" if self.again else self.run)


class NotReusableError(Exception):
    """What an agent left can no longer be verified on its own; the message says why."""


async def replay(what: Replay, services: Services) -> Outcome:
    """Run it, and judge what it came to.

    Raises:
        NotReusableError: it takes a whole trial.
    """
    request = TrialRequest(
        task_dir=what.loaded.path,
        trials_dir=what.trials_dir,
        trial_name=what.trial_dir.name,
        agent=agent_of(what.known.case, what.loaded, trace=what.trace),
        environment=await services.environment(what.loaded),
        threshold=services.settings.threshold,
        digest=what.digest,
    )
    told = _Telling(services.emit, what.run)
    if what.reuse is None:
        keeper = _Keeper(what, services)
        outcome = await run_trial(with_changes(request, before_verifying=keeper.keep), told)
        if outcome.kind == "cancelled":
            # A save may have come before the cancellation: what was kept is then of no certain key.
            keeper.forget()
    else:
        outcome = await _verify_again(request, *what.reuse, services, told)
    return await asyncio.to_thread(judge, what.known.case, outcome, what.trial_dir)


async def _verify_again(
    request: TrialRequest, step: str, kept: Kept, services: Services, told: _Telling
) -> Outcome:
    if not kept.state:
        outcome = await run_trial(with_changes(request, regrade=kept.trial_dir), told)
        if outcome.exception == "RegradeError":
            raise NotReusableError(outcome.reason)
        return outcome
    if services.states.get(kept.state) is None:
        raise NotReusableError("its state was given up for others")
    with services.states.using(kept.state) as state:
        return await run_trial(with_changes(request, kept=KeptState(state, kept.trial_dir, step)), told)


@dataclass
class _Keeper:
    """Keeps what a whole run's agent leaves, step by step."""

    what: Replay
    services: Services

    async def keep(self, environment: BaseEnvironment, step: str) -> None:
        agent_key = next(keys.agent for keys in self.what.keys.steps if keys.step == step)
        if self._separate(step):
            # Its artifacts are in the trial directory, which is all that a separate verifier sees.
            self.what.known.kept[step] = Kept(agent_key, self.what.trial_dir)
            return
        if not isinstance(environment, StatefulEnvironment):
            return
        with contextlib.suppress(MachineError):
            state = await environment.keep_state()
            if getattr(state, "had_processes", False) and not state.keeps_processes:
                # What a verifier may ask of a running server, a branch could not answer.
                await state.delete()
                self.what.known.kept.pop(step, None)
                return
            key = f"{self.what.loaded.path}:{self.what.known.case.name}:{step}"
            await self.services.states.keep(key, state)
            self.what.known.kept[step] = Kept(agent_key, self.what.trial_dir, key)

    def forget(self) -> None:
        for step, kept in list(self.what.known.kept.items()):
            if kept.trial_dir == self.what.trial_dir:
                del self.what.known.kept[step]
                self.services.states.forget(kept.state)

    def _separate(self, step: str) -> bool:
        return any(s.name == step and s.verifier == "separate" for s in self.what.loaded.steps)


@dataclass
class _Telling:
    """Turns what a trial says into events."""

    emit: Emit
    run: str

    def phase(self, name: PhaseName, step: str) -> None:
        self.emit(ev.PhaseStarted(run=self.run, phase=name, step=step))

    def output(self, source: Source, text: str, step: str) -> None:
        self.emit(ev.Output(run=self.run, source=source, text=text, step=step))

    def note(self, text: str) -> None:
        self.emit(ev.Notice(level="info", message=text))
