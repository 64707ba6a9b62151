"""The screen as a process in a terminal: it leaves the terminal as it was, however it ends."""

from __future__ import annotations

import os
import pty
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from tests.bench.screen import PATIENCE, Screen
from tests.ui.terminal.driving import emulator
from workbench import settings
from workbench.ui.paced import _Taken

ROOT = Path(__file__).parents[2]
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.ui.streams import TASK, RecordedSource, holding
from workbench.ui.app import run
run(RecordedSource(holding().events), Path(TASK), shell=False)
"""
LEAVES = b"\x1b[?1049l"
"""What ends the screen of a full-screen program."""


@pytest.mark.parametrize("end", ["q", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_given_back(end: str) -> None:
    with Screen([sys.executable, "-c", PROGRAM]) as screen:
        before = screen.modes()
        screen.wait_for(b"6 passed")
        assert screen.modes() != before
        if end == "q":
            screen.press(b"q", LEAVES)
        else:
            os.kill(screen.pid, getattr(signal, end))
            screen.wait_for(LEAVES)
        assert screen.wait() == 0
        assert screen.modes() == before


def test_it_is_suspended_and_brought_back() -> None:
    with Screen([sys.executable, "-c", PROGRAM]) as screen:
        screen.wait_for(b"6 passed")
        screen.press(b"\x1a", LEAVES)
        os.waitid(os.P_PID, screen.pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(screen.pid, signal.SIGCONT)
        screen.wait_for(b"6 passed")
        screen.press(b"q", LEAVES)
        assert screen.wait() == 0


def test_the_terminal_is_taken_back_from_an_editor_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_(monkeypatch, tmp_path, editor="/no/such/editor")
    with Screen([sys.executable, "-c", PROGRAM]) as screen:
        screen.wait_for(b"6 passed")
        screen.press(b"e", b"/no/such/editor: No such file or directory.")
        screen.press(b"q", LEAVES)
        assert screen.wait() == 0


def test_an_interrupt_in_the_pager_is_the_pager_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    # As Ctrl-C does, it reaches all who are in front.
    pager.write_text("#!/bin/sh\ntrap 'exit 0' INT\nkill -INT 0\n")
    pager.chmod(0o755)
    set_(monkeypatch, tmp_path, pager=str(pager))
    with Screen([sys.executable, "-c", PROGRAM]) as screen:
        screen.wait_for(b"6 passed")
        screen.press(b"3", b"First failure")
        screen.press(b"v", b"6 passed")
        screen.press(b"?", b"filter by key or word")
        screen.press(b"\x11", LEAVES)
        assert screen.wait() == 0


def set_(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **chosen: str) -> None:
    """Set something in the settings."""
    file = tmp_path / "settings.toml"
    file.write_text("remember = false\n" + "".join(f'{name} = "{value}"\n' for name, value in chosen.items()))
    monkeypatch.setenv(settings.VARIABLE, str(file))


def test_it_quits_though_the_terminal_takes_nothing_any_more() -> None:
    with Screen([sys.executable, "-c", PROGRAM], size=(80, 24)) as screen:
        before = screen.modes()
        screen.wait_for(b"6 passed")
        # Each selects another case, whose output is drawn: more than a terminal holds, and nobody reads it.
        os.write(screen.terminal, b"jk" * 20)
        os.write(screen.terminal, b"q")
        assert screen.ended(within=PATIENCE) == 0
        assert screen.modes() == before
        screen.slowly(LEAVES, None)


def test_it_ends_when_the_line_is_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROGRAM", PROGRAM)
    with Screen([sys.executable, "-c", IN_SESSION]) as screen:
        screen.wait_for(b"6 passed")
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, screen.terminal)
        os.close(nothing)
        assert screen.ended(within=PATIENCE) == 0


IN_SESSION = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY)
os.execv(sys.executable, [sys.executable, "-c", os.environ["PROGRAM"]])
"""
"""The program with the terminal as its own, whose end it is told of."""
IN_BASH = """
import fcntl, os, termios
fcntl.ioctl(0, termios.TIOCSCTTY)
os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
"""
"""A shell with job control, which needs the terminal to be its own."""
OFF = (b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?25h", b"\x1b[<u", LEAVES)
"""Mouse, paste, keyboard and cursor as a shell has them, and its own screen."""


def test_what_is_on_its_way_to_a_terminal_that_is_gone_holds_up_no_end() -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as file:
        writer = WriterThread(cast(IO[str], _Taken(file)))
        os.close(ours)
        writer.start()
        for _ in range(2 * MAX_QUEUED_WRITES):
            writer.write("picture" * 1000)
        stopping = threading.Thread(target=writer.stop, daemon=True)
        stopping.start()
        stopping.join(PATIENCE)
        assert not stopping.is_alive()
        with suppress(OSError):
            file.close()


def test_a_shell_suspends_it_and_brings_it_back_with_the_terminal_as_either_needs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(settings.VARIABLE, str(tmp_path / "settings.toml"))
    (tmp_path / "settings.toml").write_text("remember = false\n")
    monkeypatch.setenv("PS1", "ready> ")
    monkeypatch.setenv("PROGRAM", PROGRAM)
    terminal, _ = emulator(80, 24)
    with Screen([sys.executable, "-c", IN_BASH], size=(80, 24)) as screen:

        def typed(text: bytes, awaited: bytes) -> bytes:
            os.write(screen.terminal, text)
            written = screen.slowly(awaited, None)
            terminal.feed(written)
            return written

        typed(b"", b"ready> ")
        of_the_shell = screen.modes()
        typed(f'{sys.executable} -c "$PROGRAM"\r'.encode(), b"6 passed")
        assert "HOLDS" in terminal.text()
        assert screen.modes() != of_the_shell
        written = typed(b"\x1a", b"ready> ")
        assert [code for code in OFF if code not in written] == []
        assert "Stopped" in terminal.text()
        assert "HOLDS" not in terminal.text()
        assert screen.modes() == of_the_shell
        typed(b"fg\r", b"6 passed")
        assert "HOLDS" in terminal.text()
        typed(b"j", "Run · nop".encode())
        written = typed(b"q", b"ready> ")
        assert [code for code in OFF if code not in written] == []
        assert screen.modes() == of_the_shell
        typed(b"echo it ended with $?\r", b"it ended with 0")
        assert "HOLDS" not in terminal.text()
    terminal.close()


def read_at(baud: float | None, keys: bytes) -> tuple[list[str], int]:
    """What stands on the screen in the end, and how the program ended, on a line of so many bits a second.

    Args:
        baud: As fast as it goes when None.
        keys: Pressed one after the other while it still paints.
    """
    with Screen([sys.executable, "-c", PROGRAM], size=(80, 24)) as screen:
        before = screen.modes()
        seen = screen.slowly(b"HOLDS", baud)
        for key in keys:
            os.write(screen.terminal, bytes([key]))
        seen += screen.slowly(b"", baud)
        os.write(screen.terminal, b"q")
        left = screen.slowly(LEAVES, baud)
        ended = screen.wait()
        assert screen.modes() == before
    terminal, happened = emulator(80, 24)
    terminal.feed(seen)
    assert happened.titles == []
    shown = [line.rstrip() for line in terminal.text().splitlines()]
    terminal.feed(left)
    assert "HOLDS" not in terminal.text()
    terminal.close()
    return shown, ended


def test_on_a_slow_line_the_screen_becomes_what_it_is_on_a_fast_one_and_it_quits_clean(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text("remember = false\n")
    monkeypatch.setenv(settings.VARIABLE, str(tmp_path / "settings.toml"))
    fast = read_at(None, b"jj[]")
    assert fast[1] == 0
    assert any("HOLDS" in line for line in fast[0])
    # The first picture has more bytes than a terminal holds, so that writing has to wait for the reader.
    assert read_at(float(os.environ.get("SLOW_BAUD", "96000")), b"jj[]") == fast
