"""What is left when an engine is killed, and that the next one removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.machines.bubblewrap.conftest import Person

_SWEEP = "tests.machines.bubblewrap.sweeper"


def test_a_killed_engine_leaves_only_files_and_the_next_one_removes_them(
    person: Person,
) -> None:
    directory = person.scratch("death")
    killed, gone = _captive(person, directory)
    living, there = _captive(person, directory)
    try:
        killed.kill()
        killed.wait()
        _wait_for_end(gone.processes)
        assert str(directory) not in Path("/proc/self/mounts").read_text()
        assert Path(gone.path).exists()
        assert _sweep(person, directory) == [gone.path]
        assert not Path(gone.path).exists()
        assert Path(there.path, "lock").exists()
        assert all(_state(pid) not in "ZX" for pid in there.processes), "a living session is let be"
    finally:
        living.kill()
        living.wait()
    _wait_for_end(there.processes)
    assert _sweep(person, directory) == [there.path]
    assert [path.name for path in (directory / "machines").iterdir()] == [".lock"]
    assert _sweep(person, directory) == []


def test_an_engine_killed_while_it_keeps_a_state_leaves_no_process(person: Person) -> None:
    engine, says = _captive(person, person.scratch("death"), "freezing")
    engine.kill()
    engine.wait()
    _wait_for_end(says.processes)


def test_a_machine_ends_with_its_engine_though_bwrap_was_killed_before(person: Person) -> None:
    engine, says = _captive(person, person.scratch("death"))
    children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children")
    for child in map(int, children.read_text().split()):
        if "bwrap" in os.fsdecode(os.readlink(f"/proc/{child}/exe")):
            os.kill(child, signal.SIGKILL)
    engine.kill()
    engine.wait()
    _wait_for_end(says.processes)


def test_a_process_that_closes_nothing_leaves_nothing(person: Person) -> None:
    directory = person.scratch("death")
    words = person.command("tests.machines.bubblewrap.forgetful", str(directory))
    subprocess.run(words, env=person.env, cwd="/", check=True, timeout=60)
    assert [path.name for path in (directory / "machines").iterdir()] == [".lock"]


def test_what_a_stop_held_up_is_ended_by_the_next_engine(person: Person) -> None:
    directory = person.scratch("death")
    engine, says = _captive(person, directory)
    nsenters = [pid for pid in says.processes if _name(pid) == "nsenter"]
    assert nsenters
    for pid in nsenters:
        os.kill(pid, signal.SIGSTOP)
    _wait(lambda: all(_state(pid) == "T" for pid in nsenters), 2)
    engine.kill()
    engine.wait()
    assert _sweep(person, directory) == [says.path]
    _wait_for_end(says.processes, seconds=20)  # the host's init, which reaps the rest, takes its time


class Captive(msgspec.Struct):
    """What `captive` prints."""

    path: str
    processes: list[int]


def _captive(person: Person, directory: Path, *how: str) -> tuple[subprocess.Popen[str], Captive]:
    words = person.command("tests.machines.bubblewrap.captive", str(directory), *how)
    engine = subprocess.Popen(words, env=person.env, cwd="/", stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    return engine, msgspec.json.decode(engine.stdout.readline(), type=Captive)


def _sweep(person: Person, directory: Path) -> list[str]:
    words = person.command(_SWEEP, str(directory))
    done = subprocess.run(words, env=person.env, cwd="/", capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout, type=list[str])


def _wait_for_end(pids: list[int], seconds: float = 2) -> None:
    _wait(lambda: all(_state(pid) in "ZX" for pid in pids), seconds)


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
