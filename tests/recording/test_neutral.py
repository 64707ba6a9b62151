"""What a neutral recording no longer tells, and what it still does."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.engine.conftest import side_by_side
from workbench import events as ev
from workbench import places
from workbench.images.build_events import ImageReady
from workbench.recording.neutral import START, neutral
from workbench.recording.recording import read_recording
from workbench.session import Session
from workbench.trials.outcome import Outcome, Phase

TASK = "/mnt/secret/clients/acme/slugify"
STATE = "/mnt/secret/state/workbench"
TRIALS = f"{STATE}/tasks/slugify-012269f9/trials/20261129-182506-8f99"
RUN = "oracle__182506-120485"


def test_places_and_times_are_gone() -> None:
    outcome = Outcome("passed", "reward 1", reward=1.0, phases=(Phase("agent", 5000.5, 5001.0),))
    made = neutral(
        [
            ev.EngineStarted(at=5000.0, pid=77, version="0.1.0"),
            ev.TaskOpened(at=5000.25, task=TASK, name="org/slugify", trials_dir=TRIALS),
            ev.RunQueued(at=5000.25, task=TASK, case="oracle", run=RUN),
            ev.RunStarted(at=5000.5, task=TASK, case="oracle", run=RUN, trial_dir=f"{TRIALS}/{RUN}"),
            ev.Output(at=5000.5, run=RUN, source="agent", text=f"see {TASK}-2 and {TASK}/task.toml\n"),
            ev.RunEnded(at=5001.0, task=TASK, case="oracle", run=RUN, outcome=outcome),
            ev.ImageEvent(
                task=TASK,
                directory="environment",
                build=ImageReady(
                    key="k",
                    result="r",
                    archive="/mnt/secret/cache/images/archives/r/image.tar",
                    seconds=1.0,
                    built_at=4000.0,
                ),
                at=5001.0,
            ),
            ev.EngineFailed(at=5002.0, message="it died", hint=f"its log is {STATE}/logs/engine.log"),
        ]
    )
    started, opened, queued, began, printed, ended, image, failed = made
    home, trials = "/home/author", "/home/author/.local/state/workbench/tasks/slugify/trials/session"
    assert started == ev.EngineStarted(at=START, pid=4242, version="0.1.0")
    assert opened == ev.TaskOpened(
        at=START + 0.25, task=f"{home}/tasks/slugify", name="org/slugify", trials_dir=trials
    )
    assert isinstance(queued, ev.RunQueued)
    assert queued.run == "oracle__1"
    assert isinstance(began, ev.RunStarted)
    assert began.trial_dir == f"{trials}/oracle__1"
    assert isinstance(printed, ev.Output)
    assert printed.text == f"see {TASK}-2 and {home}/tasks/slugify/task.toml\n"
    assert isinstance(ended, ev.RunEnded)
    assert ended.outcome.phases == (Phase("agent", START + 0.5, START + 1.0),)
    assert ended.outcome.reward == 1.0
    assert isinstance(image, ev.ImageEvent)
    assert isinstance(image.build, ImageReady)
    assert image.build.archive == f"{home}/.cache/workbench/images/archives/r/image.tar"
    assert image.build.built_at == START - 1000
    assert isinstance(failed, ev.EngineFailed)
    assert failed.hint == f"its log is {home}/.local/state/workbench/logs/engine.log"


def test_other_runs_that_the_machine_keeps_are_left_out() -> None:
    other = ev.EarlierRun(
        task="/mnt/secret/other",
        case="oracle",
        expect="pass",
        at=1.0,
        trial_dir="/mnt/secret/state/x",
        outcome=Outcome("passed", "reward 1", reward=1.0),
    )
    started = ev.EngineStarted(at=5000.0, pid=77, version="0.1.0")
    told = ev.EarlierRunsTold(at=5001.0, task=TASK, runs=(other,))
    assert [type(event) for event in neutral([started, told])] == [ev.EngineStarted]


RECORDINGS = sorted((places.shipped("sample_tasks") / "recordings").glob("*.jsonl"))


def test_a_session_and_a_demo_ship_with_the_samples() -> None:
    assert [path.stem for path in RECORDINGS] == ["demo", "slugify"]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_that_ship_are_neutral(path: str) -> None:
    recording = read_recording(RECORDINGS[0].parent / path)
    assert recording.start == START
    assert list(recording.events) == neutral(recording.events)
    found = re.findall(
        r"/(?:root|tmp|mnt|Users|home/(?!author/))\S*", (RECORDINGS[0].parent / path).read_text()
    )
    assert found == []


def test_slugify_s_shows_a_verifier_that_can_no_longer_fail_and_then_can_again() -> None:
    session = Session()
    recording = read_recording(RECORDINGS[0].parent / "slugify.jsonl")
    verdicts = []
    for event in recording.events:
        session.apply(event)
        if isinstance(event, ev.VerdictReached):
            verdicts.append(event.verdict.kind)
    assert [kind for kind in verdicts if kind != "unproven"] == ["holds", "cannot fail", "holds"]
    assert session.task(recording.task()).settled
    assert 5 < recording.duration < 60


def test_the_demo_is_of_sixteen_trials_eight_at_once_of_which_some_fail() -> None:
    recording = read_recording(RECORDINGS[0].parent / "demo.jsonl")
    first = recording.begins_with(recording.task())
    assert isinstance(first, ev.RunQueued)
    assert first.times == 16
    assert side_by_side(recording.events) == 8
    kinds = Counter(event.outcome.kind for event in recording.events if isinstance(event, ev.RunEnded))
    assert kinds.total() == 16
    assert 0 < kinds["failed"] < kinds["passed"]
    assert 5 < recording.duration < 60
