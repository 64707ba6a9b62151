"""Lists that draw only the rows that changed."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets.option_list import Option

from workbench.ui.widgets.choice_list import ChoiceList

WIDTH = 30


class Listed(App[None]):
    """Three rows, with a blank at either side."""

    CSS = "ChoiceList { height: 8; } ChoiceList > .option-list--option { padding: 0 1; }"

    def compose(self) -> ComposeResult:
        yield ChoiceList(*(Option(Content(name), id=name) for name in ("one", "two", "three")))


@pytest.mark.parametrize("length", range(WIDTH - 8, WIDTH + 8))
async def test_a_row_that_is_rewritten_takes_the_lines_that_it_needs(length: int) -> None:
    words = "x" * length
    async with Listed().run_test(size=(WIDTH, 12)) as pilot:
        rows = pilot.app.query_one(ChoiceList)
        rows.rewrite("two", Content(words))
        await pilot.pause()
        shown = [strip.text.strip(" ▊▎") for strip in pilot.app.screen._compositor.render_strips()]
        assert "".join(line for line in shown if "x" in line) == words
        assert [line for line in shown if line in ("one", "two", "three")] == ["one", "three"]
