"""The screen as a process in a terminal: it leaves the terminal as it was, however it ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.bench.screen import Screen

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


def test_a_terminal_that_is_read_slowly_loses_nothing() -> None:
    with Screen([sys.executable, "-c", PROGRAM], size=(80, 24)) as screen:
        screen.wait_for(b"HOLDS", at_once=64)
        screen.wait_for(b"6 passed", at_once=64)
        screen.press(b"q", LEAVES)
        assert screen.wait() == 0
