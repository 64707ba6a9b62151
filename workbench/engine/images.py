"""The images of the engine's tasks: built in the background, the last good one serving meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harbor.environments.definition import COMPOSE_FILE_NAME

from workbench.engine.emit import Emit
from workbench.events import ImageEvent, Notice, NoticeLevel, RegistriesAsked
from workbench.images.build_events import BaseImage, BuildEvent, RegistryAnswer
from workbench.images.builder import Builder
from workbench.images.dockerfile import is_pinned, read_dockerfile
from workbench.images.errors import ImageError
from workbench.images.find import find_builder
from workbench.images.keeper import ImageKeeper
from workbench.images.login_path import login_path_problem
from workbench.images.registry import ask_registry
from workbench.images.rootfs import is_local
from workbench.images.store import BuiltImage, ImageStore
from workbench.images.unpack import unwritable
from workbench.task.load import LoadedTask
from workbench.task.problem import Problem

_DOCKERFILE = "Dockerfile"


class Images:
    """Keeps one image for every directory with a Dockerfile that a task's machines boot from."""

    def __init__(
        self,
        directory: Path,
        emit: Emit,
        builder: str = "",
        prefix: tuple[str, ...] = (),
        *,
        trees: bool = False,
        guest: Builder | None = None,
    ) -> None:
        """
        Args:
            directory: The image store's.
            builder: By name; empty for the first that works.
            prefix: See `ImageStore`, as for `trees`.
            guest: See `find_builder`.
        """
        self._trees = trees
        self._guest = guest
        self._directory = directory
        self._emit = emit
        self._name = builder
        self._prefix = prefix
        self._store: ImageStore | None = None
        self._builder: Builder | None = None
        self._keepers: dict[Path, ImageKeeper] = {}
        self._asked: dict[Path, dict[Path, float | None]] = {}
        """By task, what it was last asked to build, with timeouts."""
        self._finding = asyncio.Lock()

    def contexts(self, task: LoadedTask) -> tuple[Path, ...]:
        """The directories that the task's images are built from."""
        return tuple(self._timeouts(task))

    def _timeouts(self, task: LoadedTask) -> dict[Path, float | None]:
        """The directories that images are built from, with the seconds that each may take."""
        of_verifiers = ((step.verifier_image, step.verifier_start_timeout) for step in task.steps)
        images = ((task.image, task.start_timeout), *of_verifiers)
        found: dict[Path, float | None] = {}
        for image, timeout in images:
            file = task.path / image
            if file.name == _DOCKERFILE and file.is_file():
                found.setdefault(file.parent, timeout.seconds if timeout else None)
        return found

    async def ensure(self, task: LoadedTask) -> None:
        """Build what is missing or stale, one after another; one that fails does not keep others from it.

        Raises:
            ImageError: one could not be built, or there is no builder.
        """
        failed: ImageError | None = None
        asked = self._asked[task.path] = self._timeouts(task)
        keepers = [await self._keeper(task, context) for context in asked]
        for keeper in keepers:
            keeper.aim = ""
        for keeper in keepers:
            try:
                await keeper.ensure(asked[keeper.context])
            except ImageError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    async def overtaken(self, task: LoadedTask) -> bool:
        """Whether `ensure`, which runs, builds something else than the files ask for now.

        Raises:
            ImageError: files cannot be read.
        """
        asked = self._timeouts(task)
        if asked != self._asked.get(task.path) or not asked.keys() <= self._keepers.keys():
            return True
        return any([await self._keepers[context].overtaken() for context in asked])

    def failing(self, task: LoadedTask) -> str:
        """The Dockerfile, relative to the task, whose newest build gave no image; empty for none."""
        for context in self.contexts(task):
            keeper = self._keepers.get(context)
            if keeper is not None and keeper.failure is not None:
                return (context / _DOCKERFILE).relative_to(task.path).as_posix()
        return ""

    async def stale(self, task: LoadedTask) -> str:
        """Why an image no longer is what the files say, in one line; empty when all are.

        Raises:
            ImageError: there is no builder, or files cannot be read.
        """
        for context in self.contexts(task):
            if why := await (await self._keeper(task, context)).stale():
                return why
        return ""

    async def look(self, task: LoadedTask) -> str:
        """As `stale`, and tell it of each image; what has no image yet is left out.

        Raises:
            ImageError: files cannot be read.
        """
        keepers = [keeper for context in self.contexts(task) if (keeper := self._keepers.get(context))]
        return next(filter(None, [await keeper.look() for keeper in keepers]), "")

    def problems(self, task: LoadedTask) -> tuple[Problem, ...]:
        """What the author should know of the images that serve."""
        return tuple(self._problems(task))

    def _problems(self, task: LoadedTask) -> Iterator[Problem]:
        for context in self.contexts(task):
            if (image := self._current(context)) is None:
                continue
            path = (context / _DOCKERFILE).relative_to(task.path).as_posix()
            for warning in image.record.warnings:
                where, _, words = warning.partition(": ")
                line = int(where.rpartition(":")[2])
                yield Problem(path, "slow-build", "info", words, line=line)
            with contextlib.suppress(ImageError):
                if found := login_path_problem(
                    image.record.config, read_dockerfile(context / _DOCKERFILE), path
                ):
                    yield found

    async def tell_registries(self, task: LoadedTask, *, fetch: bool) -> bool:
        """Tell what the names of the task's images stand for now in their registries.

        Args:
            fetch: Fetch anew those that Dockerfiles name and that moved.

        Returns:
            Whether something was fetched that makes images stale.
        """
        moved: tuple[str, ...] = ()
        try:
            if fetch and (moved := await self._fetch_bases(task)):
                self._notice(task, "info", f"{', '.join(moved)}: fetched anew")
            answers = await self._ask_registries(task)
            self._emit(RegistriesAsked(task=str(task.path), answers=answers))
        except ImageError as error:
            self._notice(task, "error", f"{error}; {error.hint}" if error.hint else str(error))
        return bool(moved)

    def _notice(self, task: LoadedTask, level: NoticeLevel, message: str) -> None:
        self._emit(Notice(level=level, task=str(task.path), message=message))

    async def _ask_registries(self, task: LoadedTask) -> tuple[RegistryAnswer, ...]:
        named: dict[str, BaseImage] = {}
        for context in self.contexts(task):
            for base in await (await self._keeper(task, context)).bases():
                named[base.name] = base
        for image in (task.image, *(step.verifier_image for step in task.steps)):
            if is_in_registry(task, image):
                named[image] = BaseImage(image, pinned=is_pinned(image))
        return tuple(await asyncio.gather(*(_ask(base) for base in named.values())))

    async def _fetch_bases(self, task: LoadedTask) -> tuple[str, ...]:
        found = [await (await self._keeper(task, at)).refresh_bases() for at in self.contexts(task)]
        return tuple(dict.fromkeys(name for names in found for name in names))

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
                    name = self._name or None
                    self._builder = await find_builder(self._directory, name, guest=self._guest)
            directory = context.relative_to(task.path).as_posix()

            def emit(build: BuildEvent) -> None:
                self._emit(ImageEvent(task=str(task.path), directory=directory, build=build))

            keeper = self._keepers[context] = ImageKeeper(context, self._store, self._builder, emit=emit)
            keeper.tell()
        return self._keepers[context]

    def _open_store(self) -> ImageStore:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            store = ImageStore(self._directory, prefix=self._prefix, trees=self._trees)
        except OSError as error:
            raise unwritable(self._directory, error) from None
        with contextlib.suppress(ImageError, OSError):
            store.sweep()
        return store


def is_in_registry(task: LoadedTask, image: str) -> bool:
    """Whether machines boot an image by its name in a registry."""
    defined = PurePosixPath(image).name in (_DOCKERFILE, COMPOSE_FILE_NAME)
    return bool(image) and not defined and not is_local(image) and not (task.path / image).exists()


async def _ask(base: BaseImage) -> RegistryAnswer:
    if base.pinned:
        return RegistryAnswer(base.name, base.name.rpartition("@")[2], pinned=True)
    try:
        now = await ask_registry(base.name)
    except ImageError as error:
        return RegistryAnswer(base.name, base.digest, error=str(error))
    moved = bool(base.digest) and base.digest not in now.same
    return RegistryAnswer(base.name, base.digest, now.digest, moved=moved)
