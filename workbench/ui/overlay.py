"""What lies over a screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Input

from workbench.ui.full_layout import FullLayout
from workbench.ui.overlay_commands import EVERYWHERE


class Overlay[Result](FullLayout[Result], ModalScreen[Result]):
    """A click beside it closes it, and help and palette can be asked for from it."""

    BINDINGS = EVERYWHERE.bindings()
    TYPED_IN: ClassVar[bool] = False
    """Whether there is a line to type in, where most keys that work everywhere are letters."""
    _typed_ahead = ""

    @property
    def _modal_binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        return super()._modal_binding_chain if self.TYPED_IN else self._binding_chain

    def on_key(self, event: events.Key) -> None:
        """Put what is typed before the line to type in has the focus into it."""
        lines = self.query(Input)
        bound = event.key in self.active_bindings
        if self.focused is None and not bound and event.is_printable and event.character:
            event.stop()
            if lines:
                lines.first().insert_text_at_cursor(event.character)
            else:
                self._typed_ahead += event.character

    def on_mount(self) -> None:
        """Begin with what was typed ahead."""
        if self._typed_ahead and (lines := self.query(Input)):
            lines.first().insert_text_at_cursor(self._typed_ahead)

    def on_click(self, event: events.Click) -> None:
        """Close where the click was beside what lies here."""
        if event.widget is self:
            self.dismiss()
