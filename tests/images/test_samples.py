"""The samples with Dockerfiles, built and replayed through the real command line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.check import tasks
from workbench import events as ev
from workbench import places
from workbench.images.build_events import ImageReady, StepDone

BASE = "docker.io/library/python:3.12-slim"
ASK = ["buildah", "inspect", "--type", "image", BASE]

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("buildah") or subprocess.run(ASK, capture_output=True).returncode != 0,
        reason=f"needs {BASE} in buildah's store: tests/images/base_image.sh makes a stand-in",
    ),
    pytest.mark.timeout(600),
]


@pytest.mark.parametrize(
    ("name", "directories"), [("prices", {"environment"}), ("readings", {"environment", "tests"})]
)
def test_a_sample_with_a_dockerfile_builds_and_holds(
    name: str, directories: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # nothing is built yet
    sample = places.shipped("sample_tasks") / name
    done = tasks.check(tmp_path / "state", sample, "--json")
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    images = [event for event in events if isinstance(event, ev.ImageEvent)]
    assert {event.directory for event in images if isinstance(event.build, ImageReady)} == directories
    assert any(isinstance(event.build, StepDone) for event in images)
    outcomes = {event.case: event.outcome for event in events if isinstance(event, ev.RunEnded)}
    assert (outcomes["oracle"].reward, outcomes["nop"].reward) == (1.0, 0.0)
    assert all(outcome.met for outcome in outcomes.values())
    verdicts = [event.verdict.kind for event in events if isinstance(event, ev.VerdictReached)]
    assert verdicts[-1] == "holds"
    assert done.returncode == 0
