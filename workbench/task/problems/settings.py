"""Settings of task.toml that do not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from harbor.models.task.config import NetworkMode
from harbor.utils.env import resolve_env_vars

from workbench.task.load import LoadedTask
from workbench.task.marked import CONFIG
from workbench.task.problem import Problem
from workbench.task.text import read_text
from workbench.task.toml_places import KeyPath, Place, deepest, key_places


def settings_problems(task: LoadedTask) -> Iterator[Problem]:
    """Findings on task.toml, each with its line."""
    text = read_text(task.path / CONFIG, CONFIG)
    places = key_places(text) if isinstance(text, str) else {}
    for path, rule, message, hint in (
        *_unused_timeout(task),
        *_empty_allowlists(task),
        *_unused_dockerfile(task),
        *_no_artifacts(task),
        *_missing_variables(task),
    ):
        yield Problem(CONFIG, rule, "warning", message, hint, *_place(places, path))


type _Finding = tuple[KeyPath, str, str, str]
"""Where in task.toml, rule, message, hint."""


def _place(places: Mapping[KeyPath, Place], path: KeyPath) -> tuple[int, int] | tuple[None, None]:
    return places.get(deepest(places, path), (None, None))


def _unused_timeout(task: LoadedTask) -> Iterator[_Finding]:
    if "timeout_sec" not in task.config.verifier.model_fields_set:
        return
    unset = [
        step.name for step in task.config.steps or () if "timeout_sec" not in step.verifier.model_fields_set
    ]
    if unset:
        message = (
            f"steps do not take the verifier timeout of the task: {', '.join(unset)} has Harbor's default"
        )
        hint = "set timeout_sec in [steps.verifier] of each step"
        yield ("verifier", "timeout_sec"), "unused-timeout", message, hint


def _empty_allowlists(task: LoadedTask) -> Iterator[_Finding]:
    config = task.config
    tables: list[tuple[KeyPath, NetworkMode | None, list[str] | None]] = [
        (("environment",), config.environment.network_mode, config.environment.allowed_hosts),
        (("agent",), config.agent.network_mode, config.agent.allowed_hosts),
        (("verifier",), config.verifier.network_mode, config.verifier.allowed_hosts),
    ]
    for number, step in enumerate(config.steps or ()):
        tables += [
            (("steps", number, "agent"), step.agent.network_mode, step.agent.allowed_hosts),
            (("steps", number, "verifier"), step.verifier.network_mode, step.verifier.allowed_hosts),
        ]
    for path, mode, hosts in tables:
        if mode is NetworkMode.ALLOWLIST and not hosts:
            message = "an allowlist without allowed_hosts lets nothing through"
            yield (*path, "network_mode"), "empty-allowlist", message, 'name hosts, or say "no-network"'


def _unused_dockerfile(task: LoadedTask) -> Iterator[_Finding]:
    if task.config.environment.docker_image and (task.path / "environment/Dockerfile").is_file():
        message = "environment/Dockerfile is not built, for docker_image names a finished image"
        yield ("environment", "docker_image"), "unused-dockerfile", message, "remove one of them"


def _no_artifacts(task: LoadedTask) -> Iterator[_Finding]:
    """A separate verifier starts from an image: of the agent's work it has the artifacts alone."""
    separate = [number for number, step in enumerate(task.steps) if step.verifier == "separate"]
    steps = task.config.steps or ()
    if not separate or task.config.artifacts or any(step.artifacts for step in steps):
        return
    if any(step.verifier.collect for step in (task.config, *steps)) or _mentions(
        task.path, b"/logs/artifacts"
    ):
        return
    path: KeyPath = ("verifier",) if not steps else ("steps", separate[0])
    message = "the separate verifier gets nothing of the agent's work: no artifacts are declared"
    yield path, "no-artifacts", message, 'add artifacts = ["/path/in/the/agents/environment"]'


def _mentions(root: Path, text: bytes) -> bool:
    """Whether instruction, solution or tests speak of `text`."""
    for pattern in ("instruction.md", "solution/**/*", "tests/**/*", "steps/**/*"):
        for file in root.glob(pattern):
            if file.is_file() and text in file.read_bytes():
                return True
    return False


def _missing_variables(task: LoadedTask) -> Iterator[_Finding]:
    """`${VAR}` without a default stops a trial where the host does not have it."""
    config = task.config
    tables: list[tuple[KeyPath, dict[str, str]]] = [
        (("environment", "env"), config.environment.env),
        (("solution", "env"), config.solution.env),
        (("verifier", "env"), config.verifier.env),
        *(
            (("steps", number, "verifier", "env"), step.verifier.env)
            for number, step in enumerate(config.steps or ())
        ),
    ]
    for path, env in tables:
        for name, value in env.items():
            try:
                resolve_env_vars({name: value})
            except ValueError as error:
                yield (
                    (*path, name),
                    "missing-variable",
                    f"{name}: {error}",
                    "set it, or give it a default: ${VAR:-x}",
                )
