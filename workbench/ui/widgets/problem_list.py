"""What is wrong with the task's files."""

from __future__ import annotations

from textual.content import Content
from textual.widgets.option_list import Option

from workbench.session import TaskView
from workbench.task.problem import Problem, Severity
from workbench.ui import words
from workbench.ui.commands import key_shown
from workbench.ui.screen_commands import MAIN
from workbench.ui.visible import visible
from workbench.ui.widgets.choice_list import ChoiceList

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")


class ProblemList(ChoiceList):
    """Problems, each with its place and what to do."""

    def __init__(self) -> None:
        super().__init__()
        self._given: tuple[tuple[Problem, ...], Content] | None = None
        self._problems: tuple[Problem, ...] = ()

    @property
    def problem(self) -> Problem | None:
        """The selected problem."""
        at = self.highlighted
        return self._problems[at] if at is not None and at < len(self._problems) else None

    def show(self, task: TaskView) -> None:
        """Show a task's and no others."""
        if (given := (task.problems, _none(task))) == self._given:
            return
        self._given = given
        before = self.highlighted
        problems = tuple(sorted(task.problems, key=lambda found: _ORDER.index(found.severity)))
        self._problems = problems
        self.set_class(not problems, "-empty")
        title = f"{key_shown(self.app, MAIN['pane.problems'])} Problems"
        self.border_title = Content(f"{title} · {len(problems)}" if problems else title)
        if problems:
            self.set_options(Option(_prompt(problem)) for problem in problems)
            self.highlighted = min(before or 0, len(problems) - 1)
        else:
            self.set_options([Option(given[1], disabled=True)])


def _none(task: TaskView) -> Content:
    """What stands where there is no problem."""
    if task.is_elsewhere:
        return Content.styled("trials made elsewhere: no task's files are read", words.MUTED)
    if not task.looked:
        return Content.styled("the files have not been looked through", words.MUTED)
    return Content.assemble(("✓ ", words.OK), ("none found in the task's files", words.MUTED))


def _prompt(problem: Problem) -> Content:
    mark = words.SEVERITIES[problem.severity]
    parts: list[str | tuple[str, str]] = [
        (f"{mark.sign} ", mark.color),
        (visible(problem.where), "bold"),
        "  ",
        (f"{mark.word}: ", mark.color),
        visible(problem.message),
    ]
    if problem.hint:
        parts.append((f"\n  → {visible(problem.hint)}", words.MUTED))
    return Content.assemble(*parts)
