"""What every builder gives, and which one is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from workbench.images.build_events import OnBuildEvent, StepRecord
from workbench.images.dockerfile import Dockerfile
from workbench.images.errors import ROOM_HINT, ImageError
from workbench.images.flat import Sink
from workbench.images.progress import Failure

PULL_TIMEOUT = 1800.0
"""Seconds an image may take to be fetched."""


class BuildError(ImageError):
    """A build failed.

    Attributes:
        line: Where the failing instruction stands in the Dockerfile, None where that is not known.
        instruction: The failing instruction, empty where none is to blame.
        output: The last lines that it printed.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        line: int | None = None,
        instruction: str = "",
        output: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.line = line
        self.instruction = instruction
        self.output = output

    @classmethod
    def of(cls, failure: Failure) -> BuildError:
        """The error for what a builder's output said."""
        hint = ROOM_HINT if "no space left" in failure.message.lower() else ""
        return cls(
            failure.message, hint, line=failure.line, instruction=failure.instruction, output=failure.output
        )


class BuildRequest(msgspec.Struct, frozen=True):
    """What to build."""

    context: Path
    """The directory; its `Dockerfile` is built."""
    dockerfile: Dockerfile
    name: str
    """Names what is built for one directory after another: `localhost/workbench-NAME`."""
    args: dict[str, str] = {}
    use_layers: bool = True
    """False builds every layer anew."""

    @property
    def tag(self) -> str:
        return f"localhost/workbench-{self.name}:latest"


class BuiltLayers(msgspec.Struct, frozen=True):
    """An image in a builder's own store."""

    id: str
    diff_ids: tuple[str, ...]
    config: dict[str, object]
    """As in the image's JSON: `Env`, `Cmd`, ..."""
    architecture: str
    steps: tuple[StepRecord, ...] = ()
    warnings: tuple[str, ...] = ()


class Builder(Protocol):
    """A program that builds Dockerfiles."""

    name: str
    version: str
    believes_times: bool
    """It takes a file of the same size and time for the same, so it must be given a staged context."""

    async def build(self, request: BuildRequest, emit: OnBuildEvent) -> BuiltLayers:
        """Build an image. Cancelling ends the build and everything it started.

        Raises:
            BuildError: the build failed.
        """
        ...

    async def digest(self, image: str) -> str:
        """What an image's name stands for now on this machine; empty when it is not here."""
        ...

    async def pull(self, image: str) -> str:
        """Fetch what an image's name stands for now in its registry; returns the digest, as `digest` does.

        Raises:
            ImageError: the registry does not answer, or has no such image.
        """
        ...

    async def export(self, image: str, sink: Sink) -> None:
        """Give the image's file system as one tar, whiteouts applied, piece by piece.

        Raises:
            ImageError: it failed.
        """
        ...

    def beside(self, image: str, command: Sequence[str]) -> Sequence[str] | None:
        """A command that runs `command` in the root of the image's file system, mounted for as long.

        Returns:
            None where the builder cannot show it; with the owners of the image where it can.
        """
        ...

    async def prune(self) -> None:
        """Free what no image needs any more. Never disturbs a running build."""
        ...

    async def sweep(self) -> None:
        """Remove what builds that were killed left behind."""
        ...
