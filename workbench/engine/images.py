"""The images of the engine's tasks: built in the background, the last good one serving meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path, PurePosixPath

from workbench.engine.emit import Emit
from workbench.events import ImageEvent
from workbench.images.build_events import BuildEvent, ImageReady
from workbench.images.builder import Builder
from workbench.images.errors import ImageError
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.store import BuiltImage, ImageStore
from workbench.task.load import LoadedTask

_DOCKERFILE = "Dockerfile"


class Images:
    """Keeps one image for every directory with a Dockerfile that a task's machines boot from."""

    def __init__(self, directory: Path, emit: Emit, builder: str = "", prefix: tuple[str, ...] = ()) -> None:
        """
        Args:
            directory: The image store's.
            builder: By name; empty for the first that works.
            prefix: See `ImageStore`.
        """
        self._directory = directory
        self._emit = emit
        self._name = builder
        self._prefix = prefix
        self._store: ImageStore | None = None
        self._builder: Builder | None = None
        self._keepers: dict[Path, ImageKeeper] = {}
        self._finding = asyncio.Lock()

    def contexts(self, task: LoadedTask) -> tuple[Path, ...]:
        """The directories that the task's images are built from."""
        images = [task.image, *(step.verifier_image for step in task.steps)]
        found = [task.path / image for image in images if PurePosixPath(image).name == _DOCKERFILE]
        return tuple(dict.fromkeys(file.parent for file in found if file.is_file()))

    async def ensure(self, task: LoadedTask) -> None:
        """Build what is missing or stale, one after another.

        Raises:
            ImageError: one could not be built, or there is no builder.
        """
        for context in self.contexts(task):
            await (await self._keeper(task, context)).ensure(task.start_timeout.seconds)

    async def stale(self, task: LoadedTask) -> str:
        """Why an image no longer is what the files say, in one line; empty when all are.

        Raises:
            ImageError: there is no builder, or files cannot be read.
        """
        for context in self.contexts(task):
            if why := await (await self._keeper(task, context)).stale():
                return why
        return ""

    def ready(self, task: LoadedTask) -> bool:
        """Whether every image has been built, if only from files of before."""
        return all(self._current(context) for context in self.contexts(task))

    def archives(self, task: LoadedTask) -> dict[str, str]:
        """The archive that serves now, by the directory that it was built from."""
        found = {str(context): self._current(context) for context in self.contexts(task)}
        return {context: str(image.archive) for context, image in found.items() if image}

    def key(self, task: LoadedTask) -> str:
        """Names the content of the agent's image, where that is built here; else empty."""
        return self._result(task, task.image)

    def verifier_keys(self, task: LoadedTask) -> dict[str, str]:
        """Names the content of each step's verifier image, where that is built here."""
        keys = {step.name: self._result(task, step.verifier_image) for step in task.steps}
        return {step: key for step, key in keys.items() if key}

    def _result(self, task: LoadedTask, image: str) -> str:
        if PurePosixPath(image).name != _DOCKERFILE:
            return ""
        current = self._current((task.path / image).parent)
        return current.result if current else ""

    def _current(self, context: Path) -> BuiltImage | None:
        keeper = self._keepers.get(context)
        return keeper.current if keeper else None

    async def _keeper(self, task: LoadedTask, context: Path) -> ImageKeeper:
        if context not in self._keepers:
            async with self._finding:
                if self._store is None:
                    self._store = await asyncio.to_thread(self._open_store)
                if self._builder is None:
                    self._builder = await find_builder(self._directory, self._name or None)
            directory = context.relative_to(task.path).as_posix()

            def emit(build: BuildEvent) -> None:
                self._emit(ImageEvent(task=str(task.path), directory=directory, build=build))

            keeper = self._keepers[context] = ImageKeeper(context, self._store, self._builder, emit=emit)
            if image := keeper.current:
                emit(
                    ImageReady(
                        key=image.key,
                        result=image.result,
                        archive=str(image.archive),
                        seconds=0.0,
                        built_at=image.record.built_at,
                    )
                )
        return self._keepers[context]

    def _open_store(self) -> ImageStore:
        self._directory.mkdir(parents=True, exist_ok=True)
        store = ImageStore(self._directory, prefix=self._prefix)
        with contextlib.suppress(ImageError, OSError):
            store.sweep()
        return store
