"""One line of a program's output, made of styled pieces.

Colours and text styles (SGR) are kept. Every other sequence is shown, never obeyed: what a verifier
prints cannot move the cursor, rename the window, write to the clipboard or hide text from the author.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color

from workbench.ui.visible import visible

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
# `grep --color`, gcc and tput end coloured text with these. They erase to the right of text that is
# not there, or choose the character set that is in use already.
_HARMLESS = re.compile(r"\x1b\[0?K|\x1b\(B|\x0f")
_COLOURING = re.compile(rf"{_SGR.pattern}|{_HARMLESS.pattern}")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_TAB = 8
_CONTRAST = 4.5

type Piece = tuple[str, Style]


@dataclass(frozen=True)
class Palette:
    """The colours of a theme that output is drawn in."""

    foreground: str
    background: str
    muted: str
    """For text that a program dims."""
    ansi: tuple[str, ...]
    """The sixteen colours that programs name by number."""
    sign: Style
    """How escape sequences that are shown look."""


@dataclass(frozen=True)
class Pen:
    """The state that SGR sequences change."""

    fg: str = ""
    """`#rrggbb`, or empty for the default."""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


PLAIN = Pen()


def uncolored(text: str) -> str:
    """Text of any number of lines without what `pieces` turns into colours or leaves out."""
    return _COLOURING.sub("", text) if "\x1b" in text or "\x0f" in text else text


def shown(line: str) -> str:
    """The text that a line is shown by, once it is uncoloured (or raw)."""
    return visible(line.expandtabs(_TAB))


def pen_after(text: str, pen: Pen, palette: Palette) -> Pen:
    """The pen at the end of some text that began with `pen`."""
    for match in _SGR.finditer(text) if "\x1b" in text else ():
        pen = _moved(pen, match[1], palette)
    return pen


def pieces(line: str, pen: Pen, palette: Palette, *, raw: bool = False) -> list[Piece]:
    """The styled pieces of a line.

    Args:
        pen: The pen at the line's start.
        raw: Show colour sequences too, instead of colours.
    """
    if raw:
        return _signs(line.expandtabs(_TAB), style(PLAIN, palette), palette)
    if "\x1b" not in line and "\x0f" not in line:
        return [(shown(line), style(pen, palette))]
    result: list[Piece] = []
    column = 0
    # An odd item is what stands between `ESC [` and `m`.
    for at, part in enumerate(_SGR.split(_HARMLESS.sub("", line))):
        if at % 2:
            pen = _moved(pen, part, palette)
            continue
        # Tab stops count what is seen, so a part is expanded as if what is before it stood there.
        text = (" " * column + part).expandtabs(_TAB)[column:]
        column += len(text)
        result += _signs(text, style(pen, palette), palette)
    return result


@lru_cache(maxsize=4096)
def style(pen: Pen, palette: Palette) -> Style:
    """How a pen writes, with its colours moved apart where text could not be read."""
    fg = pen.fg or (palette.muted if pen.dim else palette.foreground)
    bg = pen.bg or palette.background
    if pen.reverse:
        fg, bg = bg, fg
    return Style(
        color=RichColor.parse(_readable(fg, bg)),
        bgcolor=RichColor.parse(bg) if pen.bg or pen.reverse else None,
        bold=pen.bold or None,
        italic=pen.italic or None,
        underline=pen.underline or None,
        strike=pen.strike or None,
    )


def contrast(first: Color, second: Color) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=4096)
def _readable(text: str, ground: str) -> str:
    """A text colour, as far towards white or black as it takes to be read."""
    color, on = Color.parse(text), Color.parse(ground)
    away = max((Color(0, 0, 0), Color(255, 255, 255)), key=lambda extreme: contrast(extreme, on))
    tries = (color.blend(away, part / 8) for part in range(9))
    return next((near for near in tries if contrast(near, on) >= _CONTRAST), away).hex


def _signs(text: str, base: Style, palette: Palette) -> list[Piece]:
    result: list[Piece] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        result += [(visible(text[at : match.start()]), base), (visible(match[0]), palette.sign)]
        at = match.end()
    result.append((visible(text[at:]), base))
    return [piece for piece in result if piece[0]]


@lru_cache(maxsize=4096)
def _moved(pen: Pen, codes: str, palette: Palette) -> Pen:
    numbers = [
        int(code) if code.isdigit() and len(code) < 4 else 0
        for code in re.split("[;:]", codes.replace("::", ":"))
    ]
    values = {name: getattr(pen, name) for name in Pen.__dataclass_fields__}
    at = 0
    while at < len(numbers):
        code = numbers[at]
        at += 1
        if code == 0:
            values = {name: getattr(PLAIN, name) for name in values}
        elif code in _ON:
            values[_ON[code]] = True
        elif code in _OFF:
            values |= dict.fromkeys(_OFF[code], False)
        elif code in (38, 48):
            color, at = _extended(numbers, at, palette)
            values["fg" if code == 38 else "bg"] = color
        elif code in (39, 49):
            values["fg" if code == 39 else "bg"] = ""
        elif 30 <= code <= 37 or 90 <= code <= 97:
            values["fg"] = palette.ansi[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            values["bg"] = palette.ansi[code - 40 if code < 100 else code - 92]
    return Pen(**values)


_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


def _extended(numbers: list[int], at: int, palette: Palette) -> tuple[str, int]:
    """A colour given as `5;N` or `2;R;G;B`, and where the next code is."""
    match numbers[at : at + 4]:
        case [5, index, *_]:
            return _indexed(index, palette), at + 2
        case [2, red, green, blue]:
            return f"#{min(red, 255):02x}{min(green, 255):02x}{min(blue, 255):02x}", at + 4
    return "", len(numbers)


def _indexed(index: int, palette: Palette) -> str:
    if index < 16:
        return palette.ansi[index]
    return RichColor.from_ansi(min(index, 255)).get_truecolor().hex
