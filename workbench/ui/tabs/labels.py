"""What tabs are called, and whether there is anything in them, told without loading them."""

from __future__ import annotations

from workbench.ui.tabs.tab import Shown


def tests(shown: Shown) -> str:
    """With the number that matters."""
    told = shown.run.tests if shown.run else ()
    bad = sum(test.status in ("failed", "error") for test in told)
    return f"tests {bad} ✗" if bad else f"tests {len(told)} ✓" if told else "tests"


def log(shown: Shown) -> str:
    """With a sign where Harbor raised something."""
    outcome = shown.run.outcome if shown.run else None
    return "log !" if outcome and outcome.exception else "log"


def problems(shown: Shown) -> str:
    """With how many there are."""
    return f"problems {len(shown.task.problems)}"


def has_steps(shown: Shown) -> bool:
    """Whether the task has steps."""
    outcome = shown.run.outcome if shown.run else None
    return bool((outcome and outcome.steps) or (shown.task.opened and shown.task.opened.steps))
