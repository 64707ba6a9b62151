"""Harbor's environment on bubblewrap: `workbench.trials.bubblewrap:BubblewrapEnvironment`.

In an engine its machines belong to the engine's session (`use_session`). By itself, as with
`harbor run --environment-import-path`, it makes a session of its own, which ends with the process.
"""

from __future__ import annotations

import asyncio
import codecs
from pathlib import Path
from typing import Any, cast, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.options import EnvironmentOptions
from pydantic import Field

from workbench.images.errors import ImageError
from workbench.images.rootfs import is_local
from workbench.machines.bubblewrap.base import Base
from workbench.machines.bubblewrap.machine import BubblewrapMachine
from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.machines.machine import MachineError, OnOutput, State, Stream
from workbench.trials.file_changes import Changes
from workbench.trials.layer_changes import Look
from workbench.trials.machine_changes import changes_of, look_at
from workbench.trials.refuse import refuse_unbuilt
from workbench.trials.states import starts

_session: BubblewrapSession | None = None


def use_session(session: BubblewrapSession | None) -> None:
    """From now on environments make their machines in `session`; the caller closes it."""
    global _session
    _session = session


def current_session() -> BubblewrapSession:
    """The session that was given, else one of this process's own, ended when it exits.

    Raises:
        MachineError: machines cannot be made on this host.
    """
    if _session is None:
        use_session(session := BubblewrapSession())
        asyncio.get_running_loop().run_in_executor(None, session.sweep)
        return session
    return _session


class BubblewrapOptions(EnvironmentOptions):
    """What `[environment.kwargs]` may say."""

    images: dict[str, str] = Field(
        default_factory=dict,
        description="Images by the absolute path of the directory that defines them (environment/, tests/): "
        "an unpacked root directory or a docker/OCI archive. Goes before docker_image.",
    )


class BubblewrapEnvironment(BaseEnvironment):
    """A task's environment as Linux namespaces: quick, without a daemon, and not a VM.

    Attributes:
        start_state: When set before the start, the environment starts as a branch of it, and is not given the
            files of environment/ again.
        notes: What a person should know of this environment, one line each, such as a limit that is not
            enforced.
    """

    options_model = BubblewrapOptions
    options: BubblewrapOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As `BaseEnvironment`.

        Raises:
            ImageError: the task is built from a Dockerfile and no image was given for it.
            ValueError: the task asks for something that cannot be had here, such as a network allowlist.
        """
        self.start_state: State | None = None
        self.notes: list[str] = []
        self._machine: BubblewrapMachine | None = None
        super().__init__(*args, **kwargs)
        if self._host_mounts:
            raise ValueError("bubblewrap machines have no mounts of the host's directories")
        self._note_limits()

    @property
    def machine(self) -> BubblewrapMachine:
        """The machine, between start and stop.

        Raises:
            MachineError: there is none now.
        """
        if self._machine is None:
            raise MachineError(f"the environment {self.session_id} has no machine: it was not started")
        return self._machine

    async def keep_state(self) -> State:
        """A state of the machine as it is now; the environment goes on as if nothing had happened.

        Raises:
            MachineError: it cannot be kept.
        """
        return await self.machine.freeze()

    async def look_at_files(self) -> Look:
        """What the machine's own layers hold, to tell later what changed since."""
        return await look_at(self.machine)

    async def changed_files(self, since: object) -> Changes:
        """What changed since a look."""
        return await changes_of(self.machine, cast(Look, since))

    @staticmethod
    @override
    def type() -> str:
        return "bubblewrap"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(fractional_cpus=True)

    @property
    def _image(self) -> str:
        """The path of the image, empty for none."""
        given = self.options.images.get(str(self.environment_dir))
        image = given or self.task_env_config.docker_image or ""
        if given or image.startswith(("/", "~")):
            return image
        beside = self.environment_dir.parent / image
        if image and (image.startswith(("./", "../")) or beside.exists()):
            return str(beside)
        return image if image and is_local(image) else ""

    @override
    def _validate_definition(self) -> None:
        if self.extra_docker_compose_paths:
            path = self.extra_docker_compose_paths[0]
            raise ImageError(f"{path}: several containers cannot be had here", "use --provider harbor:docker")
        refuse_unbuilt(self.environment_dir, self._image or self.task_env_config.docker_image)

    def _note_limits(self) -> None:
        config = self.task_env_config
        for value, what in (
            (config.cpus, f"cpus = {config.cpus}"),
            (config.memory_mb, f"memory_mb = {config.memory_mb}"),
            (config.storage_mb, f"storage_mb = {config.storage_mb}"),
        ):
            if value is not None:
                self.notes.append(f"{what} is not enforced by bubblewrap")
        if not self._image:
            image = self.task_env_config.docker_image
            instead = f"not the image {image}" if image else "no image"
            self.notes.append(f"{instead}: runs on this host's own tools")

    @override
    async def start(self, force_build: bool) -> None:
        """Start the machine, and upload environment/ where Harbor does.

        Raises:
            ImageError: the image cannot be used.
            MachineError: the machine cannot be started.
        """
        if force_build:
            raise ValueError("bubblewrap builds no images: run without --force-build")
        starts(self)
        if self.start_state is not None:
            self._machine = cast(BubblewrapMachine, await self.start_state.branch(self.session_id))
            return
        session = current_session()
        base = await self._base(session)
        self.notes += base.limits
        for note in self.notes:
            self.logger.warning(note)
        self._machine = await session.create(
            self.session_id,
            base,
            hostname=self.environment_name,
            network=not self._network_disabled,
            env=self._startup_env(),
            workdir=self.task_env_config.workdir or "",
        )
        await self._upload_environment_dir_after_start()

    async def _base(self, session: BubblewrapSession) -> Base:
        return await session.image(self._image) if self._image else await session.host_tools()

    @override
    async def stop(self, delete: bool) -> None:
        """Delete the machine, in the background; with `delete` false it lives on until its session ends."""
        machine = self._machine
        if machine is None:
            return
        if delete:
            self._machine = None
            current_session().delete_soon(machine)
        else:
            self.logger.warning("the machine %s is kept until this process ends", machine.name)

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command as `BaseEnvironment.exec`.

        Raises:
            RuntimeError: it took longer than `timeout_sec`.
            MachineDiedError: the machine ended meanwhile.
        """
        try:
            done = await self.machine.exec(
                command,
                cwd=cwd,
                env=self._merge_env(env),
                user=self._resolve_user(user),
                timeout=timeout_sec or None,
                on_output=self._decoded_output(),
            )
        except TimeoutError:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from None
        return ExecResult(
            stdout=done.stdout.decode(errors="replace") or None,
            stderr=done.stderr.decode(errors="replace") or None,
            return_code=done.exit_code,
        )

    def _decoded_output(self) -> OnOutput | None:
        callback = self._output_callback()
        if callback is None:
            return None
        decoders = {
            stream: codecs.getincrementaldecoder("utf-8")(errors="replace") for stream in ("stdout", "stderr")
        }

        async def on_output(piece: bytes, stream: Stream) -> None:
            if text := decoders[stream].decode(piece):
                await callback(text, stream)

        return on_output

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self.machine.upload(Path(source_path), target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self.machine.upload(Path(source_dir), target_dir)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self.machine.download(source_path, Path(target_path))

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self.machine.download(source_dir, Path(target_dir))
