"""The terminal widget with real programs in a local pty."""

from __future__ import annotations

import asyncio
import gc
import shutil
import time

import pytest
from rich.color import Color
from textual.events import Paste
from textual.geometry import Offset

from tests.ui.terminal.driving import BASH, Driven, is_alive, opened, program, script, until
from workbench.ui.terminal.transport import Exit


def needs(name: str) -> pytest.MarkDecorator:
    """Skip where a program is missing."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")


def colors(driven: Driven, text: str) -> tuple[Color | None, Color | None]:
    """Foreground and background of the first piece of the picture that has `text` in it."""
    for y in range(driven.terminal.size.height):
        for part in driven.terminal.render_line(y):
            if text in part.text and part.style:
                return part.style.color, part.style.bgcolor
    raise AssertionError(f"{text!r} is not shown")


async def test_a_shell_echoes_runs_and_prompts_again() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("echo $((6*7))")
        await driven.see("42")
        await driven.until(lambda: driven.lines[:3] == ["$ echo $((6*7))", "42", "$"])


async def test_the_program_knows_the_size_and_every_change_of_it() -> None:
    async with opened(BASH, (60, 19)) as driven:
        await driven.see("$")
        await driven.run("stty size")
        await driven.see("16 60")
        await driven.pilot.resize_terminal(90, 28)
        await driven.run("stty size")
        await driven.see("25 90")


async def test_the_exit_code_comes_back() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("exit 7")
        await driven.until(lambda: driven.app.seen == [Exit(7)])
        assert driven.terminal.ended == Exit(7)
        assert driven.terminal.has_class("-ended")


async def test_a_program_that_cannot_be_started_says_why() -> None:
    async with opened(program("no-such-program")) as driven:
        await driven.until(lambda: driven.terminal.ended is not None)
        assert driven.terminal.ended == Exit(
            126, "no-such-program cannot be started: there is no such program"
        )


async def test_ctrl_c_interrupts_what_runs() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        # What says that it runs can be interrupted; before that, the signal may still be the shell's.
        await driven.run("sh -c 'echo run''ning; exec sleep 1000'")
        await driven.see("running")
        await driven.press("ctrl+c")
        await driven.see("^C")
        await driven.run("echo $?")
        await driven.see("130")


async def test_keys_that_the_app_has_a_use_for_go_to_the_program_all_the_same() -> None:
    keys = ("ctrl+q", "ctrl+p", "x", "tab", "escape", "up", "ctrl+c", "alt+b", "question_mark", "f6")
    reader = script(
        "import os, tty; tty.setraw(0); print('ready', end='\\r\\n', flush=True)\n"
        "while True: print(os.read(0, 99).hex(), end=' ', flush=True)"
    )
    async with opened(reader) as driven:
        await driven.see("ready")
        sent = ["11", "10", "78", "09", "1b", "1b5b41", "03", "1b62", "3f", "1b5b31377e"]
        for number, key in enumerate(keys):
            await driven.press(key)
            await driven.see(" ".join(sent[: number + 1]))
        assert driven.app.seen == []


async def test_function_keys_that_the_app_has_a_use_for_are_the_apps() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.press("f5")
        await driven.until(lambda: driven.app.seen == ["f5"])


async def test_one_key_leaves() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.press("ctrl+right_square_bracket")
        await driven.until(lambda: driven.app.seen == ["left"])


async def test_what_is_typed_after_the_end_reaches_nobody() -> None:
    async with opened(program("true")) as driven:
        await driven.until(lambda: driven.terminal.ended is not None)
        await driven.press("x", "a")
        assert driven.app.seen == [Exit(0)]


async def test_colours_of_all_depths_are_shown() -> None:
    text = "\\x1b[31mred\\x1b[0m \\x1b[38;5;208morange\\x1b[0m \\x1b[38;2;1;2;3;48;2;4;5;6mtrue\\x1b[0m\\n"
    async with opened(script(f"print('{text}'); input()")) as driven:
        await driven.see("true")
        assert colors(driven, "red")[0] == Color.from_ansi(1)
        assert colors(driven, "orange")[0] == Color.from_ansi(208)
        assert colors(driven, "true") == (Color.from_rgb(1, 2, 3), Color.from_rgb(4, 5, 6))


async def test_programs_are_told_the_colours_of_the_theme() -> None:
    ask = script(
        "import os, tty; tty.setraw(0); os.write(1, b'\\x1b]11;?\\x07')\n"
        "print(os.read(0, 99).decode()[5:-1], flush=True); os.read(0, 1)"
    )
    async with opened(ask) as driven:
        await driven.see("rgb:")
        red, green, blue = (int(part[:2], 16) for part in driven.lines[0][4:].split("/"))
        background = driven.terminal.styles.background
        assert (red, green, blue) == background.rgb


async def test_wide_characters_and_joined_emoji_come_through_whole() -> None:
    async with opened(script("print('|漢字|👨‍👩‍👧|é|🇩🇪|'); input()")) as driven:
        await driven.see("|漢字|👨‍👩‍👧|é|🇩🇪|")
        await until(lambda: "|漢字|👨‍👩‍👧|é|🇩🇪|" in screen_line(driven, 0))


def screen_line(driven: Driven, y: int) -> str:
    """A line of the whole screen, as the outer terminal gets it."""
    return driven.app.screen._compositor.render_strips()[y].text


@needs("less")
async def test_less_has_a_screen_of_its_own_and_leaves_the_shell_as_it_was() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("seq 500 | less")
        await driven.see(":")
        assert driven.lines[0] == "1"
        await driven.press("G")
        await driven.see("500")
        await driven.press("q")
        await driven.until(lambda: driven.lines[:2] == ["$ seq 500 | less", "$"])


@needs("less")
async def test_the_wheel_scrolls_a_full_screen_program_that_has_no_use_for_the_mouse() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("seq 500 | LESS= less")
        await driven.until(lambda: driven.lines[0] == "1" and driven.lines[-1] == ":")
        driven.wheel(up=False)
        await driven.until(lambda: driven.lines[0] == "4")


@needs("vim")
async def test_vim_edits_and_its_mouse_moves_the_cursor() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("vim -u NONE -N -n --not-a-term")
        await driven.until(lambda: driven.lines[1] == "~")
        await driven.press(*"ione", "enter", *"two", "enter", *"three", "escape")
        await driven.until(lambda: driven.lines[:3] == ["one", "two", "three"])
        await driven.run(":set mouse=a ttymouse=sgr")
        await driven.pilot.click(driven.terminal, offset=Offset(2, 1))
        await driven.press("i", "X", "escape")
        await driven.until(lambda: driven.lines[1] == "twXo")
        await driven.run(":q!")
        await driven.until(lambda: driven.lines[0].startswith("$ vim"))


async def test_a_program_that_repaints_its_whole_screen_is_shown_as_it_is_in_the_end() -> None:
    top = script(
        "import os\n"
        "os.write(1, b'\\x1b[?1049h\\x1b[?25l')\n"
        "for frame in range(200):\n"
        "    line = '\\x1b[{0};1H\\x1b[4{1}m frame {2:3} line {3:2} \\x1b[0m'\n"
        "    lines = [line.format(y + 1, y % 8, frame, y) for y in range(16)]\n"
        "    os.write(1, ('\\x1b[?2026h' + ''.join(lines) + '\\x1b[?2026l').encode())\n"
        "input()"
    )
    async with opened(top) as driven:
        await driven.see("frame 199 line 15")
        assert [line.strip() for line in driven.lines] == [f"frame 199 line {y:2}" for y in range(16)]
        assert colors(driven, "line  3")[1] == Color.from_ansi(3)


async def test_a_picture_that_is_never_finished_is_shown_all_the_same() -> None:
    async with opened(script("print('\\x1b[?2026hhalf', flush=True); input()")) as driven:
        await driven.see("half")


async def test_pastes_are_bracketed_for_a_shell_that_asks_and_run_nothing() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        driven.app.post_message(Paste("echo one\necho two\n"))
        await driven.see("echo two")
        assert not any(line in ("one", "two") for line in driven.lines)
        await driven.press("enter")
        await driven.until(lambda: {"one", "two"} <= set(driven.lines))


async def test_the_focus_is_told_to_a_program_that_asks() -> None:
    reader = script(
        "import os, tty; tty.setraw(0); os.write(1, b'\\x1b[?1004hready\\r\\n')\n"
        "while True: print(os.read(0, 99)[1:].decode(), end='', flush=True)"
    )
    async with opened(reader) as driven:
        await driven.see("ready")
        driven.app.query_one("Input").focus()
        await driven.see("[O")
        driven.terminal.focus()
        await driven.see("[O[I")


async def test_a_program_that_asks_for_the_mouse_gets_it_and_shift_keeps_it_back() -> None:
    reader = script(
        "import os, tty; tty.setraw(0); os.write(1, b'\\x1b[?1002h\\x1b[?1006hready\\r\\n')\n"
        "while True: print(os.read(0, 99)[1:].decode(), end=' ', flush=True)"
    )
    async with opened(reader) as driven:
        await driven.see("ready")
        await driven.pilot.click(driven.terminal, offset=Offset(4, 2))
        await driven.see("[<0;5;3M [<0;5;3m")
        await driven.pilot.mouse_down(driven.terminal, offset=Offset(0, 0), shift=True)
        await driven.pilot.hover(driven.terminal, offset=Offset(4, 0))
        await driven.pilot.mouse_up(driven.terminal, offset=Offset(4, 0))
        await driven.until(lambda: driven.app.clipboard == "ready")


async def test_dragging_selects_and_copies() -> None:
    async with opened(script("print('one two three'); input()")) as driven:
        await driven.see("three")
        await driven.pilot.mouse_down(driven.terminal, offset=Offset(4, 0))
        await driven.pilot.hover(driven.terminal, offset=Offset(6, 0))
        await driven.pilot.mouse_up(driven.terminal, offset=Offset(6, 0))
        await driven.until(lambda: driven.app.clipboard == "two")
        await driven.until(lambda: colors(driven, "two") != colors(driven, "one"))


async def test_two_clicks_copy_a_word_and_three_a_line() -> None:
    async with opened(script("print('cat /etc/hosts now'); input()")) as driven:
        await driven.see("now")
        await driven.pilot.click(driven.terminal, offset=Offset(8, 0), times=2)
        await driven.until(lambda: driven.app.clipboard == "/etc/hosts")
        await driven.pilot.click(driven.terminal, offset=Offset(8, 0), times=3)
        await driven.until(lambda: driven.app.clipboard == "cat /etc/hosts now")


async def test_a_program_may_copy_by_osc_52() -> None:
    async with opened(script("print('\\x1b]52;c;Y29waWVk\\x07', flush=True); input()")) as driven:
        await driven.until(lambda: driven.app.clipboard == "copied")


async def test_a_thousand_bells_ring_once_and_a_thousand_titles_are_one() -> None:
    flood = "for n in range(1000): print('\\x07\\x1b]0;t' + str(n) + '\\x07', end='')"
    async with opened(script(f"{flood}\nprint('done', flush=True); input()")) as driven:
        await driven.see("done")
        await driven.until(lambda: driven.terminal.title_of_program == "t999")
        assert 1 <= driven.app.bells < 10
        assert len(driven.app.seen) < 10


async def test_lines_that_scrolled_away_come_back_by_wheel_and_keys_and_typing_returns() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        await driven.run("seq 100")
        await driven.until(lambda: driven.lines[-2] == "100")
        await driven.press("shift+pageup")
        await driven.until(lambda: driven.lines[-1] == "86")
        assert driven.terminal.lines_below == 15
        driven.wheel(up=True)
        await driven.until(lambda: driven.lines[-1] == "83")
        await driven.press("shift+home")
        await driven.until(lambda: driven.lines[:2] == ["$ seq 100", "1"])
        await driven.press("shift+end")
        await driven.until(lambda: driven.lines[-2] == "100")
        await driven.press("shift+pageup", "a")
        await driven.until(lambda: driven.lines[-1] == "$ a")


async def test_a_search_shows_and_marks_what_it_finds() -> None:
    async with opened(script("for n in range(200): print('line', n)\ninput()")) as driven:
        await driven.see("line 199")
        assert driven.terminal.search("line 42") == (1, 1)
        await driven.see("line 42")
        await driven.until(lambda: colors(driven, "line 42")[1] != colors(driven, "line 43")[1])
        driven.terminal.search("")
        await driven.until(lambda: colors(driven, "line 42")[1] == colors(driven, "line 43")[1])


async def test_a_terminal_out_of_sight_goes_on_and_is_right_when_it_comes_back() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        driven.terminal.display = False
        await driven.pilot.pause()
        driven.terminal.write("echo unseen; echo $((40+2))\r")
        await driven.until(lambda: "42" in driven.terminal.text().splitlines())
        driven.terminal.display = True
        await driven.see("42")


async def test_an_app_that_ends_ends_the_program() -> None:
    async with opened(BASH) as driven:
        await driven.see("$")
        pty = driven.terminal._transport
        pid = pty.process_id  # type: ignore[attr-defined]
    assert not is_alive(pid)


async def test_a_flood_of_output_never_keeps_the_loop_for_50_ms() -> None:
    """Measured as the loop's own work, which other processes on the machine cannot stretch."""
    gc.collect()
    gc.freeze()
    longest = 0.0
    async with opened(
        program("bash", "-c", "read; yes | head -100000; echo finished; read"), (140, 47)
    ) as driven:
        driven.terminal.write("\r")
        while not any("finished" in line for line in driven.lines):
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)
    gc.unfreeze()
    assert longest < 0.05
