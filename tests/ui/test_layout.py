"""Layouts, and what widgets hear of them."""

from __future__ import annotations

import importlib
import pkgutil
from inspect import getmembers, isclass

import pytest
from textual.app import App
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from tests.ui.driving import opened, until
from tests.ui.streams import holding
from workbench import ui
from workbench.ui.full_layout import FullLayout


class Told(Static):
    """A widget that notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.styles.height = "1fr"
        self.told: list[Size] = []

    def on_resize(self, event: Resize) -> None:
        self.told.append(event.size)


async def test_a_widget_is_told_of_its_size_though_somebody_asked_for_its_place_before_the_layout() -> None:
    app: App[None] = App()
    async with app.run_test(size=(80, 24)) as pilot:
        banner, told = Static("a banner"), Told()
        screen = FullLayout[None]()
        await app.push_screen(screen)
        await screen.mount(banner, told)
        await until(pilot, lambda: told.told == [Size(80, 23)])
        banner.display = False
        # As a scroll leaves it.
        screen._compositor._full_map_invalidated = True
        assert told.region.height == 24
        await until(pilot, lambda: told.told == [Size(80, 23), Size(80, 24)])


def test_every_screen_is_laid_out_so() -> None:
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}.")
    ]
    screens = {
        made
        for module in modules
        for _, made in getmembers(module, isclass)
        if issubclass(made, Screen) and made.__module__ == module.__name__
    }
    assert len(screens) > 8
    assert [screen for screen in screens if not issubclass(screen, FullLayout)] == []


@pytest.mark.parametrize("width", [60, 80, 100, 160])
async def test_a_low_screen_wastes_no_line_and_has_the_problems_in_a_tab(width: int) -> None:
    async with opened(holding(), (width, 20)) as driven:
        lines = driven.text.splitlines()
        headings = next(at for at, line in enumerate(lines) if "outcome" in line)
        assert all(line.strip() for line in lines[:headings])
        await driven.press("2")
        await until(driven.pilot, lambda: "none found in the task's files" in driven.text)
        assert "problems 0" in driven.text
