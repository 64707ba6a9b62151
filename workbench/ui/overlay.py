"""What lies over a screen."""

from __future__ import annotations

from textual import events
from textual.screen import ModalScreen

from workbench.ui.overlay_commands import EVERYWHERE


class Overlay[Result](ModalScreen[Result]):
    """A click beside it closes it, and help and palette can be asked for from it."""

    BINDINGS = EVERYWHERE.bindings()

    def on_click(self, event: events.Click) -> None:
        """Close where the click was beside what lies here."""
        if event.widget is self:
            self.dismiss()
