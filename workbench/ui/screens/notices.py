"""Everything that notices have said so far."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content

from workbench.ui.base_app import Told
from workbench.ui.commands import key_shown
from workbench.ui.overlay import Overlay
from workbench.ui.overlay_commands import NOTICES
from workbench.ui.widgets.text_view import TextView
from workbench.ui.words import SEVERITIES


class NoticesScreen(Overlay[None]):
    """An overlay, the newest notice first."""

    CSS_PATH = "notices.tcss"
    OFFER = NOTICES
    BINDINGS = NOTICES.bindings()

    def __init__(self, told: Sequence[Told]) -> None:
        super().__init__()
        self._told = told

    def compose(self) -> ComposeResult:
        """The text."""
        yield TextView()

    def on_mount(self) -> None:
        """Show them."""
        view = self.query_one(TextView)
        view.border_title = "Notices"
        view.border_subtitle = Content(f"{key_shown(self.app, NOTICES['notices.close'])} closes")
        view.put(Content("\n").join(map(_line, reversed(self._told))) or Content("Nothing was told so far."))
        self.set_focus(view)


def _line(told: Told) -> Content:
    mark = SEVERITIES["info" if told.severity == "information" else told.severity]
    clock = time.strftime("%H:%M:%S", time.localtime(told.at))
    text = told.message.replace("\n", "\n" + " " * 12)
    return Content.assemble((f"{clock}  ", "$muted"), (f"{mark.sign} ", mark.color), text)
