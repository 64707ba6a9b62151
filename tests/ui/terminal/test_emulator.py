"""The emulator: what bytes come to on its screen, and what it makes happen elsewhere."""

from __future__ import annotations

import base64

import pytest
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from tests.ui.terminal.driving import emulator
from workbench.ui.terminal.emulator import COPY_LIMIT, SCROLLBACK, Emulator, Found, Match, Scroll


def lines(screen: Emulator) -> list[str]:
    """All lines of a screen that was never asked for them before."""
    return ["".join(part.text for part in row.segments).rstrip() for _, row in screen.changed()]


def first_row(output: str, columns: int = 40) -> list[Segment]:
    """The styled pieces of the first line after some output."""
    screen, _ = emulator(columns)
    screen.feed(output.encode())
    return next(iter(screen.changed()))[1].segments


def style_of(output: str) -> Style:
    """The style of the first thing written."""
    style = first_row(output)[0].style
    assert style is not None
    return style


@pytest.mark.parametrize(
    ("sequence", "color"),
    [
        ("31", Color.from_ansi(1)),
        ("94", Color.from_ansi(12)),
        ("38;5;208", Color.from_ansi(208)),
        ("38;2;255;128;0", Color.from_rgb(255, 128, 0)),
        ("38:2::1:2:3", Color.from_rgb(1, 2, 3)),
    ],
)
def test_text_has_the_colour_that_the_program_gave_it(sequence: str, color: Color) -> None:
    assert style_of(f"\x1b[{sequence}mx").color == color


@pytest.mark.parametrize(
    ("sequence", "style"),
    [
        ("1", Style(bold=True)),
        ("2", Style(dim=True)),
        ("3", Style(italic=True)),
        ("4", Style(underline=True)),
        ("4:3", Style(underline=True)),
        ("21", Style(underline2=True)),
        ("7", Style(reverse=True)),
        ("8", Style(conceal=True)),
        ("9", Style(strike=True)),
        ("53", Style(overline=True)),
        ("1;3;44", Style(bold=True, italic=True, bgcolor=Color.from_ansi(4))),
    ],
)
def test_text_has_the_style_that_the_program_gave_it(sequence: str, style: Style) -> None:
    assert style_of(f"\x1b[{sequence}mx") == style


def test_the_rest_of_a_line_cleared_in_a_colour_has_it() -> None:
    assert first_row("\x1b[44mx\x1b[K", 5)[-1] == Segment("    ", Style(bgcolor=Color.from_ansi(4)))
    assert first_row("\x1b[48;2;9;8;7mx\x1b[K", 5)[-1].style == Style(bgcolor=Color.from_rgb(9, 8, 7))


def test_a_colour_that_the_program_redefined_is_shown_as_it_is_now() -> None:
    screen, _ = emulator()
    screen.feed(b"\x1b[31mred")
    assert next(iter(screen.changed()))[1].segments[0].style == Style(color=Color.from_ansi(1))
    list(screen.changed())
    screen.feed(b"\x1b]4;1;#102030\x07")
    assert next(iter(screen.changed()))[1].segments[0].style == Style(color=Color.from_rgb(16, 32, 48))


def test_a_background_that_the_program_set_is_under_everything() -> None:
    screen, _ = emulator()
    screen.set_colors((255, 255, 255), (0, 0, 0))
    list(screen.changed())
    screen.feed(b"\x1b]11;#102030\x07\x1b[31mx")
    red, rest = next(iter(screen.changed()))[1].segments
    assert red.style == Style(color=Color.from_ansi(1), bgcolor=Color.from_rgb(16, 32, 48))
    assert rest.style == Style(bgcolor=Color.from_rgb(16, 32, 48))


@pytest.mark.parametrize("text", ["漢字", "한국어", "👨‍👩‍👧", "🇩🇪", "❤️", "é", "e\u0301", "👍🏽", "ｗｉｄｅ"])
def test_characters_of_every_width_stay_whole_and_leave_the_line_as_wide_as_it_was(text: str) -> None:
    parts = first_row(f"a{text}b")
    assert "".join(part.text for part in parts).rstrip() == f"a{text}b"
    assert sum(cell_len(part.text) for part in parts) == 40


def test_only_rows_that_changed_are_told() -> None:
    screen, _ = emulator(10, 4)
    assert [y for y, _ in screen.changed()] == [0, 1, 2, 3]
    assert [y for y, _ in screen.changed()] == []
    screen.feed(b"\x1b[3;1Hx")
    assert 2 in [y for y, _ in screen.changed()]
    screen.feed(b"y")
    assert [y for y, _ in screen.changed()] == [2]


def test_rows_that_were_not_fetched_are_told_again() -> None:
    screen, _ = emulator(10, 4)
    rows = screen.changed()
    next(rows)
    assert [y for y, _ in screen.changed()] == [0, 1, 2, 3]


def test_the_alternate_screen_leaves_the_other_as_it_was() -> None:
    screen, _ = emulator(10, 2)
    screen.feed(b"shell\x1b[?1049h\x1b[Hvim")
    assert screen.alternate
    screen.feed(b"\x1b[?1049l")
    assert not screen.alternate
    assert lines(screen) == ["shell", ""]


def test_lines_that_left_the_screen_are_kept_up_to_a_limit() -> None:
    screen, _ = emulator(20, 5)
    screen.feed("".join(f"{n}\r\n" for n in range(SCROLLBACK * 2)).encode())
    kept = screen.text().splitlines()
    assert SCROLLBACK * 0.8 < len(kept) < SCROLLBACK * 1.2  # whole pages come and go
    assert kept[-1] == str(SCROLLBACK * 2 - 1)


def test_scrolling_shows_older_lines_and_new_output_does_not_move_them() -> None:
    screen, _ = emulator(20, 3)
    screen.feed("".join(f"{n}\r\n" for n in range(10)).encode())
    screen.scroll_by(-4)
    assert screen.scroll == Scroll(above=4, below=4)
    assert lines(screen) == ["4", "5", "6"]
    screen.feed(b"more\r\n")
    assert lines(screen) in ([], ["4", "5", "6"])
    assert screen.scroll == Scroll(above=4, below=5)
    screen.scroll_to_end()
    assert lines(screen) == ["9", "more", ""]


def test_long_lines_are_wrapped_anew_when_the_width_changes() -> None:
    screen, _ = emulator(10, 4)
    screen.feed(b"0123456789abcdef")
    assert lines(screen)[:2] == ["0123456789", "abcdef"]
    screen.resize(16, 4)
    assert lines(screen)[:2] == ["0123456789abcdef", ""]


def test_the_cursor_is_told_with_its_shape_and_not_at_all_when_hidden() -> None:
    screen, _ = emulator()
    screen.feed(b"ab\r\ncd")
    list(screen.changed())
    assert screen.cursor == (2, 1, True)
    screen.feed(b"\x1b[6 q")
    list(screen.changed())
    assert screen.cursor == (2, 1, False)
    screen.feed(b"\x1b[?25l")
    list(screen.changed())
    assert screen.cursor is None


def test_a_program_that_asks_is_answered() -> None:
    screen, happened = emulator()
    screen.set_colors((1, 2, 3), (4, 5, 6))
    screen.feed(b"ab\x1b[6n\x1b]11;?\x07")
    assert happened.replies == b"\x1b[1;3R\x1b]11;rgb:0404/0505/0606\x07"


def test_titles_and_bells_are_told() -> None:
    screen, happened = emulator()
    screen.feed("\x1b]0;make\x07\x07\x1b]2;a\u202eb\tc\x1b\\".encode())
    assert (happened.titles, happened.bells) == (["abc"], 1)


def test_a_title_is_never_read_back_into_the_program() -> None:
    screen, happened = emulator()
    screen.feed(b"\x1b]0;rm -rf ~\x07\x1b[21t\x1b[20t")
    assert happened.replies == b""


def test_a_program_may_copy_but_never_read_the_clipboard() -> None:
    screen, happened = emulator()
    screen.feed(b"\x1b]52;c;" + base64.b64encode("café\n".encode()) + b"\x07\x1b]52;c;?\x07")
    screen.feed(b"\x1b]5522;type=read;\x07")
    assert happened.copies == ["café\n"]
    assert b"caf" not in happened.replies
    assert base64.b64encode(b"caf") not in happened.replies


def test_a_copy_over_the_limit_is_refused_whole() -> None:
    screen, happened = emulator()
    for size in (COPY_LIMIT + 1, COPY_LIMIT * 50, COPY_LIMIT - 2):
        screen.feed(b"\x1b]52;c;" + base64.b64encode(b"x" * size) + b"\x07")
    assert [len(text) for text in happened.copies] == [COPY_LIMIT - 2]


def test_a_program_cannot_have_files_of_the_host_read() -> None:
    screen, happened = emulator()
    for medium in (b"f", b"t", b"s"):
        path = base64.b64encode(b"/etc/hostname")
        screen.feed(b"\x1b_Gi=1,a=T,t=" + medium + b",f=24,s=1,v=1;" + path + b"\x1b\\")
    assert b"OK" not in happened.replies


def test_a_selection_is_told_by_row_and_read_with_wrapped_lines_joined() -> None:
    screen, _ = emulator(10, 4)
    screen.feed(b"0123456789abcdef\r\nnext")
    screen.select(8, 0)
    screen.select_to(1, 1)
    assert screen.selected
    assert screen.selection() == "89ab"
    assert [row.selected for _, row in screen.changed()] == [(8, 10), (0, 2), None, None]
    screen.select_none()
    assert not screen.selected
    assert screen.selection() == ""


def test_a_word_or_a_line_can_be_selected_by_one_of_its_cells() -> None:
    screen, _ = emulator()
    screen.feed(b"cat /logs/verifier/reward.txt | head")
    screen.select(10, 0, "word")
    assert screen.selection() == "/logs/verifier/reward.txt"
    screen.select(10, 0, "line")
    assert screen.selection() == "cat /logs/verifier/reward.txt | head"


def test_a_selection_stays_on_its_text_when_lines_move() -> None:
    screen, _ = emulator(10, 3)
    screen.feed(b"one\r\ntwo\r\n")
    screen.select(0, 1)
    screen.select_to(2, 1)
    screen.feed(b"three\r\nfour\r\n")
    assert screen.selection() == "two"


def test_a_search_goes_from_the_newest_match_to_older_ones_and_shows_each() -> None:
    screen, _ = emulator(20, 3)
    screen.feed("".join(f"line {n}\r\n" for n in range(30)).encode())
    assert screen.search("LINE 1") == Found(total=11, current=0)
    assert screen.search_next() == Found(11, 1)
    assert screen.matches() == [Match(y=0, start=0, end=6, current=True)]
    assert "line 19" in lines(screen)
    assert screen.search_next() == Found(11, 2)
    assert "line 18" in lines(screen)
    assert screen.search_next(newer=True) == Found(11, 1)
    assert screen.search("") == Found(0, 0)
    assert screen.matches() == []


def test_a_search_finds_what_was_written_since() -> None:
    screen, _ = emulator()
    screen.feed(b"needle\r\n")
    assert screen.search("needle").total == 1
    screen.feed(b"another needle\r\n")
    assert screen.search_next().total == 2


def test_a_picture_that_is_being_drawn_is_told_to_be() -> None:
    screen, _ = emulator()
    screen.feed(b"\x1b[?2026h")
    assert screen.drawing
    screen.feed(b"\x1b[?2026l")
    assert not screen.drawing
