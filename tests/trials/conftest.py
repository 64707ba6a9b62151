"""Small tasks, and real trials of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harbor.models.trial.config import AgentConfig, EnvironmentConfig

from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.trials.bubblewrap import use_session
from workbench.trials.observer import Source
from workbench.trials.outcome import Outcome, PhaseName
from workbench.trials.run import TrialRequest, run_trial

ENVIRONMENT = EnvironmentConfig(import_path="workbench.trials.bubblewrap:BubblewrapEnvironment")


@dataclass
class Heard:
    """An observer that keeps what it hears."""

    phases: list[tuple[PhaseName, str]] = field(default_factory=list)
    pieces: list[tuple[Source, str]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def phase(self, name: PhaseName, step: str) -> None:
        self.phases.append((name, step))
        self.news.set()

    def output(self, source: Source, text: str, step: str) -> None:
        self.pieces.append((source, text))
        self.news.set()

    def note(self, text: str) -> None: ...

    def text(self, source: Source) -> str:
        """All that one source printed."""
        return "".join(text for kind, text in self.pieces if kind == source)

    async def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until what was heard makes it true."""
        async with asyncio.timeout(seconds):
            while not condition():
                self.news.clear()
                await self.news.wait()


@dataclass
class Trials:
    """Runs trials of one small task."""

    task: Path
    trials_dir: Path
    heard: Heard = field(default_factory=Heard)
    count: int = 0

    def request(self, agent: AgentConfig | str = "oracle", threshold: float = 1.0) -> TrialRequest:
        """What `run` runs."""
        self.count += 1
        return TrialRequest(
            task_dir=self.task,
            trials_dir=self.trials_dir,
            trial_name=f"trial-{self.count}",
            agent=AgentConfig(name=agent) if isinstance(agent, str) else agent,
            environment=ENVIRONMENT,
            threshold=threshold,
        )

    async def run(self, agent: AgentConfig | str = "oracle", threshold: float = 1.0) -> Outcome:
        """A trial to its end."""
        return await run_trial(self.request(agent, threshold), self.heard)

    @property
    def trial_dir(self) -> Path:
        """Of the newest trial."""
        return self.trials_dir / f"trial-{self.count}"

    def write(self, path: str, text: str) -> None:
        """A file of the task, executable."""
        file = self.task / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)


REWARD = "/logs/verifier/reward.txt"


@pytest.fixture
async def trials(tmp_path: Path) -> AsyncIterator[Trials]:
    """A task whose solution makes a file that its tests look for."""
    trials = Trials(tmp_path / "task", tmp_path / "trials")
    trials.write(
        "task.toml",
        '[task]\nname = "tests/small"\n[environment]\ndocker_image = "none"\nnetwork_mode = "no-network"\n'
        'workdir = "/app"\n[agent]\ntimeout_sec = 30\n[verifier]\ntimeout_sec = 30\n',
    )
    trials.write("instruction.md", "Make /app/done.\n")
    trials.write("solution/solve.sh", "#!/bin/bash\necho solving\ntouch /app/done\n")
    trials.write(
        "tests/test.sh",
        f"#!/bin/bash\necho looking\n[ -e /app/done ] && echo 1 > {REWARD} || echo 0 > {REWARD}\n",
    )
    session = BubblewrapSession(tmp_path / "machines", tmp_path / "cache")
    use_session(session)
    yield trials
    use_session(None)
    await session.close()
