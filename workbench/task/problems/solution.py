"""The reference solution."""

from __future__ import annotations

from collections.abc import Iterator

from harbor.models.task.config import TaskOS

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.solutions import reference_script


def solution_problems(task: LoadedTask) -> Iterator[Problem]:
    """Steps without a script for the oracle. Harbor accepts such a task, and its oracle never passes."""
    if task.config.environment.os is not TaskOS.LINUX:
        return
    for step in task.steps:
        script = reference_script(step.name, lambda path: (task.path / path).exists())
        if not (task.path / script).is_file():
            message = "there is no reference solution, so the oracle has nothing to run"
            yield Problem(script, "no-solution", "warning", message, f"add {script}")
