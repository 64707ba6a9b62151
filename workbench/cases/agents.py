"""The Harbor agent that runs a case."""

from __future__ import annotations

from harbor.models.trial.config import AgentConfig

from workbench.cases.case import Case
from workbench.cases.negatives import scripts
from workbench.task.load import LoadedTask
from workbench.trials.script_agent import IMPORT_PATH


def agent_of(case: Case, task: LoadedTask) -> AgentConfig:
    """Harbor's own oracle and nop agents; for a negative, the agent that runs its script."""
    if case.kind in ("oracle", "nop"):
        return AgentConfig(name=case.kind)
    return AgentConfig(
        import_path=IMPORT_PATH,
        kwargs={
            "task_dir": str(task.path),
            "scripts": [str(script) for script in scripts(task, case)],
            "env": dict(task.config.solution.env),
            "label": case.name,
        },
    )
