"""A tab with a list over a text: one reads what is selected, and goes back to the list."""

from __future__ import annotations

from textual import on

from workbench.ui.screen_commands import READING
from workbench.ui.tabs.tab import RunTab
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.log_pane import LogPane


class TextPane(LogPane):
    """What is selected in the tab's list, as text."""

    OFFER = READING
    BINDINGS = READING.bindings()

    @property
    def is_read(self) -> bool:
        """Whether the user is in the text, and not in the line to search it by."""
        return self.is_attached and self.screen.focused is self.log_view

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A text that fills the screen is first made smaller, by whoever has the same key."""
        if action == "leave":
            return self.is_read and not self.screen.maximized
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        """Go back to the list."""
        self.screen.set_focus(self.query_ancestor(ReadingTab).query_one(LineList))


class ReadingTab(RunTab):
    """A list, and what is selected in it as text."""

    @on(LineList.Chosen)
    def _chosen(self, event: LineList.Chosen) -> None:
        event.stop()
        self.screen.set_focus(self.query_one(TextPane).log_view)
