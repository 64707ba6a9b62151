"""Runs of earlier days, and of other tasks, as the engine tells of those that are kept."""

from __future__ import annotations

from workbench import events as ev
from workbench.session import CaseView, Run, TaskView, recalled


def as_run(one: ev.EarlierRun) -> Run:
    """A kept run, to look at as at any other."""
    return recalled(
        ev.RunRecalled(
            task=one.task,
            case=one.case,
            run=one.trial_dir,
            outcome=one.outcome,
            ran_at=one.at,
            trial_dir=one.trial_dir,
        )
    )


def not_shown(task: TaskView) -> list[ev.EarlierRun]:
    """Those that are not among the runs of this session, newest first."""
    here = {run.trial_dir for view in task.cases.values() for run in view.runs}
    return [one for one in task.earlier if one.trial_dir not in here]


def before(task: TaskView, case: CaseView, run: Run) -> list[Run]:
    """The runs of a case before one of them, those of earlier days first, each oldest first."""
    kept = [
        as_run(one)
        for one in reversed(not_shown(task))
        if (one.task, one.case) == (task.path, case.case.name) and one.at < run.queued_at
    ]
    return kept + [other for other in case.runs if other is not run and other.queued_at < run.queued_at]
