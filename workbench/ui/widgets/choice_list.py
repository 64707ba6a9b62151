"""Textual's list of options, with the keys and commands of every list here."""

from __future__ import annotations

from typing import cast

from textual.content import Content
from textual.css.styles import RulesMap
from textual.reactive import reactive
from textual.widgets import OptionList

from workbench.ui.screen_commands import LIST


class ChoiceList(OptionList):
    """Options that are moved through by arrows or letters, and copied.

    It draws the rows that changed, where Textual's draws all of them at every key.
    """

    OFFER = LIST
    BINDINGS = LIST.bindings()

    highlighted: reactive[int | None] = reactive(None, repaint=False)

    def _watch_highlighted(self, before: int | None, highlighted: int | None) -> None:
        for index in (before, highlighted):
            self._refresh_row(index)

    def rewrite(self, option_id: str, prompt: Content) -> None:
        """Say something else in a row.

        Raises:
            OptionDoesNotExist: there is none of this id.
        """
        index = self.get_option_index(option_id)
        option = self.get_option_at_index(index)
        if isinstance(option.prompt, Content) and option.prompt.is_same(prompt):
            return
        option._set_prompt(prompt)
        padding = self.get_component_styles("option-list--option").padding.width
        width = self.scrollable_content_region.width - self._get_left_gutter_width() - padding
        height = self._get_visual(option).get_height(cast(RulesMap, self.styles), width) if width > 0 else -1
        if height != self._heights.get(index):
            self._clear_caches()
            return
        for key in list(self._option_render_cache.keys()):
            if key[0] is option:
                self._option_render_cache.discard(key)
        self._refresh_row(index)

    def action_copy(self) -> None:
        """Copy the selected option's text."""
        if option := self.highlighted_option:
            prompt = option.prompt
            self.app.copy_to_clipboard(prompt.plain if isinstance(prompt, Content) else str(prompt))
            self.notify("Copied.")

    def _refresh_row(self, index: int | None) -> None:
        if index is not None and (line := self._index_to_line.get(index)) is not None:
            self.refresh_lines(line, self._heights[index])
