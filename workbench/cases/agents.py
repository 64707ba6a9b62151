"""The Harbor agent that runs a case."""

from __future__ import annotations

from pathlib import Path

from harbor.models.trial.config import AgentConfig

from workbench.cases.case import Case
from workbench.task.load import LoadedTask
from workbench.trials.script_agent import IMPORT_PATH


def agent_of(case: Case, task: LoadedTask) -> AgentConfig:
    """Harbor's own oracle and nop agents; for a negative, the agent that runs its script."""
    if case.kind in ("oracle", "nop"):
        return AgentConfig(name=case.kind)
    return AgentConfig(
        import_path=IMPORT_PATH,
        kwargs={
            "scripts": [str(script) for script in scripts_of(case, task)],
            "env": dict(task.config.solution.env),
            "label": case.name,
        },
    )


def scripts_of(case: Case, task: LoadedTask) -> tuple[Path, ...]:
    """The scripts that a negative runs, one for each step.

    In a task of several steps a negative gets some of them wrong; for the others the reference solution
    is taken, so that it is the wrong ones that the verifier tells apart.
    """
    script = task.path / case.script
    if not task.step_names:
        return (script,)
    negative = task.path / "negatives" / case.name
    return tuple(_step_script(task.path, negative, step) for step in task.step_names)


def _step_script(task: Path, negative: Path, step: str) -> Path:
    candidates = (
        negative / step / "solve.sh",
        task / "steps" / step / "solution" / "solve.sh",
        task / "solution" / "solve.sh",
    )
    return next((path for path in candidates if path.is_file()), candidates[0])
