"""The keys at the foot of a screen, where there is much room and little."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets._footer import FooterKey

from tests.ui.driving import Driven, opened, until
from tests.ui.scenes import SCENES
from tests.ui.streams import holding
from tests.ui.test_snapshots import SIZES
from workbench.settings import Loaded, Settings

BARS = ["holding", "problems", "verifier", "search", "trajectory", "shell", "compare verifier", "grid"]
"""A scene for each way that the bar is filled."""


def keys(driven: Driven) -> list[FooterKey]:
    return list(driven.app.screen.query(FooterKey))


def titles(driven: Driven) -> list[str]:
    return [key.description for key in keys(driven)]


@pytest.mark.parametrize("name", BARS)
async def test_no_key_is_cut_at_any_size_and_the_ways_out_and_to_the_help_stay(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with SCENES[name].seen(SIZES[0]) as driven:
        everything = titles(driven)
        general = [title in ("Help", "Commands", "Quit") for title in everything]
        assert general == sorted(general), "what works everywhere comes last"
        for size in [*SIZES, SIZES[0]]:
            await driven.pilot.resize_terminal(*size)
            await until(driven.pilot, lambda: _chosen_for(driven))
            assert max(key.region.right for key in keys(driven)) <= size[0]
            assert all(key.region.width == len(key.render()) for key in keys(driven))
            assert "Help" in titles(driven)
            assert set(titles(driven)) & {"Back", "Leave", "Quit"}
        assert titles(driven) == everything


def _chosen_for(driven: Driven) -> bool:
    """Whether the bar has taken in the screen's size."""
    (bar,) = driven.app.screen.query("KeyBar")
    return bar.size.width == driven.app.size.width == bar._room and all(key.region for key in keys(driven))  # type: ignore[attr-defined]


async def test_the_way_back_is_told_wherever_there_is_one() -> None:
    async with opened(holding()) as driven:
        assert "Back" not in titles(driven)
        await driven.press("3")
        await until(driven.pilot, lambda: "Back" in titles(driven))
        await driven.press("escape")
        await until(driven.pilot, lambda: "Back" not in titles(driven))
        await driven.press("z")
        await until(driven.pilot, lambda: "Back" in titles(driven))
        await driven.press("escape")
        await until(driven.pilot, lambda: "Back" not in titles(driven))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("verifier", {"back": "f12", "quit": "ctrl+q", "run.case": "o"}),
        ("grid", {"grid.close": "f12", "grid.repeat": "o"}),
        ("compare verifier", {"compare.close": "f12", "compare.swap": "o"}),
        ("shell", {"terminal.leave": "f11", "shells.draft": "f5"}),
    ],
)
async def test_moved_keys_stand_where_those_stood_that_ship(
    name: str, moved: dict[str, str], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with SCENES[name].seen(size) as driven:
        shipped = titles(driven)
    async with SCENES[name].seen(size, settings=Loaded(Settings(keys=moved), (), ())) as driven:
        # What is moved may be longer, so that others have no room.
        assert titles(driven) == [title for title in shipped if title in titles(driven)]
        assert set(titles(driven)) & {"Back", "Leave"}
