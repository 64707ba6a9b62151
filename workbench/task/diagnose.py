"""What is wrong with a task's files, told from the files alone."""

from __future__ import annotations

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.problems.lint import lint_problems


def diagnose(task: LoadedTask) -> tuple[Problem, ...]:
    """All findings on a task that Harbor accepts, beyond those of `load`, in the order of files and lines.

    Runs nothing, and takes some ten milliseconds.
    """
    problems = lint_problems(task.path)
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(
        sorted(
            dict.fromkeys(problems),
            key=lambda problem: (
                order[problem.severity],
                problem.path,
                problem.line or 0,
                problem.column or 0,
            ),
        )
    )
