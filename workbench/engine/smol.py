"""The provider `smol` in an engine: one session of microVMs."""

from __future__ import annotations

import asyncio
import os
from importlib.metadata import version

from harbor.models.trial.config import EnvironmentConfig

from workbench.engine.provider import NoProviderError
from workbench.events import ProviderChosen
from workbench.images.errors import ImageError
from workbench.machines.smol.image import boot_image
from workbench.machines.smol.session import LABEL, LIMITS, SmolSession
from workbench.task.load import LoadedTask
from workbench.trials.smol import use_session

_ENVIRONMENT = "workbench.trials.smol:WorkbenchSmolEnvironment"


class SmolProvider:
    """MicroVMs on this host, all of this engine's."""

    builds = False

    def __init__(self, *, why: str) -> None:
        self.chosen = ProviderChosen(name="smol", label=LABEL, why=why, limits=LIMITS)
        self.version = version("smolmachines")
        self.image_prefix: tuple[str, ...] = ()
        self._session: SmolSession | None = None

    async def start(self) -> None:
        session = self._session = SmolSession()
        use_session(session)
        await asyncio.to_thread(session.sweep)

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        return EnvironmentConfig(import_path=_ENVIRONMENT)

    def image_key(self, task: LoadedTask) -> str:
        image = task.config.environment.docker_image or ""
        beside = task.path / image
        try:
            return boot_image(str(beside) if image and beside.exists() else image).identity
        except ImageError:
            return image

    async def close(self) -> None:
        use_session(None)
        if self._session is not None:
            await self._session.close()


class SmolCloudProvider:
    """MicroVMs of smol cloud, made by the same code. Takes an account, so it is not tested."""

    builds = False

    def __init__(self) -> None:
        self.chosen = ProviderChosen(
            name="smol:cloud",
            label="smol:cloud: microVMs elsewhere",
            why="asked for",
            limits=("whole trials only: no states, no branches", "not tested by the workbench's own tests"),
        )
        self.version = version("smolmachines")
        self.image_prefix: tuple[str, ...] = ()

    async def start(self) -> None:
        if not os.environ.get("SMOL_CLOUD_TOKEN"):
            raise NoProviderError("smol:cloud needs an account", "set SMOL_CLOUD_TOKEN")

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        return EnvironmentConfig(import_path=_ENVIRONMENT, kwargs={"target": "cloud"})

    def image_key(self, task: LoadedTask) -> str:
        return task.config.environment.docker_image or ""

    async def close(self) -> None:
        """Harbor's trials stop their own."""
