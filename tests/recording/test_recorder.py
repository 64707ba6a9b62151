"""What is written down of a session, and read again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.check.conftest import Engine
from tests.check.conftest import engine as engine
from tests.check.conftest import make_task as make_task
from tests.ui.streams import RecordedSource, Stream, holding
from workbench import events as ev
from workbench.check.run import CheckOptions, check
from workbench.machines.machine import HostCommand
from workbench.recording.recorder import Recorded, Recorder, RecorderError
from workbench.recording.recording import Recording, RecordingError, read_recording


async def told(events: list[ev.Event]) -> AsyncIterator[ev.Event]:
    for event in events:
        yield event


def written(path: Path, *events: ev.Event) -> Path:
    path.write_bytes(b"".join(map(ev.encode, events)))
    return path


async def test_what_is_read_again_is_what_was_told(tmp_path: Path) -> None:
    events = holding().events
    recorder = Recorder(tmp_path / "session.jsonl")
    assert [event async for event in recorder.listening(told(events))] == events
    recording = read_recording(tmp_path / "session.jsonl")
    assert recording.events == tuple(events)
    assert (recording.start, recording.duration) == (events[0].at, events[-1].at - events[0].at)


def test_a_check_records_exactly_what_it_prints_as_json(
    engine: Engine, make_task: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert callable(make_task)
    file = tmp_path / "check.jsonl"
    options = engine("for task in opened():\n    hold(task)\n")
    done = check(CheckOptions(paths=(make_task("one"),), engine=options, json=True, record=file))
    assert done == 0
    assert file.read_text() == capfd.readouterr().out


def test_a_crash_leaves_all_that_was_told_before(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    program = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.ui.streams import holding
from workbench.recording.recorder import Recorder
async def main():
    async def told():
        for event in holding().events[:20]:
            yield event
        os.kill(os.getpid(), signal.SIGKILL)
    async for _ in Recorder(Path(sys.argv[1])).listening(told()):
        pass
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_recording(file).events == tuple(holding().events[:20])


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    events = holding().events
    file = written(tmp_path / "session.jsonl", *events)
    os.truncate(file, file.stat().st_size - 10)
    assert read_recording(file).events == tuple(events[:-1])


async def test_a_session_goes_on_when_it_can_no_longer_be_recorded() -> None:
    events = holding().events
    source = Recorded(RecordedSource(events), Recorder(Path("/dev/full")))
    heard = []
    async for event in source.events():
        heard.append(event)
        if event == events[-1]:
            break
    notice, *rest = heard
    assert isinstance(notice, ev.Notice)
    assert notice.message == (
        "/dev/full: cannot be written: No space left on device; the recording ends here"
    )
    assert rest == events


async def test_a_recording_may_be_replaced_but_nothing_else(tmp_path: Path) -> None:
    file = written(tmp_path / "session.jsonl", *holding().events)
    Recorder(file)
    assert file.read_bytes() == b""
    file.write_text("[task]\n")
    with pytest.raises(RecorderError, match="is there already, and is no recording; name another file"):
        Recorder(file)
    assert file.read_text() == "[task]\n"
    with pytest.raises(RecorderError, match=r"absent/x: cannot be written: No such file or directory"):
        Recorder(tmp_path / "absent" / "x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": is empty; make a recording with `workbench TASK_DIR --record FILE`"),
        ("# Readme\n", ":1: is no event of a recording "),
        ('{"event":"engine-stopped"}\n{"event":"engine-stopt"}\n\n', ":2: is no event of a recording "),
        (
            '{"event":"engine-started","pid":1,"version":"9.9","protocol":99}\n{"event":"new"}\n',
            ":2: is of workbench 9.9, newer than this one; update it to play this",
        ),
    ],
)
def test_what_is_no_recording_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(text)
    with pytest.raises(RecordingError) as raised:
        read_recording(file)
    assert str(raised.value).startswith(f"{file}{said}")


def test_the_tasks_of_a_recording_are_found_by_name(tmp_path: Path) -> None:
    one, two = (ev.TaskOpened(task=f"/tasks/{name}", name=f"org/{name}") for name in ("one", "two"))
    recording = Recording([one, two, ev.TaskUnreadable(task="/tasks/three", reason="")])
    assert (recording.task(), recording.task("two")) == ("/tasks/one", "/tasks/two")
    with pytest.raises(RecordingError, match=r"there is no task 'four' .* there are: one, two, three"):
        recording.task("four")
    with pytest.raises(RecordingError, match="no task was opened"):
        Recording([ev.EngineStopped()]).task()


def test_a_task_that_was_opened_later_begins_then() -> None:
    opened = [
        ev.TaskOpened(at=at, task=task, name=task) for at, task in ((2, "one"), (60, "two"), (70, "two"))
    ]
    recording = Recording([ev.EngineStarted(at=1, pid=1, version="0"), *opened])
    assert [recording.beginning(task) for task in ("one", "two")] == [0, 59]
    assert [recording.others(task) for task in ("one", "two")] == [["two"], ["one"]]


def test_commands_for_shells_are_never_played() -> None:
    stream = Stream()
    command = HostCommand(argv=("rm", "-rf", "/"), env={})
    shell = ev.ShellReady(at=stream.now, task="/t", shell="1", title="the image", command=command)
    assert Recording([*stream.engine().events, shell]).events == tuple(stream.events)


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    events = [ev.EngineStopped(at=at) for at in (100.0, 110.0, 105.0, 112.0)]
    recording = Recording(events)
    assert recording.duration == 12.0
    assert [recording.count(seconds) for seconds in (0, 9, 10, 12)] == [1, 1, 3, 4]
