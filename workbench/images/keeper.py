"""One directory's image, kept up with its files; the last good one is kept while there is no better."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from workbench.images.archive import config_of
from workbench.images.build_events import (
    BaseImage,
    BuildCancelled,
    BuildFailed,
    BuildStarted,
    ImageReady,
    ImageStale,
    OnBuildEvent,
)
from workbench.images.builder import Builder, BuildError, BuildRequest
from workbench.images.context import context_files, stage
from workbench.images.dockerfile import Dockerfile, is_pinned, read_dockerfile
from workbench.images.errors import ImageError
from workbench.images.flat import result_key, write_flat
from workbench.images.inputs import Inputs, changes
from workbench.images.mirror import mirror_in
from workbench.images.oci import host_architecture
from workbench.images.store import BuildRecord, BuiltImage, ImageStore
from workbench.images.unpack import unwritable

_TRIES = 5
"""Builds in a row whose files changed under them before that is called an error."""
_PRUNE_EVERY = 10
"""Builds after which the builder drops the layers that no image needs any more."""


class ImageKeeper:
    """The image of one directory with a Dockerfile, such as `environment/` or `tests/`.

    `current` serves while a new one is built, and goes on serving when that fails.
    """

    def __init__(
        self,
        context: Path,
        store: ImageStore,
        builder: Builder,
        *,
        emit: OnBuildEvent = lambda event: None,
        args: Mapping[str, str] | None = None,
    ) -> None:
        self.context = context
        self.current: BuiltImage | None = store.last(context)
        """The last good image, from an earlier engine at first."""
        self.failure: ImageError | None = None
        """Why the newest build gave none; None when it did."""
        self.aim: str | None = ""
        """The key of what `ensure` builds or built last; empty before it begins, None while it reads."""
        self._told_stale = ""
        self._store = store
        self._builder = builder
        self._emit = emit
        self._args = dict(args or {})
        self._builds = 0
        self._turn = asyncio.Lock()

    async def stale(self) -> str:
        """Why `current` no longer is what the files say, in one line; empty when it is.

        Raises:
            ImageError: the files cannot be read.
        """
        inputs, _ = await self._inputs()
        return self._why(inputs)

    async def look(self) -> str:
        """As `stale`, and tell it where that is news: for files that nobody builds now.

        Raises:
            ImageError: the files cannot be read.
        """
        why = await self.stale() if self.current else ""
        if self.current and self.failure and not why and not self._turn.locked():
            self.failure = None
            self._emit(_ready(self.current, same=True))
        if why != self._told_stale and not self._turn.locked():
            self._told_stale = why
            self._emit(ImageStale(why=why))
        return why

    async def overtaken(self) -> bool:
        """Whether `ensure` works on files that have changed; what it has yet to begin is not.

        Raises:
            ImageError: the files cannot be read.
        """
        return self.aim is None or bool(self.aim and self.aim != (await self._inputs())[0].key)

    def tell(self) -> None:
        """Tell of the image that serves, where there is one."""
        if self.current is not None:
            self._emit(_ready(self.current))

    async def bases(self) -> tuple[BaseImage, ...]:
        """The images of registries that the Dockerfile names, as they stand on this machine.

        Raises:
            ImageError: the files cannot be read.
        """
        return _bases((await self._inputs())[0])

    async def refresh_bases(self) -> tuple[str, ...]:
        """Fetch the images that the Dockerfile names anew; those pinned by digest cannot move.

        Returns:
            The names that stand for something else than before, which makes the image stale.

        Raises:
            ImageError: a registry does not answer.
        """
        inputs, _ = await self._inputs()
        moved = []
        for name, digest in inputs.bases.items():
            if not is_pinned(name) and await self._builder.pull(name) != digest:
                moved.append(name)
        return tuple(moved)

    async def ensure(self, timeout: float | None = None) -> BuiltImage:
        """The image of the files as they are now, built if there is none.

        One at a time: a second caller waits for the first and then looks again. Cancelling ends the build.

        Args:
            timeout: Seconds the build may take, `build_timeout_sec` of the task.

        Raises:
            BuildError: the build failed or took too long. `current` still is the last good image.
            ImageError: the files or the store cannot be read or written.
        """
        async with self._turn:
            try:
                try:
                    image, seconds = await self._ensure(timeout)
                except OSError as error:
                    raise unwritable(self._store.directory, error) from None
            except ImageError as error:
                self.failure = error
                line, instruction = getattr(error, "line", None), getattr(error, "instruction", "")
                self._emit(
                    BuildFailed(message=str(error), hint=error.hint, line=line, instruction=instruction)
                )
                raise
            mended, self.failure = self.failure is not None, None
            before, self.current = self.current, image
            changed = before is None or before.key != image.key
            if changed:
                self._store.remember(self.context, image.key)
            if changed or mended or self._told_stale:
                self._told_stale = ""
                same = before is not None and before.result == image.result
                self._emit(_ready(image, seconds, same=same))
            return image

    async def _ensure(self, timeout: float | None) -> tuple[BuiltImage, float]:
        for _ in range(_TRIES):
            self.aim = None
            inputs, dockerfile = await self._inputs()
            self.aim = inputs.key
            async with self._store.building(inputs.key):
                if found := self._store.find(inputs.key):
                    return found, 0.0
                since = time.monotonic()
                lines = tuple(one.line for one in dockerfile.instructions if one.stage >= 0)
                self._emit(BuildStarted(builder=inputs.builder, why=self._why(inputs), lines=lines))
                try:
                    image = await self._build(inputs, dockerfile, timeout)
                except asyncio.CancelledError:
                    self._emit(BuildCancelled())
                    if self.current is not None:
                        self._told_stale = self._why(inputs)
                        self._emit(ImageStale(why=self._told_stale))
                    raise
                if image is not None:
                    return image, time.monotonic() - since
        raise ImageError(f"{self.context} changes faster than it can be built", "pause what writes there")

    async def _build(
        self, inputs: Inputs, dockerfile: Dockerfile, timeout: float | None
    ) -> BuiltImage | None:
        """Build and keep the image.

        Returns:
            None when the files changed meanwhile, so that nobody knows which are in it.
        """
        since, started_at = time.monotonic(), time.time()
        context = self.context.resolve()
        if self._builder.believes_times:
            context = await asyncio.to_thread(stage, context, self._store.staging(context))
        request = BuildRequest(context, dockerfile, self._store.staging(self.context).name, self._args)
        try:
            async with asyncio.timeout(timeout):
                built = await self._builder.build(request, self._emit)
        except TimeoutError:
            raise BuildError(
                f"the build took longer than {timeout:g} s",
                "raise [environment].build_timeout_sec in task.toml",
            ) from None
        after, _ = await self._inputs()
        if after.files != inputs.files:
            return None
        record = BuildRecord(
            # Images that had to be fetched have their digest only now.
            key=after.key,
            result=result_key(built.diff_ids, built.config),
            context=str(self.context),
            inputs=after,
            built_at=started_at,
            seconds=time.monotonic() - since,
            steps=built.steps,
            config=config_of(built.config, inputs.platform),
            warnings=built.warnings,
        )

        async def archive(path: Path) -> None:
            pour = partial(self._builder.export, built.id)
            await write_flat(pour, path, built.config, built.architecture)

        async def tree(path: Path, like: Path | None) -> None:
            await mirror_in(lambda command: self._builder.beside(built.id, command) or (), path, like)

        shows = self._builder.beside(built.id, ()) is not None
        image = await self._store.add(record, archive, tree if shows else None)
        self._builds += 1
        if await asyncio.to_thread(self._store.prune) or self._builds % _PRUNE_EVERY == 0:
            await self._builder.prune()
        return image

    async def _inputs(self) -> tuple[Inputs, Dockerfile]:
        files = await asyncio.to_thread(context_files, self.context)
        dockerfile = read_dockerfile(self.context / "Dockerfile")
        bases = {name: await self._builder.digest(name) for name in dockerfile.images(self._args)}
        builder = f"{self._builder.name} {self._builder.version}"
        return Inputs(builder, f"linux/{host_architecture()}", files, bases, self._args), dockerfile

    def _why(self, inputs: Inputs) -> str:
        if self.current is None:
            return "there is no image yet"
        return changes(self.current.record.inputs, inputs, self.context.name)


def _ready(image: BuiltImage, seconds: float = 0.0, *, same: bool = False) -> ImageReady:
    record = image.record
    return ImageReady(
        key=image.key,
        result=image.result,
        archive=str(image.place),
        seconds=seconds,
        same=same,
        built_at=record.built_at,
        took=record.seconds,
        builder=record.inputs.builder,
        steps=record.steps,
        bases=_bases(record.inputs),
        warnings=record.warnings,
    )


def _bases(inputs: Inputs) -> tuple[BaseImage, ...]:
    return tuple(BaseImage(name, digest, is_pinned(name)) for name, digest in inputs.bases.items())
