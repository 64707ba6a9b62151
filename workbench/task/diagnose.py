"""What is wrong with a task's files, told from the files alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.problems.exit_status import exit_status_problems
from workbench.task.problems.line_ends import line_end_problems
from workbench.task.problems.lint import lint_problems
from workbench.task.problems.reward_files import reward_file_problems
from workbench.task.problems.settings import settings_problems
from workbench.task.problems.solution import solution_problems
from workbench.task.problems.test_files import test_file_problems
from workbench.task.problems.unreadable import unreadable_problems

type Rules = Callable[[LoadedTask], Iterator[Problem]]

_RULES: tuple[Rules, ...] = (
    unreadable_problems,
    settings_problems,
    solution_problems,
    line_end_problems,
    exit_status_problems,
    reward_file_problems,
    test_file_problems,
    lint_problems,
)
_SEVERITIES = ("error", "warning", "info")


def diagnose(task: LoadedTask) -> tuple[Problem, ...]:
    """All findings on a task that Harbor accepts, beyond those of `load`: the gravest first.

    Runs nothing, and takes some ten milliseconds. Never raises for what it finds on the disk.
    """
    problems = {problem for rules in _RULES for problem in _findings(rules, task)}
    return tuple(sorted(problems, key=_order))


def _findings(rules: Rules, task: LoadedTask) -> tuple[Problem, ...]:
    try:
        return tuple(rules(task))
    except OSError:
        return ()  # a file went away while it was looked at, which is a change that will be looked at too


def _order(problem: Problem) -> tuple[int, str, int, int, str]:
    severity = _SEVERITIES.index(problem.severity)
    return severity, problem.path, problem.line or 0, problem.column or 0, problem.message
