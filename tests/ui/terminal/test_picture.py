"""The picture of an emulator's screen."""

from __future__ import annotations

from dataclasses import replace

from rich.color import Color
from rich.style import Style

from tests.ui.terminal.driving import emulator
from workbench.ui.terminal.picture import Ink, Picture

INK = Ink(
    text=Style(color="white", bgcolor="black"),
    cursor=Style(color="black", bgcolor="white"),
    selection=Style(bgcolor="blue"),
    match=Style(bgcolor="green"),
    current=Style(bgcolor="yellow"),
)


def backgrounds(picture: Picture, y: int) -> list[tuple[str, str]]:
    """The pieces of a line with their background."""
    return [
        (part.text, part.style.bgcolor.name)
        for part in picture.line(y, INK)
        if part.text and part.style and part.style.bgcolor
    ]


def test_a_picture_taken_bit_by_bit_ends_with_what_came_meanwhile() -> None:
    screen, _ = emulator(10, 4)
    picture = Picture(10, 4)
    picture.take(screen, 0)
    assert not picture.complete
    screen.feed(b"one\r\ntwo\r\nthree\r\nfour")
    while not picture.complete:
        picture.take(screen, 0)
    assert [picture.line(y, INK).text.strip() for y in range(4)] == ["one", "two", "three", "four"]


def test_lines_that_look_different_are_told_once() -> None:
    screen, _ = emulator(10, 4)
    picture = Picture(10, 4)
    assert picture.take(screen, 1) == {0, 1, 2, 3}
    assert picture.take(screen, 1) == set()
    screen.feed(b"\x1b[3;1H")
    assert picture.take(screen, 1) == {0, 2}


def test_the_cursor_lies_over_the_whole_of_a_wide_character() -> None:
    screen, _ = emulator(6, 1)
    screen.feed("a漢b\x1b[1;2H".encode())
    picture = Picture(6, 1)
    picture.take(screen, 1)
    assert backgrounds(picture, 0) == [("a", "black"), ("漢", "white"), ("b  ", "black")]


def test_the_cursor_is_seen_on_text_in_reverse() -> None:
    screen, _ = emulator(3, 1)
    screen.feed(b"\x1b[7mabc\x1b[1;1H")
    picture = Picture(3, 1)
    picture.take(screen, 1)
    text, style, _ = next(iter(picture.line(0, INK)))
    assert style is not None
    assert (text, style.reverse, style.bgcolor) == ("a", False, Color.parse("white"))


def test_no_cursor_is_drawn_where_none_is_wanted() -> None:
    screen, _ = emulator(3, 1)
    picture = Picture(3, 1)
    picture.take(screen, 1)
    assert backgrounds(picture, 0) == [(" ", "white"), ("  ", "black")]
    assert {part.style for part in picture.line(0, replace(INK, cursor=None))} == {INK.text}


def test_selection_and_matches_lie_over_the_text() -> None:
    screen, _ = emulator(12, 2)
    screen.feed(b"ab ab ab\x1b[?25l")
    picture = Picture(12, 2)
    screen.search("ab")
    screen.search_next()
    screen.select(2, 0)
    screen.select_to(4, 0)
    picture.take(screen, 1)
    assert backgrounds(picture, 0) == [
        ("ab", "green"),
        (" ", "blue"),
        ("ab", "green"),
        (" ", "black"),
        ("ab", "yellow"),
        ("    ", "black"),
    ]


def test_lines_beyond_the_picture_are_blank() -> None:
    assert Picture(4, 1).line(7, INK).text == "    "
