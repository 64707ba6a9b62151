"""Container engines that build: `docker buildx`, `podman build` and Apple's `container build`."""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.images.build_events import OnBuildEvent
from workbench.images.builder import PULL_TIMEOUT, BuildError, BuildRequest, BuiltLayers
from workbench.images.errors import ImageError
from workbench.images.flat import Sink, pour_from
from workbench.images.flatten import flat_tar_of
from workbench.images.process import ask, follow, leash
from workbench.images.progress import BuildKitReader, StepReader


class Docker:
    """Builds with `docker buildx`; see `Builder` for what the methods promise."""

    name = "docker buildx"
    believes_times = True
    _program = "docker"
    _build: tuple[str, ...] = ("docker", "buildx", "build", "--progress", "plain", "--load")
    _reader: type[BuildKitReader | StepReader] = BuildKitReader

    def __init__(self, version: str, options: Sequence[str] = ()) -> None:
        """
        Args:
            version: As the program says.
            options: More arguments for every build, such as `--network host`.
        """
        self.version = version
        self._options = tuple(options)

    async def build(self, request: BuildRequest, emit: OnBuildEvent) -> BuiltLayers:
        reader = self._reader(request.dockerfile, emit)
        argv = [*leash(), *self._build, *self._options, "--tag", request.tag]
        argv += [f"--build-arg={name}={value}" for name, value in request.args.items()]
        argv += [] if request.use_layers else ["--no-cache"]
        code = await follow([*argv, str(request.context)], reader.line)
        failure = reader.end(failed=code != 0)
        if failure is not None:
            raise BuildError.of(failure)
        found = await self._inspect(request.tag)
        return BuiltLayers(
            id=found["Id"],
            diff_ids=tuple(found["RootFS"]["Layers"]),
            config=found.get("Config") or {},
            architecture=found["Architecture"],
            steps=tuple(reader.steps),
        )

    async def digest(self, image: str) -> str:
        try:
            return str((await self._inspect(image))["Id"])
        except ImageError:
            return ""

    async def pull(self, image: str) -> str:
        await ask([self._program, "pull", "--quiet", image], timeout=PULL_TIMEOUT)
        return await self.digest(image)

    async def export(self, image: str, sink: Sink) -> None:
        # The command is never run; an image without one could not be created otherwise.
        container = (await ask([self._program, "create", image, "/bin/true"])).split()[-1]
        try:
            await pour_from((*leash(), self._program, "export", container), sink)
        finally:
            with suppress(ImageError):
                await ask([self._program, "rm", "--force", container])

    def beside(self, image: str, command: Sequence[str]) -> None:
        """Its file systems lie where only its daemon reaches."""

    async def prune(self) -> None:
        """What it keeps is shared with other work on this machine, and its own business."""

    async def sweep(self) -> None:
        """It cleans up after itself."""

    async def _inspect(self, image: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = json.loads(await ask([self._program, "image", "inspect", image]))
        return found[0]


class Podman(Docker):
    """Builds with `podman build`, which is buildah's library and prints as it does."""

    name = "podman"
    believes_times = False
    _program = "podman"
    # The OCI format drops SHELL and HEALTHCHECK.
    _build = ("podman", "build", "--layers", "--force-rm", "--format", "docker", "--pull=missing")
    _reader = StepReader


class Apple:
    """Builds with Apple's `container`, which is BuildKit in a virtual machine of its own."""

    name = "container"
    believes_times = True

    def __init__(self, version: str) -> None:
        self.version = version

    async def build(self, request: BuildRequest, emit: OnBuildEvent) -> BuiltLayers:
        reader = BuildKitReader(request.dockerfile, emit)
        argv = ["container", "build", "--progress", "plain", "--tag", request.tag]
        argv += [f"--build-arg={name}={value}" for name, value in request.args.items()]
        argv += [] if request.use_layers else ["--no-cache"]
        code = await follow([*argv, str(request.context)], reader.line)
        failure = reader.end(failed=code != 0)
        if failure is not None:
            raise BuildError.of(failure)
        found = json.loads(await ask(["container", "image", "inspect", request.tag]))[0]
        said = found["variants"][0]["config"]
        return BuiltLayers(
            id=request.tag,
            diff_ids=tuple(said["rootfs"]["diff_ids"]),
            config=said.get("config") or {},
            architecture=said["architecture"],
            steps=tuple(reader.steps),
        )

    async def digest(self, image: str) -> str:
        with suppress(ImageError, KeyError, IndexError):
            found = json.loads(await ask(["container", "image", "inspect", image]))[0]
            return str(found["index"]["digest"])
        return ""

    async def pull(self, image: str) -> str:
        await ask(["container", "image", "pull", image], timeout=PULL_TIMEOUT)
        return await self.digest(image)

    async def export(self, image: str, sink: Sink) -> None:
        with tempfile.TemporaryDirectory(prefix="workbench-") as directory:
            archive = Path(directory, "image.tar")
            await ask(["container", "image", "save", "--output", str(archive), image], timeout=PULL_TIMEOUT)
            await pour_from(flat_tar_of(archive), sink)

    def beside(self, image: str, command: Sequence[str]) -> None:
        """Its file systems lie where only its daemon reaches."""

    async def prune(self) -> None:
        """What it keeps is shared with other work on this machine, and its own business."""

    async def sweep(self) -> None:
        """It cleans up after itself."""


async def find_docker(options: Sequence[str] = ()) -> Docker:
    """Docker, where its daemon answers and it has BuildKit.

    Raises:
        ImageError: why it cannot be used, and what to do.
    """
    if not shutil.which("docker"):
        raise ImageError("docker is not installed", "https://docs.docker.com/engine/install/")
    try:
        await ask(["docker", "version", "--format", "{{.Server.Version}}"], timeout=10)
    except ImageError as error:
        raise ImageError(
            f"docker's daemon does not answer: {error}", "start it: systemctl start docker"
        ) from None
    try:
        version = (await ask(["docker", "buildx", "version"], timeout=10)).split()[1].removeprefix("v")
    except (ImageError, IndexError):
        raise ImageError(
            "docker has no buildx", "install the package docker-buildx-plugin or docker-buildx"
        ) from None
    return Docker(version, options)


async def find_podman(options: Sequence[str] = ()) -> Podman:
    """Podman, where it works as this user.

    Raises:
        ImageError: why it cannot be used, and what to do.
    """
    if not shutil.which("podman"):
        raise ImageError("podman is not installed", "https://podman.io/docs/installation")
    try:
        await ask(["podman", "info"], timeout=20)
        version = (await ask(["podman", "--version"])).split()[2]
    except ImageError as error:
        hint = "on macOS: podman machine start" if platform.system() == "Darwin" else ""
        raise ImageError(f"podman does not work here: {error}", hint) from None
    return Podman(version, options)


async def find_apple() -> Apple:
    """Apple's `container`, where its services run.

    Raises:
        ImageError: why it cannot be used, and what to do.
    """
    if platform.system() != "Darwin" or not shutil.which("container"):
        raise ImageError(
            "Apple's container is not installed", "on macOS 26: https://github.com/apple/container"
        )
    try:
        await ask(["container", "system", "status"], timeout=20)
        version = (await ask(["container", "--version"])).split()[3].rstrip(",")
    except (ImageError, IndexError) as error:
        raise ImageError(f"Apple's container does not work here: {error}", "container system start") from None
    return Apple(version)
