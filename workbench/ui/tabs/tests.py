"""The verifier's checks by name, failures first."""

from __future__ import annotations

from textual.app import ComposeResult

from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.widgets.test_list import TestList


class TestsTab(RunTab):
    """Checks."""

    __test__ = False

    def compose(self) -> ComposeResult:
        """The list."""
        yield TestList()

    def show(self, shown: Shown) -> None:
        """Show the run's checks."""
        self.query_one(TestList).show(shown.run)
