"""The provider `smol` in an engine: one session of microVMs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

from harbor.models.trial.config import EnvironmentConfig
from smol import MachineConfig, ResourceSpec

from workbench.engine.provider import NoProviderError
from workbench.events import ProviderChosen
from workbench.images.builder import Builder
from workbench.images.errors import ImageError
from workbench.images.guest import Guest, GuestBuildah
from workbench.machines.machine import Finished, MachineError
from workbench.machines.smol.image import boot_image, bootable
from workbench.machines.smol.machine import SmolMachine
from workbench.machines.smol.session import LABEL, LIMITS, SmolSession
from workbench.task.load import LoadedTask
from workbench.trials.smol import use_session

_ENVIRONMENT = "workbench.trials.smol:WorkbenchSmolEnvironment"
_BUILDER = ResourceSpec(cpus=max(1, (os.cpu_count() or 1) // 2), memory_mb=2048, network=True)
"""Builds go on behind the runs, so that they leave these half of the host's cores."""


class _BuilderMachine:
    """A microVM to build in, whose end is told as images' errors are."""

    def __init__(self, machine: SmolMachine) -> None:
        self._machine = machine

    @property
    def alive(self) -> bool:
        return self._machine.alive

    async def exec(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: Callable[[bytes, str], Awaitable[None]] | None = None,
        keep_output: bool = True,
    ) -> Finished:
        try:
            return await self._machine.exec(
                command, timeout=timeout, on_output=on_output, keep_output=keep_output
            )
        except (MachineError, TimeoutError) as error:
            raise ImageError(f"the microVM to build in: {error}", getattr(error, "hint", "")) from None

    async def upload(self, source: Path, target: str) -> None:
        try:
            await self._machine.upload(source, target)
        except MachineError as error:
            raise ImageError(f"the microVM to build in: {error}", error.hint) from None


class SmolProvider:
    """MicroVMs on this host, all of this engine's."""

    builds = False
    unpacks = False

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

    def builder(self, image: str) -> Builder:
        return GuestBuildah(lambda: self._builder_machine(image), image)

    async def _builder_machine(self, image: str) -> Guest:
        assert self._session is not None
        try:
            found = await asyncio.to_thread(boot_image, image)
            async with bootable(found) as given:
                config = MachineConfig(
                    image=given.reference, command=list(given.command) or None, resources=_BUILDER
                )
                return _BuilderMachine(await self._session.kept("builder", found.identity, config))
        except MachineError as error:
            raise ImageError(f"the microVM to build in: {error}", error.hint) from None

    async def close(self) -> None:
        use_session(None)
        if self._session is not None:
            await self._session.close()


class SmolCloudProvider:
    """MicroVMs of smol cloud, made by the same code. Takes an account, so it is not tested."""

    builds = False
    unpacks = False

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

    def builder(self, image: str) -> None:
        """Its machines are elsewhere, and contexts are not sent to them."""

    async def close(self) -> None:
        """Harbor's trials stop their own."""
