"""Where time went."""

from __future__ import annotations

from textual.app import ComposeResult

from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.widgets.timing_view import TimingView


class TimingTab(RunTab):
    """A waterfall of all cases, and the phases of this run."""

    def compose(self) -> ComposeResult:
        """The view."""
        yield TimingView()

    def show(self, shown: Shown) -> None:
        """Show where time went so far."""
        self.query_one(TimingView).show(shown.task, shown.case, shown.run, shown.now)
