"""The result for a person's eyes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench import events as ev
from workbench.check.result import Exit, evidence, exit_code, reason, surprises, word
from workbench.console import plain
from workbench.session import CaseView, Run, TaskView
from workbench.task.problem import Problem, Severity
from workbench.trials.outcome import Outcome, PhaseName

_COLOURS: dict[Exit, str] = {
    Exit.HOLDS: "bold green",
    Exit.DOES_NOT_HOLD: "bold red",
    Exit.WRONG: "bold red",
    Exit.MACHINERY: "bold yellow",
}
_SEVERITIES: dict[Severity, str] = {"error": "red", "warning": "yellow", "info": "cyan"}
_SHOWN_PHASES: tuple[PhaseName, ...] = ("environment", "agent", "verifier")


def print_provider(out: Console, provider: ev.ProviderChosen) -> None:
    """Say who makes the machines, why, and what it cannot do."""
    out.print(Text.assemble((provider.label, "bold"), f" ({plain(provider.why)})" if provider.why else ""))
    for limit in provider.limits:
        out.print(Text(f"  {plain(limit)}", style="dim"))


def print_task(out: Console, task: TaskView) -> None:
    """What there is to say about one task, the verdict last. Only the cases that decide show their output."""
    out.print()
    out.print(_heading(task))
    for problem in task.problems:
        out.print(_problem(task, problem))
    if task.cases and not task.unreadable:
        out.print(_cases(task))
    for view, run in surprises(task):
        assert run.outcome
        out.print(Text.assemble(("✗ " + plain(view.case.name), "bold"), ": ", plain(run.outcome.reason)))
        if view.case.kind == "negative" and view.case.why:
            out.print(Text(f"    {plain(view.case.why)}", style="italic"))
        if task.verdict and view.case.name not in task.verdict.cases:
            continue
        for heading, lines in evidence(run):
            if heading:
                out.print(Text(f"    {heading}:", style="dim"))
            out.print(Text("\n".join(f"    │ {line}" for line in lines)))
        out.print(Text(f"    kept in {plain(run.trial_dir)}", style="dim"))
    for note in _notes(task):
        out.print(Text(f"note: {plain(note)}", style="dim"))
    print_verdict(out, task)


def print_verdict(out: Console, task: TaskView) -> None:
    """One line: the task, its verdict and why, and how many cases hold where not all do."""
    style = _COLOURS[exit_code(task)]
    line = Text.assemble((f"{plain(task.name)}: ", "bold"), (word(task), style), f"  {plain(reason(task))}")
    if task.verdict and not task.unreadable and task.verdict.kind != "holds":
        line.append(f" ({task.verdict.held} of {task.verdict.total} cases hold)")
    out.print(line)


def _heading(task: TaskView) -> Text:
    text = Text(plain(task.name), style="bold")
    facts = [short(task.path)]
    if task.opened:
        facts += [task.opened.image, f"{task.opened.verifier} verifier", f"network {task.opened.network}"]
        facts += [f"{len(task.opened.steps)} steps"] if task.opened.steps else []
    return text.append(f"  {plain(' · '.join(fact for fact in facts if fact))}", style="not bold dim")


def _problem(task: TaskView, problem: Problem) -> Text:
    where = f"{short(task.path)}/{problem.where}" if problem.path != "." else short(task.path)
    text = Text.assemble(
        (problem.severity, _SEVERITIES[problem.severity]), f" {plain(where)}: {plain(problem.message)}"
    )
    return text.append(f"; {plain(problem.hint)}") if problem.hint else text


def _cases(task: TaskView) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    for name in ("", "case", "must", "came to"):
        table.add_column(name, overflow="fold")
    for name in ("reward", "time", *_SHOWN_PHASES):
        table.add_column(name, justify="right", no_wrap=True)
    for view in task.cases.values():
        table.add_row(*_row(view))
    return table


def _row(view: CaseView) -> list[Text]:
    outcome = view.current.outcome if view.current else None
    sign, came_to, style = _came_to(view, outcome)
    cells = [
        Text(sign, style=style),
        Text(plain(view.case.name)),
        Text(view.case.expect or "-"),
        Text.assemble((came_to, style), (_since(view.current), "dim")),
        Text("-" if outcome is None or outcome.reward is None else f"{outcome.reward:.4g}"),
        Text(f"{outcome.seconds:.2f} s" if outcome else "-"),
    ]
    spent = {phase.name: 0.0 for phase in outcome.phases} if outcome else {}
    for phase in outcome.phases if outcome else ():
        spent[phase.name] += phase.seconds or 0.0
    return cells + [
        Text(f"{spent[name]:.2f}" if name in spent else "-", style="dim") for name in _SHOWN_PHASES
    ]


def _came_to(view: CaseView, outcome: Outcome | None) -> tuple[str, str, str]:
    if outcome is None:
        return " ", "not run", "dim"
    if outcome.kind == "cancelled":
        return " ", outcome.kind, "dim"
    if view.case.expect is None:
        return "·", outcome.kind, ""
    if outcome.met:
        return "✓", outcome.kind, "green"
    return (
        ("✗", outcome.kind.upper(), "red") if outcome.met is False else ("?", outcome.kind.upper(), "yellow")
    )


def _since(run: Run | None) -> str:
    """How old an outcome is that a receipt tells of."""
    if run is None or not run.recalled or run.ended_at is None:
        return ""
    seconds = max(0, round(time.time() - run.ended_at))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f" {seconds // size} {unit} ago"
    return f" {seconds} s ago"


def _notes(task: TaskView) -> list[str]:
    runs = (view.current for view in task.cases.values())
    return list(dict.fromkeys(note for run in runs if run and run.outcome for note in run.outcome.notes))


def short(path: str) -> str:
    """A path as a person here would write it."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else path
