"""Which script a case runs at a step."""

from __future__ import annotations

from collections.abc import Callable

SCRIPT = "solve.sh"
NEGATIVES = "negatives"


def reference_script(step: str, exists: Callable[[str], bool]) -> str:
    """The reference solution's script, as Harbor's oracle chooses it: the step's own, else the task's.

    Args:
        step: Empty in a task without steps.
        exists: Whether a path relative to the task exists.
    """
    if step and exists(f"steps/{step}/solution"):
        return f"steps/{step}/solution/{SCRIPT}"
    return f"solution/{SCRIPT}"


def negative_script(name: str, step: str, exists: Callable[[str], bool]) -> str:
    """The script that a negative runs at a step: one for that step, one for all, else the reference's.

    The whole directory of a script named `solve.sh` goes to /solution; any other goes alone.
    """
    own = [f"{NEGATIVES}/{name}/{SCRIPT}", f"{NEGATIVES}/{name}.sh"]
    if step:
        own.insert(0, f"{NEGATIVES}/{name}/steps/{step}/{SCRIPT}")
    return next((path for path in own if exists(path)), reference_script(step, exists))
