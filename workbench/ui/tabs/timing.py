"""Where time went."""

from __future__ import annotations

from textual.app import ComposeResult

from workbench import wishes
from workbench.ui.messages import Wished
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.widgets.timing_view import TimingView


class TimingTab(RunTab):
    """A waterfall of all cases, and the phases of this run."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""
        """The task whose earlier runs were asked for."""

    def compose(self) -> ComposeResult:
        """The view."""
        yield TimingView()

    def show(self, shown: Shown) -> None:
        """Show where time went so far, against the runs that are kept."""
        if self._asked != shown.task.path:
            self._asked = shown.task.path
            # Textual lets a message go no further than to whom it was made by, which is whoever calls this.
            self.call_later(self._ask, shown.task.path)
        self.query_one(TimingView).show(shown.task, shown.case, shown.run, shown.now)

    def _ask(self, task: str) -> None:
        self.post_message(Wished(wishes.TellEarlierRuns(task=task)))
