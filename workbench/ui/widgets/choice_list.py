"""Textual's list of options, with the keys and commands of every list here."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import OptionList

from workbench.ui.commands import LIST


class ChoiceList(OptionList):
    """Options that are moved through by arrows or letters, and copied."""

    OFFER = LIST
    BINDINGS = LIST.bindings()

    def action_copy(self) -> None:
        """Copy the selected option's text."""
        if option := self.highlighted_option:
            prompt = option.prompt
            self.app.copy_to_clipboard(prompt.plain if isinstance(prompt, Content) else str(prompt))
            self.notify("Copied.")
