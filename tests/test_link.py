"""The link to the engine, against small programs in the engine's place."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from workbench import events as ev
from workbench.link import Death, EngineLink, EngineOptions, EngineStartError
from workbench.wishes import Replay

type Program = Callable[[str], EngineOptions]

PRELUDE = """
import os, signal, subprocess, sys, time
from workbench import events as ev, wishes
def tell(event):
    sys.stdout.buffer.write(ev.encode(event))
    sys.stdout.buffer.flush()
tell(ev.EngineStarted(pid=os.getpid(), version="0"))
"""

OBEDIENT = """
for line in sys.stdin.buffer:
    wish = wishes.decode(line)
    if isinstance(wish, wishes.Stop):
        break
    tell(ev.Notice(level="info", message=f"{type(wish).__name__} {wish.task}"))
tell(ev.EngineStopped())
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes the options that start a Python program as the engine."""

    def make(body: str) -> EngineOptions:
        path = tmp_path / "program.py"
        path.write_text(PRELUDE + textwrap.dedent(body))
        return EngineOptions(state_dir=tmp_path / "state", program=(sys.executable, str(path)))

    return make


async def heard(link: EngineLink) -> list[ev.Event]:
    return [event async for event in link.events()]


def messages(events: list[ev.Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, ev.Notice)]


def test_the_options_become_the_command_line(tmp_path: Path) -> None:
    options = EngineOptions(
        provider="smol", concurrency=3, threshold=0.5, state_dir=tmp_path, program=("engine",)
    )
    assert options.argv == (
        *("engine", "--provider", "smol", "-n", "3", "--threshold", "0.5"),
        *("--state-dir", str(tmp_path)),
    )
    bare = EngineOptions(state_dir=tmp_path, program=("e",))
    assert bare.argv == ("e", "--state-dir", str(tmp_path))
    assert bare.behind_a_screen().argv == (*bare.argv, "--give-way")


async def test_wishes_go_in_and_events_come_out(program: Program) -> None:
    async with EngineLink(program(OBEDIENT)) as link:
        events = link.events()
        assert isinstance(await anext(events), ev.EngineStarted)
        await link.send(Replay(task="/a task"))
        answer = await anext(events)
        assert isinstance(answer, ev.Notice)
        assert answer.message == "Replay /a task"
        await link.stop()
        assert [type(event) async for event in events] == [ev.EngineStopped]
    assert link.death is None


async def test_the_engine_is_asked_to_stop_on_leaving(program: Program, tmp_path: Path) -> None:
    body = OBEDIENT + f"open({str(tmp_path / 'ended')!r}, 'w').close()"
    async with EngineLink(program(body)) as link:
        await anext(link.events())
    assert (tmp_path / "ended").exists()
    assert link.pid is None


async def test_an_engine_that_does_not_stop_is_killed_with_what_it_started(
    program: Program, tmp_path: Path
) -> None:
    body = f"""
    child = subprocess.Popen(["sleep", "600"])
    open({str(tmp_path / "child")!r}, "w").write(str(child.pid))
    tell(ev.Notice(level="info", message="ready"))
    time.sleep(600)
    """
    async with EngineLink(program(body)) as link:
        events = link.events()
        await anext(events)
        await anext(events)
        engine = link.pid
        assert engine is not None
        await link.stop(grace=0.1)
    await gone(engine)
    await gone(int((tmp_path / "child").read_text()))


async def test_an_engine_that_dies_is_told_with_the_end_of_its_log(program: Program) -> None:
    body = """
    print("one", "two", sep="\\n", file=sys.stderr)
    sys.exit(7)
    """
    async with EngineLink(program(body)) as link:
        events = await heard(link)
        last = events[-1]
        assert isinstance(last, ev.EngineFailed)
        assert last.message == "the engine ended unexpectedly, with exit code 7"
        assert last.hint == f"its log is {link.log}"
        assert link.death == Death(7, link.log, ("one", "two"))


async def test_a_killed_engine_is_noticed_while_a_grandchild_holds_its_pipes(program: Program) -> None:
    body = """
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    tell(ev.Notice(level="info", message=str(child.pid)))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    async with EngineLink(program(body)) as link:
        events = await heard(link)
    os.kill(int(messages(events)[0]), signal.SIGKILL)
    assert isinstance(events[-1], ev.EngineFailed)
    assert events[-1].message == "the engine was killed by SIGKILL"


async def test_what_a_dying_engine_printed_is_heard_by_a_slow_face(program: Program) -> None:
    body = """
    for number in range(40_000):
        sys.stdout.buffer.write(ev.encode(ev.Notice(level="info", message=f"{number:040}")))
    sys.stdout.buffer.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    """
    async with EngineLink(program(body)) as link:
        count = 0
        async for event in link.events():
            count += isinstance(event, ev.Notice)
            if count % 5000 == 1:
                await asyncio.sleep(0.05)
    assert count == 40_000


async def test_a_failure_that_the_engine_told_itself_is_not_told_twice(program: Program) -> None:
    body = """
    tell(ev.EngineFailed(message="no provider"))
    sys.exit(3)
    """
    async with EngineLink(program(body)) as link:
        events = await heard(link)
    assert [event.message for event in events if isinstance(event, ev.EngineFailed)] == ["no provider"]
    assert link.death is not None
    assert link.death.returncode == 3


async def test_another_engine_can_be_started_after_one_died(program: Program) -> None:
    link = EngineLink(program("os.kill(os.getpid(), signal.SIGKILL)"))
    await link.start()
    await heard(link)
    first = link.log
    assert link.died == -signal.SIGKILL
    link.options = program(OBEDIENT)
    await link.restart()
    assert link.died is None
    assert link.log != first
    await link.stop()
    assert [type(event) for event in await heard(link)] == [ev.EngineStarted, ev.EngineStopped]


async def test_a_line_that_is_no_event_becomes_a_notice(program: Program) -> None:
    body = (
        """
    sys.stdout.buffer.write(b"Traceback: \\xff\\n\\n{\\"event\\": \\"unheard-of\\"}\\n")
    sys.stdout.buffer.flush()
    """.replace("\n    ", "\n")
        + OBEDIENT
    )
    async with EngineLink(program(body)) as link:
        await link.stop()
        events = await heard(link)
    assert [text.partition("(")[0] for text in messages(events)] == ["the engine sent what is no event "] * 2
    assert messages(events)[0].endswith("'Traceback: �'")
    assert "unheard-of" in messages(events)[1]


async def test_a_line_of_many_megabytes_is_one_event(program: Program) -> None:
    body = "tell(ev.Output(run='r', source='verifier', text='x' * 20_000_000))" + OBEDIENT
    async with EngineLink(program(body)) as link:
        events = link.events()
        await anext(events)
        output = await anext(events)
    assert isinstance(output, ev.Output)
    assert len(output.text) == 20_000_000


async def test_an_engine_can_end_though_the_face_reads_nothing(program: Program) -> None:
    body = """
    for number in range(40_000):
        sys.stdout.buffer.write(ev.encode(ev.Notice(level="info", message=f"{number:0100}")))
    tell(ev.EngineStopped())
    """
    async with EngineLink(program(body)) as link:
        await link.stop()
        assert len(messages(await heard(link))) == 40_000
    assert link.death is None


async def test_a_state_directory_that_cannot_be_written_is_told(program: Program, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    link = EngineLink(program(OBEDIENT))
    with pytest.raises(EngineStartError, match="the engine cannot be started") as caught:
        await link.start()
    assert str(tmp_path / "state") in str(caught.value)


async def test_a_wish_to_an_engine_that_ended_is_let_go(program: Program) -> None:
    async with EngineLink(program("sys.exit(0)")) as link:
        await heard(link)
        await link.send(Replay(task="/t"))


async def test_only_the_newest_logs_are_kept(program: Program, tmp_path: Path) -> None:
    logs = tmp_path / "state" / "logs"
    logs.mkdir(parents=True)
    for number in range(60):
        (logs / f"engine-20200101-000000-1-{number:03}.log").touch()
    async with EngineLink(program(OBEDIENT)) as link:
        pass
    assert len(list(logs.iterdir())) == 50
    assert link.log.exists()
    assert not (logs / "engine-20200101-000000-1-010.log").exists()


FACE = """
import asyncio, sys
from pathlib import Path
from workbench.link import EngineLink, EngineOptions

async def main():
    asyncio.get_running_loop().slow_callback_duration = 60  # what is slow says more of the host
    options = EngineOptions(state_dir=Path(sys.argv[2]), program=(sys.executable, sys.argv[1]))
    async with EngineLink(options) as link:
        print(link.pid, flush=True)
        async for event in link.events():
            print(type(event).__name__, flush=True)
            if sys.argv[3] == "leave":
                break

asyncio.run(main(), debug=True)
"""


def face(tmp_path: Path, options: EngineOptions, mode: str) -> subprocess.Popen[str]:
    script = tmp_path / "face.py"
    script.write_text(FACE)
    argv = [sys.executable, "-X", "dev", str(script), options.program[1], str(options.state_dir), mode]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_face_leaves_without_a_warning(program: Program, tmp_path: Path) -> None:
    process = face(tmp_path, program(OBEDIENT), "leave")
    stdout, stderr = process.communicate(timeout=60)
    assert stdout.split()[1:] == ["EngineStarted"]
    assert stderr == ""
    assert process.returncode == 0


async def test_the_engine_sees_that_its_face_was_killed(program: Program, tmp_path: Path) -> None:
    process = face(tmp_path, program(OBEDIENT), "stay")
    assert process.stdout is not None
    engine = int(process.stdout.readline())
    assert process.stdout.readline() == "EngineStarted\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    await gone(engine)


async def gone(pid: int) -> None:
    """Waits until the process has ended; a zombie that init has not reaped counts as ended."""
    until = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until, f"process {pid} still lives"
        await asyncio.sleep(0.02)
