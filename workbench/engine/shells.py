"""Shells on a task's machines: on its image, or on what a case left."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from harbor.environments.base import BaseEnvironment
from harbor.environments.factory import EnvironmentFactory
from harbor.models.task.paths import TaskPaths
from harbor.models.trial.paths import EnvironmentPaths, TrialPaths

from workbench import events as ev
from workbench.cases.case import Case
from workbench.engine.case_runs import CaseRuns, run_name
from workbench.engine.known import Kept
from workbench.engine.replay import Replay
from workbench.engine.services import Services
from workbench.images.errors import ImageError
from workbench.machines.machine import MachineError
from workbench.proof.keys import StageKeys, StepKeys
from workbench.task.load import LoadedTask
from workbench.trials.states import StatefulEnvironment

TRIED = Case("shell", "shell", None, why="what a shell's machine held when it was tried")
"""What is tried in shells shows as the runs of this case."""
_HISTORY = "/dev/shm/.workbench-history"
_LOOK_SECONDS = 1.0


@dataclass
class _Open:
    environment: BaseEnvironment
    watching: asyncio.Task[None]
    title: str


class Shells:
    """The shells of one task.

    Attributes:
        loaded: The task as last read; None while it cannot be read.
    """

    def __init__(self, path: Path, services: Services, runs: CaseRuns, trials_dir: Path) -> None:
        self.loaded: LoadedTask | None = None
        self._task = str(path)
        self._services = services
        self._emit = services.emit
        self._runs = runs
        self._trials_dir = trials_dir
        self._open: dict[str, _Open] = {}

    async def open(self, shell: str, on: str) -> None:
        """Make a machine for a shell.

        Args:
            shell: The face's name for it.
            on: A case, to stand on what its newest whole run left; empty for the image.
        """
        await self.close(shell)
        try:
            environment = await self._start(shell, on)
            command = _stateful(environment).machine.shell(env=_REMEMBERING)
        except (MachineError, ImageError, ValueError, RuntimeError, NotImplementedError) as error:
            hint = getattr(error, "hint", "")
            reason = f"{error}; {hint}" if hint else str(error)
            self._emit(ev.ShellFailed(task=self._task, shell=shell, reason=reason))
            return
        watching = asyncio.create_task(self._watch(shell, environment), name=f"shell {shell}")
        title = f"what {on} left" if on else "the image"
        self._open[shell] = _Open(environment, watching, title)
        self._emit(ev.ShellReady(task=self._task, shell=shell, title=title, command=command))

    async def close(self, shell: str) -> None:
        """Delete a shell's machine. Unknown ones are let go."""
        if opened := self._open.pop(shell, None):
            opened.watching.cancel()
            with contextlib.suppress(Exception):
                await opened.environment.stop(delete=True)

    async def close_all(self) -> None:
        """Delete the machines of all shells."""
        await asyncio.gather(*(self.close(shell) for shell in list(self._open)))

    async def bring_in(self, shell: str) -> None:
        """Copy tests and solution into a shell's machine."""
        environment, loaded = self._environment(shell), self.loaded
        if environment is None or loaded is None:
            return
        inside = EnvironmentPaths.for_os(environment.os)
        task = TaskPaths(loaded.path)
        for source, target in ((task.tests_dir, inside.tests_dir), (task.solution_dir, inside.solution_dir)):
            if source.is_dir():
                await environment.upload_dir(source, str(target))
        self._notice(
            f"tests and solution are in the machine, at {inside.tests_dir} and {inside.solution_dir}"
        )

    async def try_here(self, shell: str) -> None:
        """Run the verifier on a branch of a shell's machine as it stands now."""
        environment, loaded = self._environment(shell), self.loaded
        if environment is None or loaded is None:
            return
        state = await _stateful(environment).keep_state()
        key = f"{self._task}:shell:{shell}"
        await self._services.states.keep(key, state)
        step = loaded.steps[-1].name
        keys = StageKeys((StepKeys(step, key, key),))
        run = run_name(TRIED.name)
        tried = self._runs.tried(TRIED, keys)
        self._runs.add(
            Replay(
                run=run,
                known=tried,
                keys=keys,
                loaded=loaded,
                trials_dir=self._trials_dir,
                why="tried in a shell",
                counts=False,
                reuse=(step, Kept(key, None, key)),
            )
        )

    async def draft(self, shell: str, name: str) -> None:
        """Write what a shell typed as a script, for the author to edit.

        Args:
            name: A new negative's; empty for the solution.
        """
        environment, loaded = self._environment(shell), self.loaded
        if environment is None or loaded is None:
            return
        read = await environment.exec(f"cat {_HISTORY} 2>/dev/null")
        lines = [
            line for line in (read.stdout or "").splitlines() if line.strip() and not line.startswith("#")
        ]
        if not lines:
            self._notice(
                "nothing is known of what was typed in this shell: nothing yet, or it is no bash", "warning"
            )
            return
        if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            self._notice(f"{name!r} cannot name a negative: use letters, digits, dots and hyphens")
            return
        path = _free(loaded.path / (f"negatives/{name}/solve.sh" if name else "solution/solve.sh"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*_DRAFT_HEAD, *lines, ""]))
        path.chmod(0o755)
        shown = path.relative_to(loaded.path).as_posix()
        self._emit(ev.DraftWritten(task=self._task, shell=shell, path=shown))

    @property
    def titles(self) -> dict[str, tuple[str, str]]:
        """The name and title of each open shell, by its environment's session."""
        return {one.environment.session_id: (name, one.title) for name, one in self._open.items()}

    async def _start(self, shell: str, on: str) -> BaseEnvironment:
        loaded = self.loaded
        if loaded is None:
            raise MachineError("the task cannot be read; see its problems")
        config = await self._services.environment(loaded)
        paths = TrialPaths(self._trials_dir / f".shell-{run_name(shell)}")
        paths.agent_dir.mkdir(parents=True)
        if not self._services.provider.builds and not self._services.images.ready(loaded):
            raise MachineError("there is no image to boot", "the task's problems say why none was built")
        environment = EnvironmentFactory.create_environment_from_config(
            config,
            environment_dir=TaskPaths(loaded.path).environment_dir,
            environment_name=loaded.name.rpartition("/")[2],
            session_id=run_name(f"shell-{shell}"),
            trial_paths=paths,
            task_env_config=loaded.config.environment.model_copy(deep=True),
        )
        stateful = _stateful(environment)
        try:
            if not on:
                await environment.start(force_build=False)
            else:
                with self._services.states.using(self._kept(on).state) as state:
                    stateful.start_state = state
                    await environment.start(force_build=False)
        except BaseException:
            with contextlib.suppress(Exception):
                await environment.stop(delete=True)
            raise
        return environment

    def _kept(self, case: str) -> Kept:
        known = self._runs.known.get(case)
        kept = next(reversed(known.kept.values()), None) if known else None
        if kept is None or not kept.state:
            raise MachineError(f"nothing is kept of what {case} left", f"run {case} as a whole trial first")
        return kept

    def _environment(self, shell: str) -> BaseEnvironment | None:
        if shell not in self._open:
            self._notice("this shell has no machine any more")
            return None
        return self._open[shell].environment

    async def _watch(self, shell: str, environment: BaseEnvironment) -> None:
        """Say so when the machine ends under its shell."""
        machine = _stateful(environment).machine
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if not machine.alive:
                self._open.pop(shell, None)
                self._emit(ev.ShellLost(task=self._task, shell=shell, reason="all its processes ended"))
                with contextlib.suppress(Exception):
                    await environment.stop(delete=True)
                return

    def _notice(self, message: str, level: ev.NoticeLevel = "info") -> None:
        self._emit(ev.Notice(level=level, task=self._task, message=message))


_DRAFT_HEAD = ("#!/bin/bash", "# A draft of what was typed in a shell.", "set -e", "")
_REMEMBERING = {"HISTFILE": _HISTORY, "PROMPT_COMMAND": "history -a", "HISTTIMEFORMAT": ""}


def _stateful(environment: BaseEnvironment) -> StatefulEnvironment:
    if not isinstance(environment, StatefulEnvironment):
        raise MachineError(f"{environment.type()} machines have no states", "use smol or bubblewrap")
    return environment


def _free(path: Path) -> Path:
    """The path, or one beside it that nothing has yet."""
    candidates = [path, *(path.with_name(f"solve.draft-{number}.sh") for number in range(1, 1000))]
    return next(candidate for candidate in candidates if not candidate.exists())
