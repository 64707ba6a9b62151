"""All cases of a task, in the order to show and to run them."""

from __future__ import annotations

from pathlib import Path

from workbench.cases.case import Case
from workbench.cases.negatives import find_negatives
from workbench.cases.nop import nop_case
from workbench.cases.oracle import oracle_case
from workbench.task.problem import Problem


def find_cases(task_dir: Path) -> tuple[tuple[Case, ...], tuple[Problem, ...]]:
    """The oracle, nop, then the negatives by name, and what is wrong with negatives.

    A negative that cannot be read is left out and has a problem of severity `error`. Never raises for
    what it finds on the disk.
    """
    negatives, problems = find_negatives(task_dir)
    return (oracle_case(), nop_case(), *negatives), problems
