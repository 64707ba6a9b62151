"""What every tab of the run pane is."""

from __future__ import annotations

from dataclasses import dataclass

from textual.containers import Vertical
from textual.message import Message

from workbench.session import CaseView, Run, TaskView


@dataclass(frozen=True)
class Shown:
    """What the run pane shows."""

    task: TaskView
    case: CaseView | None
    run: Run | None
    now: float
    """Unix seconds, for what lasts."""

    @property
    def ended(self) -> bool:
        """Whether there is a run that is over."""
        return self.run is not None and self.run.state == "ended"


class RunTab(Vertical):
    """The content of a tab."""

    class Resized(Message):
        """There is more or less room, so it should be shown anew."""

    def on_resize(self) -> None:
        """Ask to be shown anew."""
        self.post_message(self.Resized())

    @property
    def state(self) -> str:
        """A few words for the pane's foot."""
        return ""

    def show(self, shown: Shown) -> None:
        """Show a run as it stands. Called at every change while the tab is the one in sight."""
        raise NotImplementedError
