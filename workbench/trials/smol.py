"""Harbor's own smol environment over our machines: `workbench.trials.smol:WorkbenchSmolEnvironment`.

Differs from Harbor's in five seams: the image can be given by environment directory, machines are branches of
a session's states instead of Harbor's golden machines, output comes live, a machine that died is told so, and
it can be kept as a state. In an engine its machines belong to the engine's session (`use_session`); alone, as
with `harbor run --environment-import-path`, it makes a session of its own.

With `target = "cloud"` all is as Harbor has it, but for the images. That is not tested: it takes an account.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast, override

from harbor.environments.base import ExecResult
from harbor.environments.smol import _SHELL_EXEC, SmolEnvironment, SmolOptions, _ForkBatcher
from harbor.models.task.config import EnvironmentConfig
from pydantic import Field
from smol import AsyncMachine, ExecOptions, MachineConfig, SmolError

from workbench.machines.machine import MachineError, OnOutput, State, Stream
from workbench.machines.smol.image import Bootable, boot_image, bootable
from workbench.machines.smol.machine import SmolMachine, SmolState
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.session import SmolSession
from workbench.machines.smol.vm import PACK
from workbench.trials.refuse import refuse_unbuilt
from workbench.trials.states import starts

_session: SmolSession | None = None


def use_session(session: SmolSession | None) -> None:
    """From now on environments make their machines in `session`; the caller closes it."""
    global _session
    _session = session


def current_session() -> SmolSession:
    """The session that was given, else one of this process's own, which ends when that exits."""
    if _session is None:
        use_session(session := SmolSession())
        return session
    return _session


class WorkbenchSmolOptions(SmolOptions):
    """What `[environment.kwargs]` may say, beside what Harbor's own takes."""

    images: dict[str, str] = Field(
        default_factory=dict,
        description="Images by the absolute path of the directory that defines them (environment/, tests/): "
        "a registry's name, a docker or OCI archive, a root directory or a .smolmachine. Goes before "
        "docker_image.",
    )


class WorkbenchSmolEnvironment(SmolEnvironment):
    """A task's environment as a microVM.

    Attributes:
        start_state: When set before the start, the environment starts as a branch of it, and is not given the
            files of environment/ again.
        notes: What a person should know of this environment, one line each.
    """

    options_model = WorkbenchSmolOptions

    def __init__(self, environment_dir: Path, *, task_env_config: EnvironmentConfig, **kwargs: Any) -> None:
        """As `SmolEnvironment`.

        Raises:
            ImageError: the task is built from a Dockerfile and no image was given for it.
            ValueError: the task or the options ask for something that cannot be had here.
        """
        self.start_state: State | None = None
        self.notes: list[str] = []
        self._ours: SmolMachine | None = None
        given = (kwargs.get("images") or {}).get(str(environment_dir))
        if image := _image(given or task_env_config.docker_image, environment_dir):
            task_env_config = task_env_config.model_copy(deep=True, update={"docker_image": image})
        super().__init__(environment_dir, task_env_config=task_env_config, **kwargs)
        if self._target == "local" and (self._checkpoints or not self._auto_checkpoint):
            raise ValueError("checkpoints are the workbench's own: leave out checkpoints and auto_checkpoint")

    @property
    def machine(self) -> SmolMachine:
        """The machine, between start and stop.

        Raises:
            MachineError: there is none now.
        """
        if self._ours is None:
            raise MachineError(f"the environment {self.session_id} has no machine: it was not started")
        return self._ours

    async def keep_state(self) -> SmolState:
        """A state of the machine as it is now; the environment goes on as if nothing had happened.

        Raises:
            MachineError: it cannot be kept.
        """
        try:
            return await self.machine.freeze()
        finally:
            self._machine = AsyncMachine(self.machine.vm.handle)

    @override
    def _validate_definition(self) -> None:
        refuse_unbuilt(self.environment_dir, self.task_env_config.docker_image)
        super()._validate_definition()

    @override
    def _batcher(
        self, key: tuple[Any, ...], resolve_golden: Callable[[], Awaitable[AsyncMachine]]
    ) -> _ForkBatcher:
        if self._target != "local":
            return super()._batcher(key, resolve_golden)
        return _Branching(self._make_machine)

    async def _make_machine(self) -> AsyncMachine:
        session, name = current_session(), self.session_id
        if self.start_state is not None:
            self._ours = cast(SmolMachine, await self.start_state.branch(name))
        else:
            image = await in_thread(boot_image, self.task_env_config.docker_image or "")
            self.notes = list(image.notes)
            async with bootable(image) as found:
                config = self._machine_config(found)
                if found.reference.endswith(PACK):
                    self._ours = await session.create(name, config)
                else:
                    key = await session.image_state(image.identity, config)
                    self._ours = cast(SmolMachine, await session.states.branch(key, name))
        for note in self.notes:
            self.logger.warning(note)
        return AsyncMachine(self._ours.vm.handle)

    def _machine_config(self, image: Bootable) -> MachineConfig:
        """As Harbor makes its golden machine, but for what an archive's image runs by itself."""
        return MachineConfig(
            image=image.reference,
            command=list(image.command) or None,
            resources=self._resource_spec(),
            ready_timeout_seconds=self._ready_timeout_sec,
            env=self._startup_env() or None,
            workdir=self.task_env_config.workdir,
        )

    @override
    async def start(self, force_build: bool) -> None:
        starts(self)
        try:
            await super().start(force_build)
        except BaseException:
            await self._delete_ours()
            raise

    @override
    async def _upload_environment_dir_after_start(self) -> None:
        if self.start_state is None:
            await super()._upload_environment_dir_after_start()

    @override
    async def stop(self, delete: bool) -> None:
        if self._ours is None or not delete:
            await super().stop(delete)
            return
        self._machine = None
        await self._delete_ours()

    async def _delete_ours(self) -> None:
        machine, self._ours = self._ours, None
        if machine is not None:
            await machine.delete()

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """As Harbor's, with the output handed on while the command runs.

        Raises:
            MachineDiedError: the machine ended meanwhile.
            MachineError: the command could not be started.
        """
        if self._ours is None:
            return await super().exec(command, cwd, env, timeout_sec, user)
        resolved_user = self._resolve_user(user)
        finished = await self._ours.vm.run(
            ["/bin/sh", "-c", _SHELL_EXEC, "smol-harbor", command],
            ExecOptions(
                env=self._merge_env(env),
                workdir=cwd or self.task_env_config.workdir,
                timeout=timeout_sec,
                user=None if resolved_user is None else str(resolved_user),
            ),
            self._live_output(),
        )
        return ExecResult(
            stdout=finished.stdout.decode() or None,
            stderr=finished.stderr.decode() or None,
            return_code=finished.exit_code,
        )

    def _live_output(self) -> OnOutput | None:
        callback = self._output_callback()
        if callback is None:
            return None

        async def on_output(piece: bytes, stream: Stream) -> None:
            await callback(piece.decode(), stream)

        return on_output

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        async with self._told():
            await super().upload_file(source_path, target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        async with self._told():
            await super().upload_dir(source_dir, target_dir)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        async with self._told():
            await super().download_file(source_path, target_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        async with self._told():
            await super().download_dir(source_dir, target_dir)

    @asynccontextmanager
    async def _told(self) -> AsyncIterator[None]:
        """Say of an error of smolmachines' whether the machine died."""
        try:
            yield
        except SmolError as error:
            if self._ours is None:
                raise
            raise await self._ours.vm.failure(str(error)) from None


class _Branching(_ForkBatcher):
    """Stands where Harbor would collect starts into one batch: a branch takes as long by itself."""

    def __init__(self, make: Callable[[], Awaitable[AsyncMachine]]) -> None:
        self._make = make

    @override
    async def submit(self, name: str) -> AsyncMachine:
        return await self._make()


def _image(reference: str | None, environment_dir: Path) -> str | None:
    """A path in a task is meant from the task's directory."""
    if not reference or reference.startswith(("/", "~")):
        return reference
    beside = environment_dir.parent / reference
    with contextlib.suppress(OSError):
        if reference.startswith(("./", "../")) or beside.exists():
            return str(beside)
    return reference
