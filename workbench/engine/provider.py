"""Who makes machines, as the engine sees it."""

from __future__ import annotations

from typing import Protocol

from harbor.models.trial.config import EnvironmentConfig

from workbench.events import ProviderChosen
from workbench.images.builder import Builder
from workbench.task.load import LoadedTask


class NoProviderError(Exception):
    """No provider can be used.

    Attributes:
        hint: What to install or change.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Provider(Protocol):
    """What the engine asks of a provider. Its machines end with the engine."""

    chosen: ProviderChosen
    builds: bool
    """Whether it builds Dockerfiles itself; else it is given archives."""
    image_prefix: tuple[str, ...]
    """What a program is run under to remove what the provider unpacked of an image."""
    unpacks: bool
    """Whether its machines stand on unpacked file systems, so that no archive is needed of what is built."""
    version: str
    """Of the programs behind it; another one makes receipts stale."""

    async def start(self) -> None:
        """Make ready, and remove what a crash left.

        Raises:
            NoProviderError: it cannot be used here.
        """
        ...

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        """What a trial of this task runs in."""
        ...

    def image_key(self, task: LoadedTask) -> str:
        """Names the content of what the task's machines boot."""
        ...

    def builder(self, image: str) -> Builder | None:
        """What builds in one of its machines, started when it first builds; None where none of them can.

        Args:
            image: One with buildah in it.
        """
        ...

    async def close(self) -> None:
        """Delete every machine."""
        ...


class HarborProvider:
    """Any environment that Harbor itself has, by its type. Whole trials only."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.builds = True
        self.unpacks = False
        self.image_prefix: tuple[str, ...] = ()
        self.version = ""
        self.chosen = ProviderChosen(
            name=f"harbor:{kind}",
            label=f"harbor:{kind}",
            why="asked for",
            limits=("whole trials only: no states, no branches",),
        )

    async def start(self) -> None:
        from harbor.models.environment_type import EnvironmentType

        known = [kind.value for kind in EnvironmentType]
        if self._kind not in known:
            raise NoProviderError(
                f"Harbor has no environment {self._kind!r}", f"it has {', '.join(sorted(known))}"
            )

    async def environment(self, task: LoadedTask) -> EnvironmentConfig:
        return EnvironmentConfig.model_validate({"type": self._kind})

    def image_key(self, task: LoadedTask) -> str:
        return task.config.environment.docker_image or ""

    def builder(self, image: str) -> None:
        """It builds by itself."""

    async def close(self) -> None:
        """Harbor's trials stop their own."""
