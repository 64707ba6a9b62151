"""What a run can be seen beside: every run of this session, and those that are kept, of any day and task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench import events as ev
from workbench.cases.case import Case
from workbench.session import CaseView, Run, TaskView
from workbench.ui import earlier, words
from workbench.ui.figures import ago
from workbench.ui.targets import Target
from workbench.ui.visible import one_line

type Seen = tuple[TaskView, CaseView, Run]
"""A run, with its case and task."""


def task_name(task: TaskView) -> str:
    """How a task is called, also one that is not open."""
    return one_line(Path(task.path).name)


def run_name(case: CaseView, run: Run) -> str:
    """How a run is called: by its case, and its number where that has several."""
    if run not in case.runs:  # it was long ago
        return one_line(case.case.name)
    return _numbered(case, case.runs.index(run) + 1)


def targets(task: TaskView, shown: Run, now: float) -> list[Target]:
    """All runs but the shown one, to choose from: this session's first, then the newest."""
    found = []
    for view in task.cases.values():
        for number, run in reversed([*enumerate(view.runs, 1)]):
            if run is not shown:
                about = f"{words.run_mark(run, now).word}{_age(run.ended_at, now)}"
                found.append(Target(_numbered(view, number), "run", run.id, about))
    for one in earlier.not_shown(task):
        other = "" if one.task == task.path else f"{one_line(Path(one.task).name)} · "
        about = f"{words.outcome_mark(one.outcome).word}{_age(one.at, now)}"
        found.append(Target(f"{other}{one_line(one.case)}", "earlier", one.trial_dir, about))
    return found


def baselines(task: TaskView, case: CaseView, run: Run) -> Iterator[tuple[CaseView, Run]]:
    """What a run is held against where nothing else is asked for: the one before, else the oracle's."""
    yield from [(case, before) for before in case.runs[: case.runs.index(run)] if before.has_begun][-1:]
    for view in task.cases.values():
        if view.case.kind == "oracle" and view.begun and view.begun is not run:
            yield view, view.begun


def side(task: TaskView, target: Target) -> Seen | None:
    """What was chosen; None where it is no longer there."""
    if target.kind == "run":
        pairs = ((view, run) for view in task.cases.values() for run in view.runs)
        return next(((task, view, run) for view, run in pairs if run.id == target.key), None)
    return next((_seen(task, one) for one in task.earlier if one.trial_dir == target.key), None)


def _seen(task: TaskView, one: ev.EarlierRun) -> Seen:
    run = earlier.as_run(one)
    its = task if one.task == task.path else TaskView(one.task)
    known = its.cases.get(one.case)
    case = known.case if known else Case(one.case, "negative", one.expect)
    return its, CaseView(case, [run]), run


def _numbered(view: CaseView, number: int) -> str:
    return one_line(view.case.name) + (f" · {number}" if len(view.runs) > 1 else "")


def _age(at: float | None, now: float) -> str:
    return f" · {ago(now - at)}" if at else ""
