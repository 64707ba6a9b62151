"""The reference solution, which must pass."""

from __future__ import annotations

from workbench.cases.case import Case

NAME = "oracle"


def oracle_case() -> Case:
    """Harbor's oracle agent; each step of a multi-step task has its own script beneath `steps/`."""
    return Case(NAME, "oracle", "pass", why="runs the reference solution", script="solution/solve.sh")
