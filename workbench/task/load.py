"""A task directory read through Harbor's own models, or the problems that keep it from being one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from harbor.environments.definition import has_agent_environment_definition
from harbor.models.task.config import AgentConfig, EnvironmentConfig, StepConfig, TaskConfig, VerifierConfig
from harbor.models.task.paths import TaskPaths
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

from workbench.task.config import read_config
from workbench.task.marked import CONFIG
from workbench.task.problem import Problem
from workbench.task.refused import refused
from workbench.task.text import BOM, read_bytes, read_text, reason, shown


class Timeout(msgspec.Struct, frozen=True):
    """How long a phase may take, and who says so."""

    seconds: float | None
    """None: no limit."""
    origin: str
    """Such as "[agent] timeout_sec" or "Harbor's default"."""


class Step(msgspec.Struct, frozen=True):
    """One step of a task; a task without steps has a single one."""

    name: str
    """Empty in a task without steps."""
    verifier: Literal["shared", "separate"]
    """Whether the tests run where the agent worked or in an environment of their own."""
    verifier_image: str
    """What a separate verifier boots; empty where it is shared."""
    bundled_tests: bool
    """The verifier's image has /tests in it, so Harbor uploads none."""
    agent_timeout: Timeout
    verifier_timeout: Timeout
    verifier_start_timeout: Timeout | None = None
    """For building and starting a separate verifier's environment; None where it is shared."""


class LoadedTask(msgspec.Struct, frozen=True):
    """A task that Harbor accepts."""

    path: Path
    """Absolute and without links."""
    name: str
    """`org/name` of task.toml, else the directory's name."""
    config: TaskConfig
    """Harbor's own reading of task.toml."""
    image: str
    """What the agent's environment boots: an image reference, or the file that defines it."""
    network: str
    """`public`, `no-network`, or `allowlist: HOST, ...`."""
    start_timeout: Timeout
    """For building and starting the environment."""
    steps: tuple[Step, ...]
    """At least one."""

    @property
    def step_names(self) -> tuple[str, ...]:
        """In order; empty for a task without steps."""
        return tuple(step.name for step in self.steps if step.name)

    @property
    def verifier(self) -> Literal["shared", "separate"]:
        """`separate` as soon as one step's verifier is."""
        return "separate" if any(step.verifier == "separate" for step in self.steps) else "shared"


def load(path: Path) -> tuple[LoadedTask | None, tuple[Problem, ...]]:
    """Read the task at `path`.

    Returns:
        The task, or None where Harbor would refuse it, and all that is known to be wrong: at least one
        problem of severity `error` when there is no task. Never raises for what it finds on the disk.
    """
    try:
        root = path.resolve()
        if problem := _directory_problem(root):
            return None, (problem,)
    except (OSError, ValueError, RuntimeError) as error:
        return None, (Problem(".", "unreadable-directory", "error", f"cannot read {shown(path)}: {error}"),)
    config, problems = read_config(root)
    if config is None:
        return None, tuple(problems)
    problems += _missing_files(root, config)
    if not _has_errors(problems):
        problems += _harbor_refusal(root)
    if _has_errors(problems):
        return None, tuple(problems)
    return _loaded(root, config), tuple(problems)


def _has_errors(problems: list[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _directory_problem(root: Path) -> Problem | None:
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in entries]
    except FileNotFoundError:
        return Problem(".", "missing-directory", "error", f"{shown(root)} does not exist", "check the path")
    except NotADirectoryError:
        message = f"{shown(root)} is a file, not a task directory"
        hint = f"name the directory that holds {CONFIG}"
        return Problem(".", "not-a-directory", "error", message, hint)
    except OSError as error:
        message = f"cannot read {shown(root)}: {reason(error)}"
        return Problem(".", "unreadable-directory", "error", message, "check its permissions")
    if not names:
        hint = f"a task needs {CONFIG}, instruction.md and tests/test.sh; `harbor task init` makes them"
        return Problem(".", "empty-directory", "error", f"{shown(root)} is empty", hint)
    if CONFIG not in names and (tasks := _tasks_inside(root, names)):
        hint = f"name a task, such as {shown(root / tasks[0])}"
        return Problem(CONFIG, "missing-file", "error", "this is a directory of tasks, not a task", hint)
    return None


def _tasks_inside(root: Path, names: list[str]) -> list[str]:
    return [name for name in sorted(names) if (root / name / CONFIG).is_file()]


def _missing_files(root: Path, config: TaskConfig) -> Iterator[Problem]:
    """What Harbor's loader would stop at, all of it and with its place."""
    paths = TaskPaths(root)
    for step in _steps(config):
        try:
            yield from _missing_step_files(paths, config, step)
        except (OSError, ValueError, RuntimeError) as error:
            yield refused(root, error)
    if not has_agent_environment_definition(
        paths.environment_dir, docker_image=config.environment.docker_image
    ):
        yield Problem(
            "environment/Dockerfile" if paths.environment_dir.is_dir() else "environment",
            "no-environment",
            "error",
            "nothing says what the agent works in",
            "add environment/Dockerfile, or set docker_image in [environment] of task.toml",
        )


def _missing_step_files(paths: TaskPaths, config: TaskConfig, step: StepConfig | None) -> Iterator[Problem]:
    root = paths.task_dir
    if step and not paths.step_dir(step.name).is_dir():
        name = f"steps/{step.name}"
        yield Problem(name, "missing-file", "error", "task.toml has this step, but it has no directory")
        return
    instruction = paths.step_instruction_path(step.name) if step else paths.instruction_path
    text = read_text(instruction, name := shown(instruction.relative_to(root)))
    if isinstance(text, Problem):
        yield text
    elif text.startswith(BOM):
        message = "the file starts with a byte-order mark, which the agent sees as a character"
        yield Problem(name, "byte-order-mark", "warning", message, "save it as UTF-8 without BOM", 1, 1)
    definition = resolve_verifier_environment_definition(config, paths, step)
    if definition and definition.bundled_tests:
        return
    os_ = definition.config.os if definition else config.environment.os
    script = paths.discovered_step_test_path_for(step.name, os_) if step else None
    script = script or paths.discovered_test_path_for(os_)
    if script is None:
        script = paths.step_test_path_for(step.name, os_) if step else paths.test_path_for(os_)
        name = shown(script.relative_to(root))
        message = "the test script is missing, so nothing can be verified"
        yield Problem(name, "missing-file", "error", message, f"add {name}")
    elif isinstance(unread := read_bytes(script, shown(script.relative_to(root))), Problem):
        yield unread


def _harbor_refusal(root: Path) -> list[Problem]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told already
            Task(root)
    except Exception as error:  # any refusal of Harbor's is the author's to know
        return [refused(root, error)]
    return []


def _steps(config: TaskConfig) -> Sequence[StepConfig | None]:
    """The steps, or a single None for a task without any."""
    return config.steps or (None,)


def _loaded(root: Path, config: TaskConfig) -> LoadedTask:
    paths = TaskPaths(root)
    environment = config.environment
    hosts = ", ".join(environment.allowed_hosts or ())
    mode = environment.network_mode.value
    return LoadedTask(
        path=root,
        name=config.task.name if config.task else shown(root.name),
        config=config,
        image=_image(environment.docker_image, paths.environment_dir, root),
        network=f"{mode}: {hosts}" if hosts else mode,
        start_timeout=_start_timeout(environment),
        steps=tuple(_step(paths, config, step) for step in _steps(config)),
    )


def _image(docker_image: str | None, directory: Path, root: Path) -> str:
    if docker_image:
        return docker_image
    compose = directory / "docker-compose.yaml"
    return shown((compose if compose.is_file() else directory / "Dockerfile").relative_to(root))


def _step(paths: TaskPaths, config: TaskConfig, step: StepConfig | None) -> Step:
    definition = resolve_verifier_environment_definition(config, paths, step)
    return Step(
        name=step.name if step else "",
        verifier="separate" if definition else "shared",
        verifier_image=(
            _image(definition.config.docker_image, definition.directory, paths.task_dir) if definition else ""
        ),
        bundled_tests=bool(definition and definition.bundled_tests),
        agent_timeout=_agent_timeout(config.agent, step),
        verifier_timeout=_verifier_timeout(config.verifier, step),
        verifier_start_timeout=_start_timeout(definition.config) if definition else None,
    )


def _start_timeout(environment: EnvironmentConfig) -> Timeout:
    origin = _origin("build_timeout_sec", "[environment]", environment.model_fields_set)
    return Timeout(environment.build_timeout_sec, origin)


def _agent_timeout(task: AgentConfig, step: StepConfig | None) -> Timeout:
    if step and step.agent.timeout_sec is not None:
        return Timeout(step.agent.timeout_sec, f"step {step.name}, agent.timeout_sec")
    if task.timeout_sec is not None:
        return Timeout(task.timeout_sec, "[agent] timeout_sec")
    return Timeout(None, "no limit is set")


def _verifier_timeout(task: VerifierConfig, step: StepConfig | None) -> Timeout:
    """A step has Harbor's default of its own and does not fall back on [verifier] (0.26)."""
    if step:
        where = f"step {step.name}, verifier"
        return Timeout(
            step.verifier.timeout_sec, _origin("timeout_sec", where, step.verifier.model_fields_set)
        )
    return Timeout(task.timeout_sec, _origin("timeout_sec", "[verifier]", task.model_fields_set))


def _origin(field: str, table: str, fields_set: set[str]) -> str:
    return f"{table} {field}" if field in fields_set else "Harbor's default"
