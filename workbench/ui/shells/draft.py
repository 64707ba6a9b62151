"""What to write a shell's lines as: the solution, or a new negative."""

from __future__ import annotations

import re

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from workbench.ui.commands import key_shown
from workbench.ui.overlay import Overlay
from workbench.ui.overlay_commands import DRAFT

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class DraftScreen(Overlay[str | None]):
    """Asks for a name; gives the negative's, empty for the solution, or None when left."""

    OFFER = DRAFT
    BINDINGS = DRAFT.bindings()
    TYPED_IN = True
    DEFAULT_CSS = """
    DraftScreen {
        align: center middle;
        background: $background 60%;

        #draft {
            width: 72;
            max-width: 96%;
            height: auto;
            border: round $accent;
            border-title-color: $accent;
            border-title-style: bold;
            background: $surface;
            padding: 1 2;
        }
        Input, Input:focus { height: 1; border: none; padding: 0 1; margin: 1 0; background: $panel; }
        Static { height: auto; }
        Horizontal { height: 1; margin-top: 1; }
        Button { height: 1; min-width: 0; border: none; margin-right: 2; background: $panel; }
        Button:focus { text-style: bold reverse; }
    }
    """

    def __init__(self, title: str) -> None:
        """
        Args:
            title: What the shell stands on.
        """
        super().__init__()
        self._stands_on = title

    def compose(self) -> ComposeResult:
        """The question, a line for the name, where it will go, and two buttons."""
        with Vertical(id="draft"):
            yield Static(
                "Lines typed in this shell become a script. Name a new negative, "
                "or leave the name empty for the solution."
            )
            yield Input(placeholder="name of a new negative; empty for the solution")
            yield Static(id="draft-path")
            with Horizontal():
                yield Button("Write (enter)", id="draft-write", compact=True)
                yield Button(
                    f"Cancel ({key_shown(self.app, DRAFT['draft.cancel'])})", id="draft-cancel", compact=True
                )

    def on_mount(self) -> None:
        """Begin at the solution."""
        self.query_one("#draft").border_title = Content(f"Draft from the shell on {self._stands_on}")
        self._show()

    @property
    def _negative(self) -> str:
        return self.query_one(Input).value.strip()

    @property
    def _problem(self) -> str:
        if not self._negative or _NAME.fullmatch(self._negative):
            return ""
        return "use letters, digits, dots and hyphens, beginning with a letter or digit"

    @on(Input.Changed)
    def _show(self) -> None:
        if fault := self._problem:
            said = Content.assemble(("✗ ", "$bad"), fault)
        elif name := self._negative:
            said = Content.assemble("→ ", (f"negatives/{name}/solve.sh", "bold"), ", which must fail")
        else:
            said = Content.assemble(
                "→ ", ("solution/solve.sh", "bold"), "; beside it where there is one already"
            )
        self.query_one("#draft-path", Static).update(said)

    @on(Input.Submitted)
    @on(Button.Pressed, "#draft-write")
    def _accept(self) -> None:
        if not self._problem:
            self.dismiss(self._negative)

    @on(Button.Pressed, "#draft-cancel")
    def _leave(self) -> None:
        self.dismiss(None)
