"""What `workbench runs` prints."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from workbench.console import plain
from workbench.runs.kept import Trial, forget, kept, to_forget
from workbench.runs.records import with_receipts


def _line(out: Console, text: str) -> None:
    # Never broken: paths are there to be copied.
    out.print(plain(text), soft_wrap=True)


def show_tasks(out: Console, state: Path) -> None:
    """Every task of which something is kept, and where."""
    tasks = kept(state)
    if not tasks:
        _line(out, f"no runs are kept in {state}")
        return
    table = _table("task", "runs", "size", "newest", "kept in")
    for task in tasks:
        newest = task.trials[-1].at
        table.add_row(
            task.task, str(len(task.trials)), decimal(task.size), _when(newest), str(task.directory)
        )
    out.print(table)
    _line(
        out, "`harbor view --jobs DIRECTORY` opens what is kept of a task; `workbench runs TASK_DIR` lists it"
    )


def show_runs(out: Console, state: Path, task: Path) -> None:
    """The runs that are kept of one task, oldest first."""
    [of_task] = kept(state, task)
    if not of_task.trials:
        _line(out, f"no runs of {task} are kept; they would be in {of_task.directory}")
        return
    table = _table("case", "reward", "when", "size", "directory")
    for trial in of_task.trials:
        where = str(trial.path.relative_to(of_task.directory))
        table.add_row(trial.case, _reward(trial), _when(trial.at), decimal(trial.size), where)
    out.print(table)
    _line(out, f"{len(of_task.trials)} runs, {decimal(of_task.size)}, in {of_task.directory}")
    _line(out, f"harbor view --jobs {shlex.quote(str(of_task.directory))}")


def prune(out: Console, state: Path, task: Path | None, keep: int, *, dry_run: bool) -> bool:
    """Forget all but the newest runs of each case.

    Returns:
        Whether all that was to go is gone.
    """
    tasks = kept(state, task)
    doomed = [trial for one in tasks for trial in to_forget(one.trials, keep)]
    spoken_of = with_receipts(state, (one.task for one in tasks))
    freed, failed = 0, 0
    for trial in doomed:
        try:
            if not dry_run:
                forget(trial)
        except OSError as error:
            failed += 1
            _line(out, f"{trial.path}: cannot be removed: {error.strerror}")
            continue
        freed += trial.size
        outlived = f"; the receipt of {trial.case} stays" if str(trial.path) in spoken_of else ""
        _line(out, f"{'would remove' if dry_run else 'removed'} {trial.path}{outlived}")
    went = len(doomed) - failed
    _line(out, f"{went} runs, {decimal(freed)}, {'would be' if dry_run else 'were'} removed")
    return failed == 0


def _reward(trial: Trial) -> str:
    if trial.rewards:
        graded = ", ".join(
            f"{value:g}" if key == "reward" else f"{key} {value:g}" for key, value in trial.rewards.items()
        )
        return f"{graded} ({trial.exception})" if trial.exception else graded
    if not trial.ended:
        return "running" if trial.running else "ended early"
    return trial.exception or "none"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "seconds")


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(
            name, justify="right" if name in ("runs", "size", "reward") else "left", overflow="fold"
        )
    return table
