"""Pictures and asciicasts: what is on them, and that the same recording gives the same."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.ui.scenes import many_trials
from tests.ui.streams import CASES, PASSING, START, Stream, holding, passed
from tests.ui.terminal.driving import emulator
from workbench import events as ev
from workbench.pictures.stage import staged
from workbench.recording.recording import Recording, read_recording

SIZE = (100, 30)


def export(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", "export", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"".join(map(ev.encode, holding().events)))
    return file


@pytest.fixture
def brief(tmp_path: Path) -> Path:
    """A session of a single case, of which few frames are to be drawn."""
    stream = Stream().engine().task(CASES[:1]).wait(0.1).whole("oracle", passed(), PASSING)
    stream.verdict("holds", "the oracle passed", 1, 1).settled()
    file = tmp_path / "brief.jsonl"
    file.write_bytes(b"".join(map(ev.encode, stream.events)))
    return file


def words(picture: Path) -> str:
    """What stands on a picture."""
    text = re.sub(r"<[^>]*>", "", picture.read_text().partition("</defs>")[2])
    return unescape(text).replace("\xa0", " ")


async def test_a_demo_is_drawn_as_its_grid() -> None:
    recording = Recording(many_trials().events)
    async with staged(recording, recording.task(), SIZE) as stage:
        await stage.show(1.0)
        assert "1 of 16 done" in "\n".join(strip.text for strip in stage.strips())
        await stage.show(99)
        assert "8 of 16 done" in "\n".join(strip.text for strip in stage.strips())


def test_a_picture_shows_the_screen_as_it_was(session: Path, tmp_path: Path) -> None:
    done = export(
        session, "--svg", tmp_path / "new" / "pictures", "--at", 1, "--at", "99.5", "--size", "100x30"
    )
    assert done.returncode == 0, done.stderr
    early, late = (tmp_path / "new" / "pictures" / f"session-{at}.svg" for at in ("1", "99.5"))
    assert done.stdout.splitlines() == [str(early), str(late)]
    assert "HOLDS" not in words(early)
    assert "verifier" in words(early)
    assert "HOLDS 5/5" in words(late)


def test_without_a_moment_it_is_the_end_and_keys_are_pressed_before(session: Path, tmp_path: Path) -> None:
    assert export(session, "--svg", tmp_path, "--press", "down,down").returncode == 0
    shown = words(tmp_path / "session.svg")
    assert "HOLDS 5/5" in shown
    assert "what is wrong with it: cuts the title at 20 characters" in shown


def test_the_same_recording_gives_the_same_pictures(brief: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = export(
            brief, "--svg", tmp_path / name, "--asciicast", tmp_path / f"{name}.cast", "--size", "60x20"
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one/brief.svg").read_bytes() == (tmp_path / "two/brief.svg").read_bytes()
    assert (tmp_path / "one.cast").read_bytes() == (tmp_path / "two.cast").read_bytes()


def test_an_asciicast_played_in_a_terminal_shows_the_screen(brief: Path, tmp_path: Path) -> None:
    cast = tmp_path / "brief.cast"
    done = export(brief, "--asciicast", cast, "--size", "100x30")
    assert (done.returncode, done.stdout) == (0, f"{cast}\n")
    header, *frames = [json.loads(line) for line in cast.read_text().splitlines()]
    assert (header["version"], header["width"], header["height"]) == (2, *SIZE)
    assert (header["timestamp"], header["title"]) == (int(START), "workbench: slugify")
    moments = [moment for moment, _, _ in frames]
    assert moments == sorted(moments)
    recording = read_recording(brief)
    assert moments[-1] == round(recording.duration, 3)
    for until in (1.0, recording.duration):
        screen, _ = emulator(*SIZE)
        for moment, kind, data in frames:
            assert kind == "o"
            if moment <= until + 0.001:
                screen.feed(data.encode())
        shown = ["".join(part.text for part in row.segments).rstrip() for _, row in screen.changed()]
        assert shown == asyncio.run(_drawn(recording, until))


def test_of_years_in_which_nothing_happened_no_frame_is_drawn(tmp_path: Path) -> None:
    stream = Stream().engine().task(CASES[:1]).wait(1e9).settled()
    file, cast = tmp_path / "woken.jsonl", tmp_path / "woken.cast"
    file.write_bytes(b"".join(map(ev.encode, stream.events)))
    assert export(file, "--asciicast", cast).returncode == 0
    assert json.loads(cast.read_text().splitlines()[-1])[0] == 1e9


async def _drawn(recording: Recording, seconds: float) -> list[str]:
    async with staged(recording, recording.task(), SIZE) as stage:
        await stage.show(seconds)
        return [strip.text.rstrip() for strip in stage.strips()]


def test_a_neutral_copy_is_written(session: Path, tmp_path: Path) -> None:
    assert export(session, "--neutral", tmp_path / "copy.jsonl").returncode == 0
    opened = [
        event for event in read_recording(tmp_path / "copy.jsonl").events if isinstance(event, ev.TaskOpened)
    ]
    assert opened[0].task == "/home/author/tasks/slugify"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what to make: --svg DIR, --asciicast FILE or --neutral FILE"),
        (("--svg", "x", "--at", "1", "--at", "nan"), "Invalid value for '--at': nan is not a finite number"),
        (("--svg", "x", "--press", "j,nosuchkey"), "--press: there is no key 'nosuchkey'"),
        (("--svg", "x", "--press", "q"), "--press: 'q' closes the screen, so there is nothing to draw"),
        (("--svg", "x", "--size", "big"), "'big' is no size such as 160x50, of at least 20x10"),
        (("--svg", "x", "--task", "other"), "there is no task 'other' in this recording; there are: slugify"),
    ],
)
def test_what_makes_no_sense_is_refused(session: Path, words: tuple[str, ...], said: str) -> None:
    done = export(session, *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_a_place_that_cannot_be_written_is_named(session: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = export(session, "--svg", tmp_path / "file")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")
    assert f"{tmp_path / 'file'}" in done.stderr
    assert "Traceback" not in done.stderr
