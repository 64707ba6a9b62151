"""Layouts, and what widgets hear of them."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from tests.ui.driving import opened
from tests.ui.streams import holding
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.screens.main import MainScreen


async def test_a_widget_is_told_of_its_size_though_somebody_asked_for_its_place_before_the_layout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refresh = MainScreen.refresh_views
    asked: list[Size] = []

    def refresh_and_ask(screen: MainScreen, engine_lost: str | None = None) -> None:
        refresh(screen, engine_lost)
        # As a scroll leaves it.
        screen._compositor._full_map_invalidated = True
        asked.append(screen.query_one(RunPane).content_size)

    async with opened(holding()) as driven:
        run = driven.app.screen.query_one(RunPane)
        before = run.content_size
        monkeypatch.setattr(MainScreen, "refresh_views", refresh_and_ask)
        driven.source.die(-9)
        await driven.settle()
        assert asked
        assert run.content_size.height < before.height
