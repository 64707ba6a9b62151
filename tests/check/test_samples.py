"""The samples through the real command line: what they show, and what is left when it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import psutil
import pytest

from tests.check import tasks
from workbench import events as ev
from workbench import places

SAMPLES = places.shipped("sample_tasks")


def test_slugify_holds_and_its_stream_has_every_reward(tmp_path: Path) -> None:
    done = tasks.check(tmp_path, SAMPLES / "slugify", "--json")
    assert done.returncode == 0
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    assert (type(events[0]), type(events[-1])) == (ev.EngineStarted, ev.EngineStopped)
    outcomes = {event.case: event.outcome for event in events if isinstance(event, ev.RunEnded)}
    rewards = {case: outcome.reward for case, outcome in outcomes.items()}
    assert (rewards.pop("oracle"), rewards.pop("nop")) == (1.0, 0.0)
    assert len(rewards) >= 3
    assert set(rewards.values()) == {0.0}
    assert all(outcome.met and outcome.whole for outcome in outcomes.values())
    verdicts = [event.verdict for event in events if isinstance(event, ev.VerdictReached)]
    assert verdicts[-1].kind == "holds"


def test_a_directory_of_tasks_says_of_each_what_is_wrong_with_it(tmp_path: Path) -> None:
    junit, every = tmp_path / "junit.xml", tmp_path / "tasks"
    for sample in (path.parent for path in SAMPLES.glob("*/task.toml")):
        if not list(sample.rglob("Dockerfile")):  # those need a builder and the network
            shutil.copytree(sample, every / sample.name)
    done = tasks.check(tmp_path, every, "--junit", junit)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    verdicts = dict(re.findall(r"^samples/(.*): ([A-Z ]+)  ", "\n".join(lines[lines.index("", -8) :]), re.M))
    assert verdicts == {
        "broken-oracle": "BROKEN",
        "cannot-fail": "CANNOT FAIL",
        "multi-step": "HOLDS",
        "separate-verifier": "HOLDS",
        "several-rewards": "HOLDS",
        "slugify": "HOLDS",
    }
    assert "samples/cannot-fail: CANNOT FAIL  prints-nothing must fail, but passed" in done.stdout
    assert "    │ /solution/solve.sh: line 6: cd: /app/src: No such file or directory\n" in done.stdout
    failed = [
        (suite.get("name"), test.get("name"))
        for suite in ET.parse(junit).getroot()
        for test in suite.findall("testcase")
        if test.find("failure") is not None
    ]
    assert failed == [("samples/broken-oracle", "oracle"), ("samples/cannot-fail", "prints-nothing")]


def test_one_case_alone(tmp_path: Path) -> None:
    done = tasks.check(tmp_path, SAMPLES / "cannot-fail", "--case", "oracle", "--case", "nop")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "samples/cannot-fail: HOLDS  all 2 cases came out as they must"


def test_a_case_that_is_not_there(tmp_path: Path) -> None:
    done = tasks.check(tmp_path, SAMPLES / "slugify", "--case", "hard-coed")
    assert done.returncode == 2
    assert "slugify: there is no case 'hard-coed'; there are: hard-coded, " in done.stderr


def test_receipts_stand_in_for_runs_only_when_asked_and_only_for_what_they_speak_of(tmp_path: Path) -> None:
    task = tasks.write_task(tmp_path / "task")

    def ran(*args: object) -> tuple[set[str], set[str]]:
        done = tasks.check(tmp_path / "state", task, "--json", *args)
        assert done.returncode == 0, done.stderr
        events = [ev.decode(line) for line in done.stdout.splitlines()]
        run = {event.case for event in events if isinstance(event, ev.RunEnded)}
        return run, {event.case for event in events if isinstance(event, ev.RunRecalled)}

    every = {"oracle", "nop", "elsewhere"}
    assert ran() == (every, set())
    assert ran() == (every, set())
    assert ran("--cached") == (set(), every)
    assert ran("--cached", "--threshold", "0.5") == (every, set())
    (task / "negatives/elsewhere.sh").write_text("#!/bin/bash\ntouch /tmp/answr\n")
    assert ran("--cached") == ({"elsewhere"}, {"oracle", "nop"})


def test_a_harbor_environment_that_is_not_there(tmp_path: Path) -> None:
    done = tasks.check(tmp_path, SAMPLES / "slugify", "--provider", "harbor:dokcer")
    assert done.returncode == 3
    assert "dokcer" in done.stderr
    assert "docker" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_check_leaves_nothing_running(
    tmp_path: Path, number: signal.Signals
) -> None:
    seconds = f"3600.{os.getpid()}{number.value}"
    task = tasks.write_task(tmp_path / "task")
    (task / "tests/test.sh").write_text(f"#!/bin/bash\necho begun\nsleep {seconds}\n")
    process = subprocess.Popen(
        tasks.command(task, "--json"),
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    engine = ev.decode(process.stdout.readline())
    assert isinstance(engine, ev.EngineStarted)
    while "begun" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    if number == signal.SIGINT:
        ended = [event for line in out.splitlines() if isinstance(event := ev.decode(line), ev.RunEnded)]
        assert "cancelled" in {event.outcome.kind for event in ended}
        assert isinstance(ev.decode(out.splitlines()[-1]), ev.EngineStopped)
    until = time.monotonic() + 10
    while left := [p for p in psutil.process_iter(["pid", "cmdline"]) if _is_of(p, engine.pid, seconds)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def _is_of(process: psutil.Process, engine: int, seconds: str) -> bool:
    info: dict[str, object] = process.info
    return info["pid"] == engine or seconds in (info["cmdline"] or ())  # type: ignore[operator]


def test_the_engine_loads_neither_litellm_nor_textual_for_whole_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Forbid:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('litellm', 'textual'):\n"
        "            raise ImportError(f'{name} must not be loaded')\n"
        "sys.meta_path.insert(0, Forbid())\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = tasks.check(tmp_path, SAMPLES / "slugify")
    assert done.returncode == 0, done.stdout
