"""The command line as a program of its own: usage, hints, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def workbench(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench", *args],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "200"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_argument_gets_the_usage() -> None:
    done = workbench()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: workbench [OPTIONS] COMMAND [ARGS]...\n")


def test_the_version_is_the_distribution_s() -> None:
    done = workbench("--version")
    assert (done.returncode, done.stdout) == (0, f"workbench {version('harbor-workbench')}\n")


def test_the_help_of_check_tells_words_and_exit_codes() -> None:
    help_ = workbench("check", "--help").stdout
    for word in ("HOLDS", "BROKEN", "CANNOT FAIL", "FLAKY", "UNPROVEN"):
        assert f"  {word} " in help_
    for code in ("0    every", "1    one", "2    a task", "3    the machinery", "130  interrupted"):
        assert f"    {code}" in help_


@pytest.mark.parametrize("args", [("{task}",), ("open", "{task}"), ("--paused", "{task}")])
def test_a_task_without_a_terminal_is_pointed_to_check(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = workbench(*(arg.format(task=tmp_path) for arg in args))
    assert done.returncode == 2
    assert f"the screen needs a terminal; without one, use `workbench check {tmp_path}`" in done.stderr


def test_a_mistyped_command_gets_the_nearest_name() -> None:
    done = workbench("chekc", "somewhere")
    assert done.returncode == 2
    assert "chekc is no command; did you mean check?" in done.stderr


def test_a_task_that_is_not_there_is_named() -> None:
    done = workbench("/no/such")
    assert done.returncode == 2
    assert "/no/such: there is no such directory; a task is a directory with a task.toml" in done.stderr


@pytest.mark.parametrize(
    "words", ["check --threshold", "open --grace", "play --speed", "images --prune --keep"]
)
def test_what_is_no_finite_number_is_refused(words: str) -> None:
    done = workbench(*words.split(), "nan")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nan is not a finite number" in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "--provider=bublewrap",
            "'bublewrap' is not smol, bubblewrap or harbor:TYPE; did you mean bubblewrap?",
        ),
        ("--provider=docker", "did you mean harbor:docker?"),
        ("--provider=harbor:", "'harbor:' is not smol, bubblewrap or harbor:TYPE"),
        ("-n0", "0 is not in the range x>=1"),
        ("--jsn", "(did you mean one of: '--json', '--junit'?)"),
    ],
)
def test_a_wrong_option_is_told_with_what_would_be_right(option: str, said: str) -> None:
    done = workbench("check", option, "somewhere")
    assert done.returncode == 2
    assert said.lower() in done.stderr.lower()


def test_the_doctor_says_who_makes_machines_here() -> None:
    done = workbench("doctor", "--json")
    report = json.loads(done.stdout)
    usable = [probe["provider"] for probe in report["providers"] if probe["usable"]]
    assert report["chosen"] == next((name for name in usable if ":" not in name), "")
    assert done.returncode == (0 if report["chosen"] else 3)
    assert f"harbor {version('harbor')}" in workbench("doctor").stdout


def test_the_samples_are_listed_and_copied(tmp_path: Path) -> None:
    listed = [Path(line) for line in workbench("samples").stdout.splitlines()]
    assert "slugify" in [path.name for path in listed]
    assert all((path / "task.toml").is_file() for path in listed)
    done = workbench("samples", "slugify", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "slugify\n")
    original = next(path for path in listed if path.name == "slugify")
    assert (tmp_path / "slugify/tests/test.sh").read_bytes() == (original / "tests/test.sh").read_bytes()
    again = workbench("samples", "slugify", cwd=tmp_path)
    assert again.returncode == 2
    assert "slugify: is there already" in again.stderr


def test_a_sample_that_is_not_there_gets_the_nearest_name() -> None:
    done = workbench("samples", "slugfy")
    assert done.returncode == 2
    assert "there is no sample 'slugfy'; did you mean slugify?" in done.stderr


def test_a_closed_pipe_ends_it_as_sigpipe_would() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, workbench.cli; input(); workbench.cli.main()", "samples"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    _, stderr = process.communicate(b"\n")
    assert (process.returncode, stderr) == (141, b"")


def test_a_full_disk_is_told_without_a_traceback() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "workbench", "samples"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "Error: [Errno 28] No space left on device\n"
    assert done.returncode == 3
