"""What `workbench runs --stats` prints: how long the phases of each case take."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.console import plain
from workbench.proof.documents import PhaseStats
from workbench.runs.records import TaskStats


def show_stats(out: Console, stats: list[TaskStats]) -> None:
    """Print a table a task."""
    if not stats:
        out.print("no run has ended yet")
    for one in stats:
        out.print(Text(plain(one.task), style="bold"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("case", "runs", "came out", "phase", "on"):
            table.add_column(name, overflow="fold")
        for name in ("count", "median", "p95"):
            table.add_column(name, justify="right", no_wrap=True)
        before: tuple[str, ...] = ()
        for phase in one.phases:
            group = _group(phase)
            # What is as in the row above is not said again.
            shown = ("",) * len(group) if group == before else group
            before = group
            case, runs, came_out, on = map(plain, shown)
            name = f"{phase.phase} {plain(phase.step)}".rstrip()
            took = (str(phase.count), f"{phase.median:.2f} s", f"{phase.p95:.2f} s")
            table.add_row(case, runs, came_out, name, on, *took)
        out.print(table)


def _group(phase: PhaseStats) -> tuple[str, str, str, str]:
    return (
        phase.case,
        "whole" if phase.whole else "re-verified",
        "as it must" if phase.sound else "otherwise",
        f"{phase.provider}, {phase.machine}",
    )
