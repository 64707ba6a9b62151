"""`workbench receipt`, through the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.check import tasks

BUSYBOX = Path("/bin/busybox")


def receipt(state: Path, *args: object) -> tuple[int, dict[str, Any], list[str]]:
    """Its exit code, the document, and the lines on standard error."""
    command = [sys.executable, "-m", "workbench", "receipt", "--provider", "bubblewrap", *map(str, args)]
    done = subprocess.run(
        command,
        env=os.environ | {"XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr.splitlines()


def test_it_holds_until_a_file_changes_and_says_which(tmp_path: Path) -> None:
    state, task = tmp_path / "state", tasks.write_task(tmp_path / "task")
    code, told, said = receipt(state, task)
    assert (code, told["verdict"]["kind"], told["date"]) == (1, "unproven", "")
    assert said == [f"stale: {case}: it has not run" for case in ("oracle", "nop", "elsewhere")]

    assert tasks.check(state, task).returncode == 0
    code, told, said = receipt(state, task)
    assert (code, said) == (0, [])
    assert (told["name"], told["verdict"]["kind"], told["stale"], told["whole"]) == (
        *("tests/plain", "holds"),
        *([], True),
    )
    assert [(case["case"], case["outcome"], case["trial_gone"]) for case in told["cases"]] == [
        ("oracle", "passed", False),
        ("nop", "failed", False),
        ("elsewhere", "failed", False),
    ]

    (task / "negatives/elsewhere.sh").write_text("#!/bin/bash\ntouch /tmp/answr\n")
    code, told, said = receipt(state, task)
    assert (code, said) == (1, ["stale: elsewhere: negatives/elsewhere.sh changed"])
    assert receipt(state, task, "--threshold", "0.5")[2][1] == "stale: nop: threshold was 1, is 0.5"


def test_a_harness_that_does_not_hold_has_a_receipt_that_says_so(tmp_path: Path) -> None:
    state, task = tmp_path / "state", tasks.write_task(tmp_path / "task")
    (task / "negatives/elsewhere.sh").write_text("#!/bin/bash\ntouch /tmp/answer\n")
    assert tasks.check(state, task).returncode == 1
    code, told, said = receipt(state, task)
    assert (code, told["verdict"]["kind"]) == (1, "cannot fail")
    assert said == ["cannot fail: elsewhere must fail, but passed"]


@pytest.mark.skipif(
    not (shutil.which("buildah") and BUSYBOX.exists()), reason="needs buildah and busybox-static"
)
def test_a_file_of_the_image_makes_it_stale_before_it_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    state, task = tmp_path / "state", tasks.write_task(tmp_path / "task")
    config = (task / "task.toml").read_text().replace('docker_image = "python:3.12-slim"\n', "")
    (task / "task.toml").write_text(config)
    (task / "environment").mkdir()
    shutil.copy(BUSYBOX, task / "environment/busybox")
    (task / "environment/Dockerfile").write_text(
        "FROM scratch\nCOPY busybox /bin/busybox\n"
        'RUN ["/bin/busybox", "--install", "/bin"]\n'
        "RUN printf '#!/bin/sh\\nexec sh \"$@\"\\n' >/bin/bash && chmod +x /bin/bash && mkdir /tmp\n"
        "COPY note /\n"
    )
    (task / "environment/note").write_text("one\n")
    done = tasks.check(state, task, "--builder", "buildah")
    assert done.returncode == 0, done.stdout + done.stderr
    code, told, said = receipt(state, task)
    assert (code, said, told["cases"][0]["image"]) == (0, [], "environment/Dockerfile")
    (task / "environment/note").write_text("two\n")
    code, _, said = receipt(state, task)
    assert (code, said[0]) == (1, "stale: oracle: environment/note changed")
    (task / "environment/note").write_text("one\n")
    assert receipt(state, task)[0] == 0


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("task.toml", "Error: task.toml:1:8: "),
        ("absent", "Error: {task}: no such directory"),
    ],
)
def test_what_is_no_task_has_no_receipt(tmp_path: Path, spoil: str, said: str) -> None:
    task = tasks.write_task(tmp_path / "task")
    if spoil == "absent":
        shutil.rmtree(task)
    else:
        (task / spoil).write_text("[task] ]")
    code, told, lines = receipt(tmp_path / "state", task)
    assert (code, told) == (2, {})
    assert lines[-1].startswith(said.format(task=task))


def test_without_a_provider_there_is_none(tmp_path: Path) -> None:
    task = tasks.write_task(tmp_path / "task")
    code, told, lines = receipt(tmp_path / "state", task, "--provider", "harbor:dokcer")
    assert (code, told) == (3, {})
    assert lines[-1].startswith("Error: Harbor has no environment 'dokcer'; it has ")
