"""Harbor's smol environment over our machines, without a microVM."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from harbor.environments import smol as harbor_smol
from harbor.environments.smol import SmolEnvironment, _ForkBatcher
from harbor.models.task.config import EnvironmentConfig, NetworkMode
from harbor.models.trial.paths import TrialPaths
from smol import AsyncMachine, ExecOptions, MachineConfig
from smol.types import ExecResult

from tests.images.archives import docker_archive, file, layer
from tests.machines.smol.conftest import host, session
from tests.machines.smol.fake import FakeMachine, FakeSmolvm
from workbench.images.errors import ImageError
from workbench.machines.machine import MachineDiedError, MachineError
from workbench.machines.smol.session import SmolSession
from workbench.trials.smol import WorkbenchSmolEnvironment, use_session
from workbench.trials.states import StatefulEnvironment

__all__ = ["host", "session"]

CONFIG = EnvironmentConfig(
    docker_image="python:3.12-slim",
    cpus=2,
    memory_mb=512,
    storage_mb=1500,
    env={"COLOUR": "blue"},
    workdir="/app",
    network_mode=NetworkMode.NO_NETWORK,
)


@pytest_asyncio.fixture(autouse=True)
async def in_session(session: SmolSession) -> AsyncIterator[None]:
    use_session(session)
    yield
    use_session(None)


def make[T: SmolEnvironment](
    kind: type[T], tmp_path: Path, config: EnvironmentConfig = CONFIG, **options: Any
) -> T:
    directory = tmp_path / "task" / "environment"
    directory.mkdir(parents=True, exist_ok=True)
    paths = TrialPaths(tmp_path / "trial")
    paths.mkdir()  # type: ignore[no-untyped-call]
    return kind(
        environment_dir=directory,
        environment_name="slugify",
        session_id="oracle__1__env",
        trial_paths=paths,
        task_env_config=config.model_copy(deep=True),
        **options,
    )


async def test_the_machine_is_made_as_harbor_makes_its_golden_one(
    tmp_path: Path, host: FakeSmolvm, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[MachineConfig] = []

    async def create(config: MachineConfig, conn: object) -> object:
        made.append(config)
        return object()

    monkeypatch.setattr(AsyncMachine, "create", create)
    monkeypatch.setattr(harbor_smol, "_OWNED_GOLDENS", [])
    monkeypatch.setattr(harbor_smol, "_GOLDEN_CONNECTIONS", {})
    await make(SmolEnvironment, tmp_path)._create_golden()
    environment = make(WorkbenchSmolEnvironment, tmp_path)
    await environment.start(False)

    ours, theirs = (dataclasses.asdict(config) for config in (host.configs[0], made[0]))
    for own in ("name", "labels", "branchable", "checkpoint"):
        del ours[own], theirs[own]
    assert ours == theirs
    await environment.stop(True)


async def test_a_command_is_run_as_harbor_runs_it(tmp_path: Path, host: FakeSmolvm) -> None:
    seen: list[tuple[list[str], ExecOptions]] = []

    class Recorder:
        async def exec(self, argv: list[str], options: ExecOptions) -> ExecResult:
            seen.append((argv, options))
            return ExecResult(exit_code=3, stdout="out", stderr="")

    def record(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Iterator[dict[str, object]]:
        seen.append((argv, options))
        yield {"kind": "stdout", "data": "out"}
        yield {"kind": "exit", "exit_code": 3}

    call: dict[str, Any] = {"cwd": "/srv", "env": {"A": "1"}, "timeout_sec": 9, "user": 1000}
    theirs = make(SmolEnvironment, tmp_path)
    theirs._machine = Recorder()  # type: ignore[assignment]
    expected = await theirs.exec("run me", **call)
    ours = make(WorkbenchSmolEnvironment, tmp_path)
    await ours.start(False)
    host.script = record
    assert await ours.exec("run me", **call) == expected
    assert await ours.exec("run me") == await theirs.exec("run me")
    assert seen[1] == seen[0]
    assert seen[2] == seen[3]
    host.script = None
    await ours.stop(True)


async def test_output_comes_while_the_command_runs(tmp_path: Path, host: FakeSmolvm) -> None:
    may_end = threading.Event()

    def talk(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Iterator[dict[str, object]]:
        yield {"kind": "stdout", "data": "first\n"}
        may_end.wait(10)
        yield {"kind": "stderr", "data": "last\n"}
        yield {"kind": "exit", "exit_code": 0}

    environment = make(WorkbenchSmolEnvironment, tmp_path)
    await environment.start(False)
    host.script = talk
    seen: list[tuple[str, str]] = []
    first = asyncio.Event()

    async def callback(text: str, stream: str) -> None:
        seen.append((text, stream))
        first.set()

    with environment.scoped_output_callback(callback):
        running = asyncio.create_task(environment.exec("talk"))
        await first.wait()
        assert seen == [("first\n", "stdout")]
        may_end.set()
        result = await running
    assert seen == [("first\n", "stdout"), ("last\n", "stderr")]
    assert (result.stdout, result.stderr) == ("first\n", "last\n")
    host.script = None
    await environment.stop(True)


async def test_two_environments_of_one_image_branch_one_state(tmp_path: Path, host: FakeSmolvm) -> None:
    first, second = (make(WorkbenchSmolEnvironment, tmp_path) for _ in range(2))
    await asyncio.gather(first.start(False), second.start(False))
    assert len(host.configs) == 1
    assert first.machine.vm.parent is second.machine.vm.parent is not None
    await first.stop(True)
    await second.stop(True)
    assert len(host.records) == 1


async def test_the_image_is_the_one_given_for_the_environments_directory(tmp_path: Path) -> None:
    directory = tmp_path / "task" / "environment"
    given = make(WorkbenchSmolEnvironment, tmp_path, images={str(directory): "registry/built:1"})
    assert given.task_env_config.docker_image == "registry/built:1"
    other = make(WorkbenchSmolEnvironment, tmp_path, images={str(tmp_path / "task" / "tests"): "tests:1"})
    assert other.task_env_config.docker_image == "python:3.12-slim"
    (tmp_path / "task" / "image.tar").touch()
    beside = CONFIG.model_copy(update={"docker_image": "image.tar"})
    found = make(WorkbenchSmolEnvironment, tmp_path, beside).task_env_config.docker_image
    assert found == str(tmp_path / "task" / "image.tar")


async def test_of_an_archives_image_only_the_entrypoint_runs(tmp_path: Path, host: FakeSmolvm) -> None:
    archive = docker_archive(tmp_path / "a.tar", layer(file("a")), Entrypoint=["/entry"], Cmd=["serve"])
    config = CONFIG.model_copy(update={"docker_image": str(archive)})
    environment = make(WorkbenchSmolEnvironment, tmp_path, config)
    await environment.start(False)
    assert host.configs[0].command == ["/entry", "sh", "-c", "sleep infinity"]
    await environment.stop(True)


async def test_a_dockerfile_that_no_one_built_is_told(tmp_path: Path) -> None:
    directory = tmp_path / "task" / "environment"
    directory.mkdir(parents=True)
    (directory / "Dockerfile").write_text("FROM scratch\n")
    without = CONFIG.model_copy(update={"docker_image": None})
    with pytest.raises(ImageError, match="Dockerfile was not built"):
        make(WorkbenchSmolEnvironment, tmp_path, without)
    assert make(WorkbenchSmolEnvironment, tmp_path, without, images={str(directory): "built:1"})


async def test_harbors_own_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leave out checkpoints and auto_checkpoint"):
        make(WorkbenchSmolEnvironment, tmp_path, auto_checkpoint=False)


async def test_for_the_cloud_all_is_as_harbor_has_it(tmp_path: Path, host: FakeSmolvm) -> None:
    environment = make(WorkbenchSmolEnvironment, tmp_path, target="cloud", api_key="smk_x")
    assert environment._connect.target == "cloud"
    assert type(environment._batcher(("auto",), environment._auto_golden)) is _ForkBatcher
    assert host.calls == []


async def test_an_environment_goes_on_after_its_state_was_kept(tmp_path: Path, host: FakeSmolvm) -> None:
    environment = make(WorkbenchSmolEnvironment, tmp_path)
    assert isinstance(environment, StatefulEnvironment)
    with pytest.raises(MachineError, match="oracle__1__env has no machine"):
        environment.machine  # noqa: B018
    await environment.start(False)
    before = environment.machine.vm
    state = await environment.keep_state()
    assert state.vm is before
    assert isinstance(environment._machine, AsyncMachine)
    assert environment._machine.name == environment.machine.vm.name != before.name
    assert (await environment.exec("true")).return_code == 0
    await environment.stop(True)
    assert before.name in host.records

    (tmp_path / "task" / "environment" / "seed.txt").write_text("would undo what the agent did")
    again = make(WorkbenchSmolEnvironment, tmp_path)
    again.start_state = state
    await again.start(False)
    assert again.machine.vm.parent is before
    await again.stop(True)
    await state.delete()


async def test_a_start_that_fails_leaves_no_machine(tmp_path: Path, host: FakeSmolvm) -> None:
    def refuse(machine: FakeMachine, argv: list[str], options: ExecOptions) -> Iterator[dict[str, object]]:
        if "mkdir" in argv[-1]:
            yield {"kind": "error", "message": "[SMOLVM_ERROR] no space left on device"}
        yield {"kind": "exit", "exit_code": 0}

    host.script = refuse
    environment = make(WorkbenchSmolEnvironment, tmp_path)
    (environment.environment_dir / "seed.txt").touch()
    with pytest.raises(MachineError, match="no space left on device"):
        await environment.start(False)
    assert len(host.records) == 1


async def test_a_transfer_to_a_machine_that_died_says_so(tmp_path: Path, host: FakeSmolvm) -> None:
    environment = make(WorkbenchSmolEnvironment, tmp_path)
    await environment.start(False)
    vmm = host.records[environment.machine.vm.name].process
    vmm.kill()
    vmm.wait()
    with pytest.raises(MachineDiedError):
        await environment.upload_file(__file__, "/x")
    with pytest.raises(MachineDiedError):
        await environment.download_file("/x", tmp_path / "x")
    with pytest.raises(MachineDiedError):
        await environment.download_dir("/x", tmp_path / "y")
    await environment.stop(True)
