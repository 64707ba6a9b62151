"""`workbench play` and `--record` as a user's own programs."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.check.tasks import write_task
from workbench import events as ev
from workbench.recording.recording import read_recording

PATIENCE = 90.0
"""Seconds; only a fault makes a test wait this long."""


class Program:
    """A program with a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self._printed = b""

    def until(self, text: str) -> None:
        """Read what it prints until that has come."""
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self._printed:
            assert time.monotonic() < deadline, self._printed[-3000:].decode(errors="replace")
            self._printed += os.read(self._terminal, 65536)
        self._printed = b""

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._terminal, keys.encode())

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        with suppress(OSError):
            while os.read(self._terminal, 65536):
                pass
        return self.process.wait(timeout=PATIENCE)


@contextmanager
def started(tmp_path: Path, *args: object) -> Iterator[Program]:
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    homes = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("STATE", "CONFIG")}
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *map(str, args)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | homes | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Program(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_the_recording_that_ships_is_played_without_a_word_more(tmp_path: Path) -> None:
    with started(tmp_path, "play", "--speed", "50") as program:
        program.until("HOLDS")
        program.until("ended")
        program.press("q")
        assert program.ended() == 0


def test_a_recording_that_ships_is_played_by_its_name(tmp_path: Path) -> None:
    with started(tmp_path, "play", "demo", "--speed", "50") as program:
        program.until("16 of 16")
        program.press("q")
        assert program.ended() == 0


def test_a_recording_is_told_in_lines_without_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "play", "--plain", "--speed", "1000"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("slugify: a recording.")
    assert lines[-1] == "the recording has ended"
    assert [line for line in lines if line.startswith("verdict: holds")]


def test_another_task_of_a_recording_is_gone_to_and_played(tmp_path: Path) -> None:
    tasks = ("/tasks/first", "/tasks/second")
    names = ("org/one", "org/two")
    opened = [ev.TaskOpened(task=task, name=name) for task, name in zip(tasks, names, strict=True)]
    file = tmp_path / "two.jsonl"
    file.write_bytes(b"".join(map(ev.encode, opened)))
    with started(tmp_path, "play", file) as program:
        program.until("Also in this recording: second")
        program.press("/sec\r")
        program.until("org/two")
        program.press("q")
        assert program.ended() == 0


def test_what_is_shown_of_a_task_is_recorded_until_it_is_left(tmp_path: Path) -> None:
    task, file = write_task(tmp_path / "task"), tmp_path / "session.jsonl"
    with started(tmp_path, task, "--no-shell", "--provider", "bubblewrap", "--record", file) as program:
        program.until("HOLDS")
        program.press("q")
        assert program.ended() == 0
    recording = read_recording(file)
    assert recording.tasks == (str(task),)
    assert {event.case for event in recording.events if isinstance(event, ev.RunEnded)} == {
        *("oracle", "nop", "elsewhere"),
    }


def test_only_what_is_named_is_looked_for_here(tmp_path: Path) -> None:
    (tmp_path / "slugify").write_text("no recording")
    (tmp_path / "other.jsonl").write_text("no recording")

    def refusal(*words: str) -> str:
        command = [sys.executable, "-m", "workbench", "play", *words]
        done = subprocess.run(
            command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        return " ".join(done.stderr.split())

    assert "the screen needs a terminal" in refusal()
    assert "slugify:1: is no event" in refusal("slugify")
    assert "other: cannot be read" in refusal(str(tmp_path / "other"))


def test_a_demo_of_an_agent_is_recorded_and_played_as_such(tmp_path: Path) -> None:
    task, file = write_task(tmp_path / "task"), tmp_path / "demo.jsonl"
    agent = ("--agent", "tests.agents:Toucher", "--provider", "bubblewrap", "-k", "2")
    with started(tmp_path, "demo", task, *agent, "--record", file) as program:
        program.until("2 of 2")
        program.press("q")
        assert program.ended() == 0
    ended = [event for event in read_recording(file).events if isinstance(event, ev.RunEnded)]
    assert [(event.case, event.outcome.kind) for event in ended] == [("Toucher", "passed")] * 2
    with started(tmp_path, "play", file, "--speed", "50") as program:
        program.until("2 of 2")
        program.press("q")
        assert program.ended() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("play",), "the screen needs a terminal; without one, use `workbench export`, or --plain"),
        (("play", "absent.jsonl"), "absent.jsonl: cannot be read: No such file or directory"),
        (("play", "--task", "zzz"), "there is no task 'zzz' in this recording; there are: slugify"),
        (
            ("open", ".", "--record", "x"),
            "x: is in the task, which is watched; record to a file outside of it",
        ),
        (("check", ".", "--record", "absent/x"), "absent/x: cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    write_task(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
