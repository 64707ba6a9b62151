"""Output on the screen: followed, searched, wrapped, raw, selected, and never in the way of a key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.events import MouseScrollUp
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from tests.ui.driving import screen_text, until
from workbench.ui import theme_files
from workbench.ui.lines import FileLines, Lines, LiveLines
from workbench.ui.widgets.log_pane import LogPane
from workbench.ui.widgets.log_view import LogView


class Shown(App[None]):
    """A log pane alone."""

    CSS = """
    LogPane, LogView { height: 1fr; }
    .hint, SearchLine { display: none; }
    SearchLine { dock: bottom; height: 1; border: none; }
    .-searching SearchLine { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        for theme in theme_files.load_all()[0]:
            self.register_theme(theme)
        self.theme = "night"

    def compose(self) -> ComposeResult:
        yield LogPane("log")


@asynccontextmanager
async def showing(
    lines: Lines | str, *, follow: bool = False, size: tuple[int, int] = (40, 10)
) -> AsyncIterator[tuple[Pilot[None], LogView]]:
    if isinstance(lines, str):
        text, lines = lines, LiveLines()
        lines.append(text)
    app = Shown()
    async with app.run_test(size=size) as pilot:
        pane = app.query_one(LogPane)
        pane.show(lines, silence=Content("nothing"), follow=follow)
        pane.log_view.focus()
        await settle(pilot)
        yield pilot, pane.log_view


async def settle(pilot: Pilot[None]) -> None:
    await until(pilot, lambda: not list(pilot.app.workers))


async def press(pilot: Pilot[None], *keys: str) -> list[str]:
    await pilot.press(*keys)
    await settle(pilot)
    return screen_text(pilot.app).splitlines()


def seen(lines: list[str]) -> list[str]:
    """Lines without the scrollbar at their end."""
    return [line[:-2].rstrip() if len(line) == 40 else line for line in lines]


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


async def test_it_begins_at_the_end_when_following_and_else_at_the_start() -> None:
    async with showing(numbered(100), follow=True) as (pilot, _):
        assert "line 99" in screen_text(pilot.app)
    async with showing(numbered(100)) as (pilot, _):
        assert screen_text(pilot.app).splitlines()[0] == "line 0"


@pytest.mark.parametrize("way", ["pageup", "up", "k", "home", "g"])
async def test_a_key_that_scrolls_up_stops_following(way: str) -> None:
    async with showing(numbered(100), follow=True) as (pilot, view):
        await press(pilot, way)
        assert not view.follow


async def test_the_wheel_stops_following() -> None:
    async with showing(numbered(100), follow=True) as (pilot, view):
        await pilot._post_mouse_events([MouseScrollUp], view)
        await settle(pilot)
        assert not view.follow


@pytest.mark.parametrize("way", ["end", "G", "F"])
async def test_a_key_to_the_end_follows_again(way: str) -> None:
    async with showing(numbered(100)) as (pilot, view):
        await press(pilot, way)
        assert view.follow
        assert isinstance(view.lines, LiveLines)
        view.lines.append("more\n")
        view.grown()
        await settle(pilot)
        assert screen_text(pilot.app).splitlines()[-1] == "more"


async def test_what_one_looks_at_stays_while_more_comes() -> None:
    async with showing(numbered(100)) as (pilot, view):
        await press(pilot, "pagedown")
        before = seen(screen_text(pilot.app).splitlines())
        assert isinstance(view.lines, LiveLines)
        view.lines.append(numbered(500))
        view.grown()
        await settle(pilot)
        assert seen(screen_text(pilot.app).splitlines()) == before
        assert not view.follow


async def test_what_one_looks_at_stays_while_the_oldest_lines_are_dropped() -> None:
    lines = LiveLines(limit=1024 * 1024)
    lines.append(numbered(100_000))
    async with showing(lines, follow=True) as (pilot, view):
        await press(pilot, "pageup")
        (before,) = seen(await press(pilot, "pageup"))[:1]
        dropped = lines.dropped
        for first in range(100_000, 130_000, 10_000):
            lines.append("".join(f"line {number}\n" for number in range(first, first + 10_000)))
            view.grown()
            await settle(pilot)
        assert lines.dropped > dropped
        assert seen(screen_text(pilot.app).splitlines())[0] == before


async def test_an_unfinished_line_grows_in_place() -> None:
    async with showing("progress: ", follow=True) as (pilot, view):
        assert isinstance(view.lines, LiveLines)
        view.lines.append("done\n")
        view.grown()
        await settle(pilot)
        assert screen_text(pilot.app).splitlines()[0] == "progress: done"


async def test_long_lines_are_wrapped_and_w_lets_them_run_out_of_sight() -> None:
    async with showing("a" * 39 + "b" * 39 + "c\nnext\n") as (pilot, view):
        assert screen_text(pilot.app).splitlines()[:4] == ["a" * 39, "b" * 39, "c", "next"]
        assert (await press(pilot, "w"))[:2] == ["a" * 39 + "b", "next"]
        assert "not wrapped" in view.state
        assert (await press(pilot, "w"))[:3] == ["a" * 39, "b" * 39, "c"]


async def test_wide_characters_are_wrapped_whole() -> None:
    async with showing("中" * 30) as (pilot, _):
        assert screen_text(pilot.app).splitlines()[:2] == ["中" * 19, "中" * 11]


async def test_raw_shows_colour_sequences() -> None:
    async with showing("\x1b[31mred\x1b[0m\n") as (pilot, _):
        assert screen_text(pilot.app).splitlines()[0] == "red"
        assert (await press(pilot, "u"))[0] == "␛[31mred␛[0m"


async def test_search_goes_to_matches_and_n_goes_round() -> None:
    text = numbered(50) + "a needle\n" + numbered(50) + "another Needle\n" + numbered(50)
    async with showing(text) as (pilot, view):
        lines = await press(pilot, "slash", *"needle", "enter")
        assert "a needle" in seen(lines)
        assert "match 1 of 2" in view.state
        assert "another Needle" in seen(await press(pilot, "n"))
        assert "match 2 of 2" in view.state
        assert "a needle" in seen(await press(pilot, "n"))
        assert "another Needle" in seen(await press(pilot, "N"))


async def test_where_one_went_while_lines_were_measured_anew_one_stays() -> None:
    async with showing("".join(f"line {number} of what is printed\n" for number in range(3000))) as (
        pilot,
        view,
    ):
        view.go_to(118)
        await settle(pilot)
        view.on_resize()
        view.go_to(1234)
        await settle(pilot)
        assert "line 1234 of what" in screen_text(pilot.app)


async def test_a_capital_makes_the_search_heed_case_and_escape_ends_it() -> None:
    async with showing("a needle\nNeedle\n") as (pilot, view):
        await press(pilot, "slash", *"Needle", "enter")
        assert "match 1 of 1" in view.state
        await press(pilot, "slash", "escape")
        assert "match" not in view.state


async def test_search_finds_words_that_colours_cut_apart_and_marks_them() -> None:
    async with showing("\x1b[1mtest_\x1b[31mlong\x1b[0m_title failed\n") as (pilot, view):
        await press(pilot, "slash", *"test_long_title", "enter")
        assert "match 1 of 1" in view.state
        marked = [s.text for s in view.render_line(0) if s.style and s.style.bgcolor and s.text.strip()]
        assert "".join(marked).startswith("test_long_title")


async def test_what_comes_later_is_searched_too() -> None:
    async with showing("nothing\n") as (pilot, view):
        await press(pilot, "slash", *"late", "enter")
        assert isinstance(view.lines, LiveLines)
        view.lines.append("too late\n")
        view.grown()
        await settle(pilot)
        assert "of 1" in view.state


@pytest.mark.parametrize(
    "failure",
    [
        "FAILED tests/a.py::b",
        "E   AssertionError: x",
        "not ok 3 - c",
        "Traceback (most recent",
        "error: no such file",
    ],
)
async def test_the_first_failure_is_a_key_away(failure: str) -> None:
    async with showing(numbered(300) + failure + "\n" + numbered(300)) as (pilot, _):
        assert failure in seen(await press(pilot, "exclamation_mark"))


async def test_output_without_failures_says_so() -> None:
    app = Shown()
    async with app.run_test(notifications=True, size=(60, 20)) as pilot:
        lines = LiveLines()
        lines.append("all is well\n")
        app.query_one(LogPane).show(lines, silence=Content(""))
        app.query_one(LogView).focus()
        await press(pilot, "exclamation_mark")
        assert [toast.message for toast in app._notifications] == ["No line speaks of a failure."]


class Looked(LiveLines):
    """Lines that know whether anybody has looked at them."""

    looked = False

    def block(self, block: int) -> list[str]:
        self.looked = True
        return super().block(block)


@pytest.mark.parametrize("typed", ["", "FAILED"])
async def test_what_was_looked_for_in_other_lines_is_let_go(typed: str) -> None:
    app = Shown()
    async with app.run_test(notifications=True, size=(40, 10)) as pilot:
        view = app.query_one(LogView)
        lines, others = Looked(), LiveLines()
        lines.append(numbered(200_000) + "FAILED\n")
        others.append(numbered(100))
        view.follow = False
        view.show(lines)
        await settle(pilot)
        lines.looked = False
        if typed:
            view.search(typed)
        else:
            view.action_first_failure()
        while not lines.looked:
            await asyncio.sleep(0)
        view.show(others)
        await settle(pilot)
        assert "match 1" not in view.state
        assert view.scroll_offset.y == 0
        assert not app._notifications


async def test_more_than_a_clipboard_holds_is_not_sent_to_the_terminal() -> None:
    async with showing("x" * 100 + "\n") as (pilot, view):
        await press(pilot, "y")
        assert pilot.app.clipboard == "x" * 100
        lines = LiveLines()
        lines.append(numbered(200_000))
        view.show(lines)
        await press(pilot, "y")
        assert pilot.app.clipboard == "x" * 100


async def test_selected_text_is_what_is_seen_without_colours() -> None:
    async with showing("\x1b[31mone\x1b[0m\n" + "x" * 60 + "\nthree\n") as (_, view):
        assert view.get_selection(SELECT_ALL) == ("one\n" + "x" * 60 + "\nthree", "\n")


async def test_another_theme_draws_output_in_its_colours() -> None:
    async with showing("\x1b[31mred\x1b[0m\n") as (pilot, view):
        before = view.render_line(0)
        pilot.app.theme = "day"
        await settle(pilot)
        assert view.render_line(0) != before


async def test_a_file_of_a_million_lines_is_shown_from_any_place(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as file:
        file.writelines(f"line {number} of the log\n" for number in range(1_000_000))
    lines = FileLines(path)
    for _ in lines.scan():
        pass
    async with showing(lines) as (pilot, view):
        assert (await press(pilot, "end"))[-1] == "line 999999 of the log"
        view.go_to(500_000)
        await settle(pilot)
        assert "line 500000 of the log" in screen_text(pilot.app)


async def test_no_step_of_the_loop_takes_long_while_a_hundred_thousand_lines_come() -> None:
    async with showing("", follow=True, size=(100, 40)) as (pilot, view):
        assert isinstance(view.lines, LiveLines)
        worst = 0.0
        for start in range(0, 100_000, 2000):
            before = time.thread_time()
            view.lines.append(
                "".join(f"\x1b[32mline {n}\x1b[0m {'x' * 60}\n" for n in range(start, start + 2000))
            )
            view.grown()
            worst = max(worst, time.thread_time() - before)
            await pilot.pause()
        assert len(view.lines) == 100_000
        assert "line 99999" in screen_text(pilot.app)
        assert worst < 0.05
