"""buildah in a machine of its own, for hosts that have no builder but boot microVMs."""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from workbench.images.build_events import OnBuildEvent
from workbench.images.buildah_words import TAR, beside, bud_flags, built_layers
from workbench.images.builder import PULL_TIMEOUT, BuildError, BuildRequest, BuiltLayers
from workbench.images.errors import ImageError
from workbench.images.flat import Sink
from workbench.images.progress import StepReader

HOME = "/workspace/buildah"
"""On the microVM's own disk: its root is an overlay, on which no other overlay can stand."""
_FULL = 80
"""Percent of the disk from which a machine that starts gives up the layers of before."""


class Ended(Protocol):
    """A command that ended."""

    @property
    def exit_code(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


class Guest(Protocol):
    """What is asked of the machine; a `Machine` gives it."""

    @property
    def alive(self) -> bool: ...

    async def exec(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: Callable[[bytes, str], Awaitable[None]] | None = None,
        keep_output: bool = True,
    ) -> Ended: ...

    async def upload(self, source: Path, target: str) -> None: ...


class GuestBuildah:
    """Builds with buildah in a machine; see `Builder` for what the methods promise.

    The machine is started by the first build and kept, so that the next one finds its layers. So do those of
    later engines, where `start` gives a machine with the disk that an earlier one left.
    """

    name = "buildah in a microVM"
    believes_times = False

    def __init__(self, start: Callable[[], Awaitable[Guest]], image: str, home: str = HOME) -> None:
        """
        Args:
            start: Starts a machine of an image that has buildah, GNU tar and a shell, with the network.
                It may have been used before, and have ended in the middle of a build.
            image: Names the image; stands for buildah's version in keys, which must not cost a boot.
            home: The machine's directory for layers and contexts, on a disk of its own.
        """
        self.version = image
        self._start = start
        self._home = home
        storage = ("--root", f"{home}/root", "--runroot", f"{home}/run", "--storage-driver", "overlay")
        self._buildah = ("buildah", *storage)
        self._guest: asyncio.Task[Guest] | None = None

    async def build(self, request: BuildRequest, emit: OnBuildEvent) -> BuiltLayers:
        flags, warnings = bud_flags(request)
        context, iid = f"{self._home}/contexts/{request.name}", f"{self._home}/{request.name}.id"
        await self._run(f"rm -rf {context} && mkdir -p {context} {self._home}/tmp")
        await (await self._machine()).upload(request.context, context)
        reader = StepReader(request.dockerfile, emit)
        lines = _Lines(reader.line)
        words = [*self._buildah, "bud", *flags, "--iidfile", iid, "--file", f"{context}/Dockerfile", context]
        code = await self._follow(f"TMPDIR={self._home}/tmp exec {shlex.join(words)} 2>&1", lines.take)
        lines.end()
        failure = reader.end(failed=code != 0)
        if failure is not None:
            raise BuildError.of(failure)
        # Layers that were written are not lost when the machine is killed.
        image = (await self._run(f"sync && cat {iid}")).strip()
        inspected = await self._run(shlex.join([*self._buildah, "inspect", "--type", "image", image]))
        return built_layers(image, inspected, reader.steps, warnings)

    async def digest(self, image: str) -> str:
        """Not known: to look would boot the machine for every question whether something is stale."""
        return ""

    async def pull(self, image: str) -> str:
        await self._run(
            shlex.join([*self._buildah, "pull", "--quiet", "--policy", "always", image]), PULL_TIMEOUT
        )
        return ""

    async def export(self, image: str, sink: Sink) -> None:
        # As letters: what a microVM's command prints is text, in which other bytes are lost.
        archive = shlex.quote(f"{self._home}/{image}.tar")
        pack = shlex.join(["sh", "-c", beside(self._buildah, image), "sh", *TAR])
        letters = f"{pack} >{archive} && base64 {archive}; code=$?; rm -f {archive}; exit $code"
        code = await self._follow(letters, _Base64(sink).take)
        if code:
            raise ImageError(f"the image could not be exported: exit code {code}")

    def beside(self, image: str, command: Sequence[str]) -> None:
        """Its file systems lie in the machine."""

    async def prune(self) -> None:
        if self._guest is not None:
            await self._run(shlex.join([*self._buildah, "rmi", "--prune"]))

    async def sweep(self) -> None:
        """What it leaves goes with the machine."""

    async def _machine(self) -> Guest:
        if self._guest is None or (self._guest.done() and not _serves(self._guest)):
            self._guest = asyncio.create_task(self._started())
        return await asyncio.shield(self._guest)

    async def _started(self) -> Guest:
        guest = await self._start()
        containers = shlex.join([*self._buildah, "rm", "--all"])
        left = " ".join(f"{self._home}/{name}" for name in ("contexts", "tmp"))
        used = f"$(df --output=pcent {self._home} | tail -n 1 | tr -dc 0-9)"
        # Layers that leave no room for others are given up.
        room = f"if test {used} -gt {_FULL}; then rm -rf {self._home}; fi"
        await guest.exec(f"rm -rf {left}; {containers}; {room}", timeout=120)
        return guest

    async def _follow(self, command: str, take: Callable[[bytes], Awaitable[None]]) -> int:
        async def on_output(piece: bytes, stream: str) -> None:
            if stream == "stdout":
                await take(piece)

        ended = await (await self._machine()).exec(command, on_output=on_output, keep_output=False)
        return ended.exit_code

    async def _run(self, command: str, timeout: float = 120) -> str:
        ended = await (await self._machine()).exec(command, timeout=timeout)
        if ended.exit_code:
            words = ended.stderr.decode(errors="replace").strip() or f"exit code {ended.exit_code}"
            raise ImageError(words.splitlines()[-1])
        return ended.stdout.decode()


def _serves(started: asyncio.Task[Guest]) -> bool:
    return not started.cancelled() and started.exception() is None and started.result().alive


class _Base64:
    """Letters put together to what they stand for."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rest = b""

    async def take(self, piece: bytes) -> None:
        letters = self._rest + piece.translate(None, b"\r\n")
        whole = len(letters) // 4 * 4
        self._rest = letters[whole:]
        self._sink(base64.b64decode(letters[:whole]))


class _Lines:
    """Pieces of output put together to lines."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""

    async def take(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._on_line(line.decode(errors="replace") + "\n")

    def end(self) -> None:
        if self._rest:
            self._on_line(self._rest.decode(errors="replace"))
