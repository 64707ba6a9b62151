"""A scripted program in the engine's place, for what a real engine does only when things go wrong."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.link import EngineOptions

PRELUDE = """
import os, signal, sys, time
from workbench import events as ev, wishes
from workbench.cases.case import Case
from workbench.proof.verdict import Verdict
from workbench.task.problem import Problem
from workbench.trials.outcome import Outcome, Phase, Test

ORACLE = Case(name="oracle", kind="oracle", expect="pass", script="solution/solve.sh")
NOP = Case(name="nop", kind="nop", expect="fail")
WRONG = Case(name="wrong", kind="negative", expect="fail", why="it forgets the hyphen")
PASSED = Outcome(kind="passed", reason="reward 1", reward=1.0, met=True)
FAILED = Outcome(kind="failed", reason="reward 0", reward=0.0, met=True)
HOLDS = Verdict("holds", "all 2 cases came out as they must", (), 2, 2)

def tell(*events):
    for event in events:
        sys.stdout.buffer.write(ev.encode(event))
    sys.stdout.buffer.flush()

def open_(task, *cases):
    tell(ev.TaskOpened(task=task, name="org/" + task.rpartition("/")[2], image="image-free"))
    tell(ev.CasesFound(task=task, cases=cases))
    tell(*(ev.RunQueued(task=task, case=case.name, run=task + case.name) for case in cases))

def begin(task, case):
    tell(ev.RunStarted(task=task, case=case.name, run=task + case.name, trial_dir="/trials/" + case.name))

def end(task, case, outcome):
    tell(ev.RunEnded(task=task, case=case.name, run=task + case.name, outcome=outcome))

def output(task, case, source, text):
    tell(ev.Output(run=task + case.name, source=source, text=text))

def settle(task, verdict):
    tell(ev.VerdictReached(task=task, verdict=verdict), ev.Settled(task=task))

def hold(task):
    open_(task, ORACLE, NOP)
    for case, outcome in ((ORACLE, PASSED), (NOP, FAILED)):
        begin(task, case)
        end(task, case, outcome)
    settle(task, HOLDS)

def opened():
    for line in sys.stdin.buffer:
        wish = wishes.decode(line)
        if isinstance(wish, wishes.Stop):
            tell(ev.EngineStopped())
            return
        yield wish.task

tell(ev.EngineStarted(pid=os.getpid(), version="0"))
tell(ev.ProviderChosen(name="bubblewrap", label="bubblewrap: namespaces, not a VM", why="asked for"))
"""

type Engine = Callable[[str], EngineOptions]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Makes the options that start a script as the engine."""

    def make(body: str) -> EngineOptions:
        path = tmp_path / "engine.py"
        path.write_text(PRELUDE + textwrap.dedent(body))
        return EngineOptions(state_dir=tmp_path / "state", program=(sys.executable, str(path)))

    return make


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a directory that counts as a task."""

    def make(name: str) -> Path:
        path = tmp_path / "tasks" / name
        path.mkdir(parents=True)
        (path / "task.toml").write_text("")
        return path

    return make
