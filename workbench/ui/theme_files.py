"""Themes as TOML files: the shipped ones, which users can copy, and the user's own.

A theme names a few colours and the rest follows from them. It is checked when it is loaded: every
colour must parse, and all text must stand out from every background that it is drawn on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from itertools import product
from pathlib import Path

from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench import places, settings
from workbench.ui.ansi import Palette, contrast

DEFAULT = "night"
LEAST_CONTRAST = 4.5
"""WCAG 2.2, level AA, for text of ordinary size."""

BACKGROUNDS = ("background", "surface", "panel")
TEXTS = ("foreground", "muted", "accent", "ok", "bad", "warn", "busy")
COLORS = (*BACKGROUNDS, *TEXTS, "border")
PHASES = ("environment", "agent", "verifier")
ANSI = tuple(
    bright + name
    for bright in ("", "bright-")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
_TABLES = {"colors": COLORS, "phases": PHASES, "ansi": ANSI}


class ThemeError(Exception):
    """A theme file that cannot be used; the message names the file, the fault and the remedy."""


def user_dir() -> Path:
    """Where users put their own; a file here with a shipped theme's name takes its place."""
    return places.config_dir() / "themes"


def files() -> list[Path]:
    """Every theme file, the user's after the shipped ones."""
    return [path for place in (places.shipped("themes"), user_dir()) for path in sorted(place.glob("*.toml"))]


def stamp() -> tuple[tuple[Path, int, int], ...]:
    """Something that differs when a theme file has changed."""
    result = []
    for path in files():
        with suppress(OSError):
            status = path.stat()
            result.append((path, status.st_mtime_ns, status.st_size))
    return tuple(result)


def load_all(only: str = "") -> tuple[list[Theme], list[str]]:
    """Every good theme, and what is wrong with the others.

    Args:
        only: The one name to load.
    """
    themes: dict[str, Theme] = {}
    faults: list[str] = []
    for path in files():
        if only and path.stem != only:
            continue
        try:
            themes[path.stem] = load(path)
        except ThemeError as error:
            faults.append(str(error))
    return list(themes.values()), faults


def load(path: Path) -> Theme:
    """The theme in a file, named by the file's stem.

    Raises:
        ThemeError: it cannot be read, a key is missing or unknown, a colour does not parse, or text
            would not stand out.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ThemeError(f"{path}: {error}") from error
    if fault := next(_faults(content), ""):
        raise ThemeError(f"{path}: {fault}")
    dark: bool = content["dark"]
    colors, phases, ansi = (content[table] for table in _TABLES)
    return Theme(
        name=path.stem,
        dark=dark,
        primary=colors["accent"],
        secondary=colors["busy"],
        accent=colors["accent"],
        warning=colors["warn"],
        error=colors["bad"],
        success=colors["ok"],
        foreground=colors["foreground"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        variables=_variables(colors, phases, ansi),
    )


def unknown(name: str, known: Iterable[str]) -> list[str]:
    """What is wrong with the name of a theme in the settings; nothing where it is known, or empty."""
    known = list(known)
    if not name or name in known:
        return []
    return [f"theme: there is no theme `{name}`{settings.nearest(name, known)}"]


def palette(variables: dict[str, str]) -> Palette:
    """What program output is drawn in, from a theme's variables."""
    from rich.style import Style

    return Palette(
        foreground=variables["foreground"],
        background=variables["surface"],
        muted=variables["muted"],
        ansi=tuple(variables[f"ansi-color-{name}"] for name in ANSI),
        sign=Style(color=variables["warn"], reverse=False, italic=True),
    )


def _faults(content: dict[str, object]) -> Iterator[str]:
    known = ("dark", *_TABLES)
    for key in content:
        if key not in known:
            yield f"unknown key `{key}`{_nearest(key, known)}"
    if not isinstance(content.get("dark"), bool):
        yield "`dark` must be true or false"
    for table, names in _TABLES.items():
        values = content.get(table)
        if not isinstance(values, dict):
            yield f"the table [{table}] is missing"
            return
        for name in values:
            if name not in names:
                yield f"unknown key `{name}` in [{table}]{_nearest(name, names)}"
        for name in names:
            if name not in values:
                yield f"`{name}` is missing in [{table}]"
            elif fault := _color_fault(values[name]):
                yield f"`{name}` in [{table}] {fault}"
    yield from _pale(*(content[table] for table in _TABLES))  # type: ignore[arg-type]


def _color_fault(value: object) -> str:
    try:
        color = Color.parse(value) if isinstance(value, str) else None
    except ColorParseError:
        color = None
    if color is None or color.ansi is not None or color.a < 1:
        return f'is {value!r}; a colour is written like "#7cc4ff"'
    return ""


def _pale(colors: dict[str, str], phases: dict[str, str], ansi: dict[str, str]) -> Iterator[str]:
    text = {name: colors[name] for name in TEXTS} | phases
    pairs = [*product(text.items(), BACKGROUNDS), *product(ansi.items(), ("surface",))]
    for (name, color), background in pairs:
        ratio = contrast(Color.parse(color), Color.parse(colors[background]))
        if ratio < LEAST_CONTRAST:
            yield (
                f"`{name}` ({color}) on `{background}` ({colors[background]}) has a contrast of {ratio:.1f}; "
                f"text needs at least {LEAST_CONTRAST}"
            )


def _nearest(key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _variables(colors: dict[str, str], phases: dict[str, str], ansi: dict[str, str]) -> dict[str, str]:
    foreground, panel, accent = colors["foreground"], colors["panel"], colors["accent"]
    own = {name: colors[name] for name in ("muted", "ok", "bad", "warn", "busy")}
    own |= {f"phase-{name}": color for name, color in phases.items()}
    own |= {f"ansi-color-{name}": color for name, color in ansi.items()}
    # Textual mixes most of these from others, which loses the contrast that was checked.
    return own | {
        "text": foreground,
        "text-muted": colors["muted"],
        "text-disabled": colors["muted"],
        "foreground-muted": colors["muted"],
        "foreground-disabled": colors["muted"],
        "text-primary": accent,
        "text-secondary": colors["busy"],
        "text-accent": accent,
        "text-success": colors["ok"],
        "text-warning": colors["warn"],
        "text-error": colors["bad"],
        "border": accent,
        "border-blurred": colors["border"],
        "block-cursor-foreground": foreground,
        "block-cursor-background": panel,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-foreground": foreground,
        "block-cursor-blurred-background": panel,
        "block-hover-background": panel,
        "surface-active": panel,
        "footer-background": colors["background"],
        "footer-foreground": colors["muted"],
        "footer-key-foreground": accent,
        "footer-description-foreground": colors["muted"],
        "input-selection-background": panel,
        "input-selection-foreground": foreground,
        "screen-selection-background": panel,
        "screen-selection-foreground": foreground,
        "scrollbar": colors["border"],
        "scrollbar-hover": colors["muted"],
        "scrollbar-active": accent,
        "scrollbar-background": colors["surface"],
        "scrollbar-background-hover": colors["surface"],
        "scrollbar-background-active": colors["surface"],
        "scrollbar-corner-color": colors["surface"],
        "link-color": accent,
        "link-color-hover": accent,
        "link-background-hover": panel,
    }
