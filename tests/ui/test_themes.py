"""Themes: files that are checked, and a screen that can be read in each of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.app import App
from textual.color import Color
from textual.screen import Screen

from tests.ui import streams
from tests.ui.driving import opened, until
from tests.ui.scenes import SCENES
from workbench import places
from workbench.ui import theme_files
from workbench.ui.ansi import contrast

SHIPPED = sorted(path.stem for path in places.shipped("themes").glob("*.toml"))


def night(**changes: str) -> str:
    text = (places.shipped("themes") / "night.toml").read_text()
    for key, value in changes.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{key} ="))
        text = text.replace(old, value, 1)
    return text


def user_theme(name: str, text: str) -> Path:
    theme_files.user_dir().mkdir(parents=True, exist_ok=True)
    path = theme_files.user_dir() / f"{name}.toml"
    path.write_text(text)
    return path


def test_four_themes_ship_two_of_them_dark_one_light_one_of_high_contrast() -> None:
    themes, faults = theme_files.load_all()
    assert faults == []
    assert {theme.name: theme.dark for theme in themes} == {
        "night": True,
        "ember": True,
        "day": False,
        "contrast": True,
    }


def test_the_high_contrast_theme_has_seven_to_one_everywhere() -> None:
    content = tomllib.loads((places.shipped("themes") / "contrast.toml").read_text())
    colors = content["colors"]
    texts = [colors[name] for name in theme_files.TEXTS] + list(content["phases"].values())
    grounds = [colors[name] for name in theme_files.BACKGROUNDS]
    assert min(contrast(Color.parse(t), Color.parse(g)) for t in texts for g in grounds) >= 7


@pytest.mark.parametrize("name", SCENES)
async def test_every_text_on_the_screen_stands_out_from_its_ground(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with SCENES[name].seen() as driven:
        for theme in SHIPPED:
            driven.app.theme = theme
            await until(driven.pilot, lambda: _is_worn(driven.app))
            read = list(_read(driven.app.screen))
            assert len(read) > 2
            assert {text for text in read if text.ratio < theme_files.LEAST_CONTRAST or text.dim} == set()


def _is_worn(app: App[None]) -> bool:
    """Whether the screen is drawn in its theme: no colour is left of another."""
    grounds = {Color.parse(app.theme_variables[name]).hex for name in theme_files.BACKGROUNDS}
    others = {Color.parse(theme.background or "").hex for theme in app.available_themes.values()}
    drawn = {text.bg for text in _read(app.screen)}
    return bool(drawn) and not drawn & (others - grounds)


class _Text(NamedTuple):
    """A text that is read on the screen."""

    text: str
    fg: str
    bg: str
    ratio: float
    dim: bool
    """Whether the terminal is to draw it paler than that."""


def _read(screen: Screen[object]) -> Iterator[_Text]:
    """All texts but what lies behind an overlay, which is not there to be read."""
    for y, strip in enumerate(screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            style, left = segment.style, x
            x += segment.cell_length
            if style is None or style.color is None or style.bgcolor is None:
                continue
            if not any(map(_is_text, segment.text)) or screen.get_widget_at(left, y)[0] is screen:
                continue
            fg, bg = (Color.from_rich_color(color) for color in (style.color, style.bgcolor))
            ratio = contrast(*((bg, fg) if style.reverse else (fg, bg)))
            yield _Text(segment.text.strip(), fg.hex, bg.hex, ratio, bool(style.dim))


def _is_text(character: str) -> bool:
    """Whether it is read, rather than being a line that is drawn."""
    return not character.isspace() and not "\u2500" <= character <= "\u259f"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("dark = true\n[colors", "Expected ']'"),
        (night(ok='ok = "greenish"'), "`ok` in [colors] is 'greenish'; a colour is written like"),
        (night(ok="ok = 3"), "`ok` in [colors] is 3"),
        (night(ok='okay = "#62d394"'), "unknown key `okay` in [colors]; did you mean `ok`?"),
        (night(muted=""), "`muted` is missing in [colors]"),
        (night(dark="drak = true"), "unknown key `drak`; did you mean `dark`?"),
        (night(dark='dark = "yes"'), "`dark` must be true or false"),
        (night(muted='muted = "#445566"'), "needs at least 4.5"),
        (night(verifier='verifier = "#111111"'), "`verifier` (#111111) on `background`"),
    ],
)
def test_a_bad_theme_is_left_out_with_its_file_and_fault(text: str, fault: str) -> None:
    path = user_theme("mine", text)
    themes, faults = theme_files.load_all()
    assert "mine" not in {theme.name for theme in themes}
    assert len(faults) == 1
    assert faults[0].startswith(f"{path}: ")
    assert fault in faults[0]


def test_a_users_theme_takes_the_place_of_a_shipped_one_of_its_name() -> None:
    user_theme("night", night(accent='accent = "#ffffff"'))
    themes, _ = theme_files.load_all()
    assert next(theme for theme in themes if theme.name == "night").accent == "#ffffff"


async def test_bad_themes_are_told_in_one_toast() -> None:
    user_theme("first", "dark = 1")
    user_theme("second", "dark = [")
    async with opened(streams.holding()) as driven:
        assert "Themes left out" in driven.text
        assert driven.text.count("Themes left out") == 1
        assert "first.toml" in driven.text.replace("\n", "")


async def test_a_theme_that_is_saved_is_worn_at_once() -> None:
    path = user_theme("mine", night())
    async with opened(streams.holding()) as driven:
        driven.app.theme = "mine"
        await driven.settle()
        path.write_text(night(accent='accent = "#fffffe"'))
        await until(driven.pilot, lambda: _accent_drawn(driven.app) == "#FFFFFE")


def _accent_drawn(app: object) -> str:
    strip = app.screen._compositor.render_strips()[0]  # type: ignore[attr-defined]
    style = next(segment.style for segment in strip if "slugify" in segment.text)
    return Color.from_rich_color(style.color).hex


async def test_only_themes_that_are_files_are_offered() -> None:
    async with opened(streams.holding()) as driven:
        assert sorted(driven.app.available_themes) == SHIPPED
