"""What the engine's parts share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from harbor.models.trial.config import EnvironmentConfig

from workbench.cases.case import Trace
from workbench.engine.emit import Emit
from workbench.engine.images import Images
from workbench.engine.provider import Provider
from workbench.engine.records import Records
from workbench.engine.runner import Runner
from workbench.machines.states import Budget, StateTree
from workbench.task.load import LoadedTask

type Confirm = Literal["idle", "always", "never"]
type OnChange = Literal["kill", "wait"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine works."""

    threshold: float = 1.0
    """The least reward that passes."""
    confirm: Confirm = "idle"
    """When whole trials replay what was only re-verified: once saves have settled, at once, or never."""
    idle_seconds: float = 3.0
    """Without a save for so long, saves have settled."""
    on_change: OnChange = "kill"
    """Whether a save ends the runs that it makes stale, or lets them end before they run again."""
    grace_seconds: float = 0.0
    """How long a stale run may still go on before it is ended."""
    trace: Trace = "negatives"
    """Whose scripts' commands are told apart."""
    builder: str = ""
    """What builds Dockerfiles, by name; empty for the first that works."""
    builder_image: str = ""
    """An image with buildah, for microVMs to build in; empty for none."""
    states: Budget = Budget()
    """How much may be kept of what agents left."""


@dataclass(frozen=True)
class Services:
    """One engine's."""

    emit: Emit
    runner: Runner
    provider: Provider
    records: Records
    states: StateTree
    images: Images
    settings: Settings
    state_dir: Path

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        """What a trial of this task runs in, on the images that serve now."""
        environment = await self.provider.environment(task)
        if archives := self.images.archives(task):
            environment.kwargs["images"] = archives
        return environment

    def image_key(self, task: LoadedTask) -> str:
        """Names the content of what the task's machines boot."""
        return self.images.key(task) or self.provider.image_key(task)
