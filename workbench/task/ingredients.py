"""What each stage of each case is made of: a label for every file and setting, with what it is now.

By Harbor's rules of which file goes where; keys are hashes over ingredients, and a save makes stale
what has other ingredients than before. Files are labelled by their path, settings by `task.toml: ...`.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from harbor.models.task.config import StepConfig, TaskConfig
from pydantic import BaseModel

from workbench.task.snapshot import Snapshot
from workbench.task.solutions import NEGATIVES, SCRIPT, negative_script, reference_script

type Ingredients = Mapping[str, str]
"""A digest or a setting's value behind each label."""

ORACLE = "oracle"
NOP = "nop"
SETTING = "task.toml: "
"""Begins the label of a setting."""


class StepIngredients(msgspec.Struct, frozen=True):
    """What one step of a case depends on, beyond the image and the steps before it."""

    step: str
    """Empty in a task without steps."""
    agent: Ingredients
    verdict: Ingredients


def case_names(snapshot: Snapshot) -> tuple[str, ...]:
    """The cases that a task has by its files, sound or not: oracle, nop, then the negatives by name."""
    names = set()
    for path in snapshot.beneath(NEGATIVES):
        match path.split("/"):
            case [_, script] if script.endswith(".sh"):
                names.add(script.removesuffix(".sh"))
            case [_, name, script] | [_, name, "steps", _, script] if script == SCRIPT:
                names.add(name)
    return (ORACLE, NOP, *sorted(names - {ORACLE, NOP}))


def image_ingredients(snapshot: Snapshot) -> Ingredients:
    """Of the agent's image: the reference to it, else all of `environment/`."""
    if snapshot.config is None:
        return {}
    if reference := snapshot.config.environment.docker_image:
        return {f"{SETTING}[environment] docker_image": reference}
    return _files(snapshot, snapshot.beneath("environment"))


@lru_cache(maxsize=16)
def case_ingredients(snapshot: Snapshot) -> Mapping[str, tuple[StepIngredients, ...]]:
    """Of each case, for each step in order; nothing where task.toml cannot be read."""
    config = snapshot.config
    if config is None:
        return {}
    steps = config.steps or (None,)
    common = [_common(snapshot, config, number, step) for number, step in enumerate(steps)]
    return {
        case: tuple(
            StepIngredients(
                of_all.step,
                {**of_all.agent, **_solution(snapshot, config, case, of_all.step)},
                {**of_all.verdict, **_files(snapshot, (f"{NEGATIVES}/{case}/case.toml",))},
            )
            for of_all in common
        )
        for case in case_names(snapshot)
    }


def _common(snapshot: Snapshot, config: TaskConfig, number: int, step: StepConfig | None) -> StepIngredients:
    """What all cases share at a step."""
    return StepIngredients(
        step.name if step else "",
        _agent(snapshot, config, step),
        _verdict(snapshot, config, number, step),
    )


def _agent(snapshot: Snapshot, config: TaskConfig, step: StepConfig | None) -> dict[str, str]:
    found = _settings("[environment]", config.environment, without={"docker_image"})
    if config.environment.docker_image and not _builds(snapshot, "environment"):
        # No image is built of it: Harbor uploads it into the working directory.
        found |= _files(snapshot, snapshot.beneath("environment"))
    found |= _settings("[agent]", config.agent)
    if step is None:
        return found | _files(snapshot, ("instruction.md", "trajectory.json"))
    home, table = f"steps/{step.name}", f"step {step.name},"
    found |= _settings(table, step.agent, prefix="agent.") | _setting(
        f"{table} healthcheck", step.healthcheck
    )
    found |= _files(snapshot, (f"{home}/instruction.md", f"{home}/trajectory.json"))
    return found | _files(snapshot, snapshot.beneath(f"{home}/workdir"))


def _verdict(snapshot: Snapshot, config: TaskConfig, number: int, step: StepConfig | None) -> dict[str, str]:
    verifier = snapshot.verifiers[number]
    # Steps do not fall back on the task's timeout (Harbor 0.26).
    unused = {"environment", "timeout_sec"} if step else {"environment"}
    found = _settings("[verifier]", config.verifier, without=unused) | _setting("artifacts", config.artifacts)
    if verifier:
        found |= _settings("[verifier.environment]", verifier.environment)
    if step:
        table = f"step {step.name},"
        found |= _settings(table, step.verifier, without={"environment"}, prefix="verifier.")
        found |= _setting(f"{table} artifacts", step.artifacts)
        found |= _setting(f"{table} min_reward", step.min_reward)
        found |= _setting("multi_step_reward_strategy", config.multi_step_reward_strategy)
    if verifier and verifier.bundled_tests:
        # All of the build's context counts, whatever .harborignore says; an image by name has its own tests.
        built = _builds(snapshot, verifier.directory) and not verifier.environment.docker_image
        return found | _files(snapshot, snapshot.beneath(verifier.directory) if built else ())
    directories = ["tests", f"steps/{step.name}/tests"] if step else ["tests"]
    return found | _uploaded(snapshot, directories)


def _solution(snapshot: Snapshot, config: TaskConfig, case: str, step: str) -> dict[str, str]:
    """The script that a case runs at a step, and what goes to /solution with it."""
    if case == NOP:
        return {}
    exists = snapshot.entries.__contains__
    script = reference_script(step, exists) if case == ORACLE else negative_script(case, step, exists)
    found = _setting("[solution] env", config.solution.env)
    directory, _, name = script.rpartition("/")
    if name != SCRIPT:
        return found | _files(snapshot, (script,))
    uploaded = _uploaded(snapshot, (directory,))
    uploaded.pop(f"{NEGATIVES}/{case}/case.toml", None)  # how a run is judged, which no script reads
    return found | uploaded


def _builds(snapshot: Snapshot, directory: str) -> bool:
    """Whether the directory defines an image."""
    return any(f"{directory}/{name}" in snapshot.entries for name in ("Dockerfile", "docker-compose.yaml"))


def _uploaded(snapshot: Snapshot, directories: Iterable[str]) -> dict[str, str]:
    paths = (path for directory in directories for path in snapshot.beneath(directory))
    return _files(snapshot, (path for path in paths if path not in snapshot.excluded))


def _files(snapshot: Snapshot, paths: Iterable[str]) -> dict[str, str]:
    return {path: snapshot.entries[path] for path in paths if path in snapshot.entries}


def _settings(
    table: str, model: BaseModel, *, without: Container[str] = (), prefix: str = ""
) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in type(model).model_fields:
        if field not in without:
            found |= _setting(f"{table} {prefix}{field}", getattr(model, field))
    return found


def _setting(label: str, value: Any) -> dict[str, str]:
    return {f"{SETTING}{label}": json.dumps(value, sort_keys=True, default=_plain)}


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
