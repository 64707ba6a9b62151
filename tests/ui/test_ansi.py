"""Colours are kept; everything else that a program prints is shown, never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.color import Color

from workbench.ui import theme_files
from workbench.ui.ansi import PLAIN, Palette, Pen, contrast, pen_after, pieces, shown, style, uncolored
from workbench.ui.visible import one_line, visible

PALETTE = Palette(
    "#d5deea",
    "#111823",
    "#93a4bb",
    tuple(f"#{0x90 + n:02x}{0x90 + n:02x}ff" for n in range(16)),
    Style(italic=True),
)


def text(line: str, *, raw: bool = False) -> str:
    return "".join(piece for piece, _ in pieces(line, PLAIN, PALETTE, raw=raw))


def colors(line: str) -> list[tuple[str, str | None]]:
    return [
        (piece, look.color.get_truecolor().hex if look.color else None)
        for piece, look in pieces(line, PLAIN, PALETTE)
    ]


def test_colours_by_number_by_index_and_by_value_are_kept() -> None:
    line = "\x1b[96ma\x1b[38;5;208mb\x1b[38;2;250;150;50mc\x1b[38:2::250:250:50md\x1b[0me"
    assert colors(line) == [
        ("a", "#9e9eff"),
        ("b", "#ff8700"),
        ("c", "#fa9632"),
        ("d", "#fafa32"),
        ("e", "#d5deea"),
    ]


def test_a_colour_too_dark_to_read_keeps_its_hue() -> None:
    ((_, color),) = colors("\x1b[38;2;255;0;0mred")
    assert color is not None
    red, green, blue = Color.parse(color).rgb
    assert red == 255
    assert 0 < green == blue < 128


def test_text_styles_are_kept_and_ended() -> None:
    (bold, look), (plain, other) = pieces("\x1b[1;3;4;9mx\x1b[22;23;24;29my", PLAIN, PALETTE)
    assert (bold, look.bold, look.italic, look.underline, look.strike) == ("x", True, True, True, True)
    assert (plain, other.bold, other.italic, other.underline, other.strike) == ("y", None, None, None, None)


def test_a_colour_goes_on_over_line_breaks() -> None:
    pen = pen_after("\x1b[31mred", PLAIN, PALETTE)
    assert pen == Pen(fg=PALETTE.ansi[1])
    assert pen_after("\x1b[m", pen, PALETTE) == PLAIN


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("\x1b[2Jgone", "␛[2Jgone"),
        ("\x1b[1;1Hpassed", "␛[1;1Hpassed"),
        ("\x1b]0;title\x07x", "␛]0;title␇x"),
        ("\x1b]52;c;cm0gLXJm\x1b\\x", "␛]52;c;cm0gLXJm␛\\x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "␛]8;;http://evil␛\\link␛]8;;␛\\"),
        ("\x1bPq\x1b\\x", "␛Pq␛\\x"),
        ("\x1bc", "␛c"),
        ("a\x08b\x07\x00", "a␈b␇␀"),
        ("\x9b2J\x85", "\\x9b2J\\x85"),
        ("abc\u202edef", "abc<U+202E>def"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("\x1b[31", "␛[31"),
        ("\x1b", "␛"),
    ],
)
def test_other_sequences_are_shown(line: str, seen: str) -> None:
    assert text(line) == seen


def test_what_grep_and_tput_end_colours_with_is_left_out() -> None:
    assert text("\x1b[01;31m\x1b[Kerror\x1b[m\x1b[K in\x1b(B\x1b[m") == "error in"


def test_hidden_text_is_not_hidden() -> None:
    assert text("\x1b[8mhidden\x1b[0m") == "hidden"
    for line in ("\x1b[38;2;17;24;35mdark on dark", "\x1b[30;40mblack on black", "\x1b[7;38;2;213;222;234mx"):
        ((_, look),) = pieces(line, PLAIN, PALETTE)
        ground = look.bgcolor.get_truecolor().hex if look.bgcolor else PALETTE.background
        assert look.color is not None
        ratio = contrast(Color.parse(look.color.get_truecolor().hex), Color.parse(ground))
        assert ratio >= 4.5


def test_raw_shows_colour_sequences_too() -> None:
    assert text("\x1b[31mred\x1b[0m", raw=True) == "␛[31mred␛[0m"


def test_tabs_stop_where_they_would_without_colours() -> None:
    assert text("\x1b[31mab\tc\x1b[0m\td") == text("ab\tc\td") == "ab      c       d"


@given(st.text())
def test_nothing_that_a_terminal_would_obey_is_left(line: str) -> None:
    for raw in (False, True):
        assert all(ord(c) >= 0x20 and not 0x7F <= ord(c) < 0xA0 for c in text(line, raw=raw))


@given(st.text(alphabet="ab\t\x1b[0;31mKé\x0f("))
def test_the_text_of_pieces_is_the_uncoloured_line(line: str) -> None:
    assert text(line) == shown(uncolored(line))


@given(st.from_regex(r"(\x1b\[[0-9;:]{0,30}m)+", fullmatch=True))
def test_any_colour_sequence_makes_a_style(line: str) -> None:
    assert style(pen_after(line, PLAIN, PALETTE), PALETTE)


def test_names_from_outside_are_one_harmless_line() -> None:
    assert one_line("a\nb\r\n\x1b[2J\tc") == "a b ␛[2J c"
    assert visible("plain ascii") == "plain ascii"
    assert visible("\ud800") == "�"


def test_every_shipped_theme_has_a_palette() -> None:
    themes, faults = theme_files.load_all()
    assert faults == []
    for theme in themes:
        variables = theme.to_color_system().generate() | theme.variables
        assert len(theme_files.palette(variables).ansi) == 16
