"""The Harbor agent that runs a case, and real agents as cases."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from harbor.models.agent.name import AgentName
from harbor.models.trial.config import AgentConfig

from workbench.cases.case import AgentSpec, Case
from workbench.cases.negatives import scripts
from workbench.task.load import LoadedTask
from workbench.task.solutions import reference_script
from workbench.trials.script_agent import IMPORT_PATH


def agent_case(spec: AgentSpec) -> Case:
    """A case that informs of what an agent does; nothing is expected of it."""
    return Case(spec.case, "agent", None, why="tries the task", spec=spec)


def agent_problem(spec: AgentSpec) -> str:
    """Why Harbor has no such agent, in one line; empty when it has, as far as the name says."""
    if ":" in spec.agent or spec.agent in AgentName.values():
        return ""
    near = get_close_matches(spec.agent, AgentName.values(), 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else "for one of your own, give an import path, module:Class"
    return f"Harbor has no agent {spec.agent!r}; {hint}"


def agent_of(case: Case, task: LoadedTask, *, trace: bool = False) -> AgentConfig:
    """Harbor's own agents by name; for a negative, the agent that runs its script.

    Args:
        trace: Tell a script's commands apart. Harbor's oracle has no seam for that, so its script is then run
            by the same agent as a negative's, as the trial's `agent_info` says.
    """
    if case.spec:
        return AgentConfig(name=case.spec.agent, model_name=case.spec.model or None)
    if case.kind == "nop":
        return AgentConfig(name=case.kind)
    if case.kind == "oracle":
        solutions = _reference_scripts(task)
        if not trace or not all(script.is_file() for script in solutions):
            return AgentConfig(name=case.kind)
        return _script_agent(case, task, solutions, trace)
    return _script_agent(case, task, scripts(task, case), trace)


def _reference_scripts(task: LoadedTask) -> tuple[Path, ...]:
    def exists(path: str) -> bool:
        return (task.path / path).exists()

    return tuple(task.path / reference_script(step.name, exists) for step in task.steps)


def _script_agent(case: Case, task: LoadedTask, scripts: tuple[Path, ...], trace: bool) -> AgentConfig:
    return AgentConfig(
        import_path=IMPORT_PATH,
        kwargs={
            "task_dir": str(task.path),
            "scripts": [str(script) for script in scripts],
            "env": dict(task.config.solution.env),
            "label": case.name,
            "trace": trace,
        },
    )
