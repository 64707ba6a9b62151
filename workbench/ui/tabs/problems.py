"""What is wrong with the task's files, where the screen has no pane for it."""

from __future__ import annotations

from textual.app import ComposeResult

from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.widgets.problem_list import ProblemList


class ProblemsTab(RunTab):
    """Problems."""

    def compose(self) -> ComposeResult:
        """The list."""
        yield ProblemList()

    def show(self, shown: Shown) -> None:
        """Show the task's problems."""
        self.query_one(ProblemList).show(shown.task)
