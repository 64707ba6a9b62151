"""Tasks as they are on a bad day: each gets a clear message or the right verdict, and its exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.check import tasks
from workbench import events as ev

type Check = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return tasks.write_task(tmp_path / "task")


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks a task; whatever comes of it, no traceback is shown."""

    def run(*args: object, wrapper: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        done = tasks.check(tmp_path / "state", *args, wrapper=wrapper)
        assert "Traceback" not in done.stdout + done.stderr
        return done

    return run


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


HOLDS = (0, "tests/plain: HOLDS  all 3 cases came out as they must")


def last(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    """The exit code and the last line."""
    return done.returncode, done.stdout.splitlines()[-1]


# What cannot be run


def test_no_task_toml(task: Path, check: Check) -> None:
    (task / "task.toml").unlink()
    done = check(task)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {task}: no task.toml here, nor in a directory directly in it")


def test_an_empty_directory(tmp_path: Path, check: Check) -> None:
    done = check(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {tmp_path}: no task.toml here")


def test_a_file_instead_of_a_directory(task: Path, check: Check) -> None:
    done = check(task / "task.toml")
    assert done.returncode == 2
    assert done.stderr == f"Error: {task}/task.toml: is a file; give the task's directory\n"


def test_bad_toml(task: Path, check: Check) -> None:
    rewrite(task / "task.toml", '"tests/plain"', "")
    done = check(task)
    assert done.returncode == 2
    assert f"error {task}/task.toml:4:8: not TOML: invalid value\n" in done.stdout
    assert last(done)[1] == "task: CANNOT BE RUN  task.toml:4:8: not TOML: invalid value"


def test_a_value_of_a_wrong_type(task: Path, check: Check) -> None:
    rewrite(task / "task.toml", "timeout_sec = 20.0", 'timeout_sec = "soon"')
    done = check(task)
    assert done.returncode == 2
    message = "task.toml:14:1: agent.timeout_sec: should be a number, not 'soon'"
    assert f"error {task}/{message}\n" in done.stdout


def test_no_test_script(task: Path, check: Check) -> None:
    (task / "tests/test.sh").unlink()
    done = check(task)
    assert done.returncode == 2
    assert f"error {task}/tests/test.sh: the test script is missing" in done.stdout


def test_a_byte_order_mark(task: Path, check: Check) -> None:
    (task / "task.toml").write_bytes(b"\xef\xbb\xbf" + (task / "task.toml").read_bytes())
    done = check(task)
    assert done.returncode == 2
    assert f"error {task}/task.toml:1:1: the file starts with a byte-order mark" in done.stdout


def test_an_instruction_that_is_not_utf_8(task: Path, check: Check) -> None:
    (task / "instruction.md").write_bytes(b"Write\ncaf\xe9\n")
    done = check(task)
    assert done.returncode == 2
    assert f"error {task}/instruction.md:2:4: byte 0xe9 is not UTF-8" in done.stdout


def test_a_link_out_of_the_task(task: Path, check: Check) -> None:
    (task / "tests/secret").symlink_to("/etc/passwd")
    done = check(task)
    assert done.returncode == 2
    assert f"error {task}/tests/secret: input paths must stay within the task; copy what" in done.stdout


@pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root reads all, and setpriv is not there"
)
def test_a_file_that_may_not_be_read(task: Path, check: Check) -> None:
    (task / "instruction.md").chmod(0)
    no_override = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    done = check(task, wrapper=no_override if os.geteuid() == 0 else ())
    assert done.returncode == 2
    assert f"error {task}/instruction.md: cannot read it: Permission denied; check its perm" in done.stdout


def test_a_path_that_is_not_utf_8(tmp_path: Path, check: Check) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    tasks.write_task(odd)
    done = check(odd)
    assert done.returncode == 2
    assert f"Error: {tmp_path}/caf\\xe9: its name is not UTF-8" in done.stderr


def test_neither_a_dockerfile_nor_an_image(task: Path, check: Check) -> None:
    rewrite(task / "task.toml", 'docker_image = "python:3.12-slim"\n', "")
    done = check(task)
    assert done.returncode == 2
    said = (
        f"error {task}/environment: nothing says what the agent works in; add environment/Dockerfile, or set"
    )
    assert f"{said} docker_image in [environment] of task.toml\n" in done.stdout


# What runs


def test_of_a_dockerfile_and_an_image_the_image_is_booted_and_nothing_is_built(
    task: Path, check: Check
) -> None:
    (task / "environment").mkdir()
    (task / "environment/Dockerfile").write_text("FOO bar\n")
    done = check(task, "--json")
    assert done.returncode == 0
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    boots = {(event.image, event.in_registry) for event in events if isinstance(event, ev.TaskOpened)}
    assert boots == {("python:3.12-slim", True)}
    assert not [event for event in events if isinstance(event, ev.ImageEvent)]


def test_the_sound_task_holds(task: Path, check: Check) -> None:
    done = check(task)
    assert last(done) == HOLDS
    assert "warning" not in done.stdout


def test_an_unknown_key(task: Path, check: Check) -> None:
    rewrite(task / "task.toml", "timeout_sec", "timeout_secs")
    done = check(task)
    assert last(done) == HOLDS
    warning = (
        "task.toml:14:1: unknown field agent.timeout_secs, which Harbor ignores; did you mean timeout_sec?"
    )
    assert f"warning {task}/{warning}\n" in done.stdout


def test_a_test_script_with_windows_line_ends(task: Path, check: Check) -> None:
    script = task / "tests/test.sh"
    script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n"))
    done = check(task)
    code, verdict = last(done)
    assert code == 1
    assert verdict.startswith("tests/plain: BROKEN  oracle must pass: the verifier wrote no reward file")
    assert "Windows line endings (CRLF)" in verdict
    assert "bash: line 1: /tests/test.sh: cannot execute: required file not found" in done.stdout


def test_a_verifier_that_prints_50_megabytes(task: Path, check: Check) -> None:
    rewrite(task / "tests/test.sh", "# here", "head -c 50000000 /dev/zero | tr '\\0' x")
    assert last(check(task)) == HOLDS


def test_a_verifier_that_prints_200_000_lines(task: Path, check: Check) -> None:
    rewrite(task / "tests/test.sh", "# here", "seq 200000")
    done = check(task, "--json", "--case", "oracle")
    assert done.returncode == 0
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    text = "".join(
        event.text for event in events if isinstance(event, ev.Output) and event.source == "verifier"
    )
    assert text.splitlines() == [str(number) for number in range(1, 200_001)]


def test_a_verifier_that_forks_and_hangs(task: Path, check: Check) -> None:
    rewrite(task / "task.toml", "[verifier]\ntimeout_sec = 20.0", "[verifier]\ntimeout_sec = 2.0")
    rewrite(task / "tests/test.sh", "# here", "(setsid sleep 300 &); sleep 300 & echo waiting; wait")
    done = check(task, "-n", "3")
    code, verdict = last(done)
    assert code == 1
    assert verdict.startswith(
        "tests/plain: BROKEN  oracle must pass: the verifier ran into its timeout of 2 s"
    )
    assert "    │ waiting\n" in done.stdout
    assert "✗ nop: it was not graded: the verifier ran into its timeout of 2 s\n" in done.stdout


def test_a_verifier_that_leaves_processes_behind(task: Path, check: Check) -> None:
    rewrite(task / "tests/test.sh", "# here", "(setsid sleep 300 &); sleep 300 &")
    assert last(check(task)) == HOLDS


def test_a_verifier_that_kills_its_parent(task: Path, check: Check) -> None:
    rewrite(task / "tests/test.sh", "# here", "kill -9 $PPID; sleep 300")
    code, verdict = last(check(task))
    assert code == 1
    assert verdict.startswith("tests/plain: BROKEN  oracle must pass: the verifier wrote no reward file")


def test_a_task_directory_that_may_not_be_written(task: Path, check: Check) -> None:
    before = {path: path.lstat().st_mtime_ns for path in task.rglob("*")}
    wrapper: tuple[str, ...] = ()
    if os.geteuid() == 0:
        script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
        wrapper = ("unshare", "--mount", "sh", "-c", script, str(task))
    else:
        for path in (task, *task.rglob("*")):
            path.chmod(path.stat().st_mode & 0o555)
    assert last(check(task, wrapper=wrapper)) == HOLDS
    assert {path: path.lstat().st_mtime_ns for path in task.rglob("*")} == before


def test_names_with_spaces_and_quotes(tmp_path: Path, check: Check) -> None:
    task = tasks.write_task(tmp_path / 'it\'s a "task" $(touch x) é')
    (task / "negatives/elsewhere.sh").rename(task / 'negatives/some "where" $HOME.sh')
    done = check(task)
    assert last(done) == HOLDS
    assert '\n✓  some "where" $HOME  fail  failed ' in done.stdout


def test_a_path_of_over_200_characters(tmp_path: Path, check: Check) -> None:
    task = tmp_path.joinpath(*["d" * 50] * 5, "task")
    assert len(str(task)) > 250
    assert last(check(tasks.write_task(task))) == HOLDS


def test_a_task_that_is_deleted_while_it_is_open(task: Path, tmp_path: Path) -> None:
    rewrite(task / "tests/test.sh", "# here", "echo begun; sleep 1")
    process = subprocess.Popen(
        tasks.command(task, "--json", "-n", "1"),
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    while "begun" not in process.stdout.readline():
        assert process.poll() is None
    shutil.rmtree(task)
    out, err = process.communicate(timeout=60)
    ended = [event for line in out.splitlines() if isinstance(event := ev.decode(line), ev.RunEnded)]
    assert [event.case for event in ended] == ["oracle", "nop", "elsewhere"]
    assert {event.outcome.met for event in ended[1:]} == {None}
    assert process.returncode == 1
    assert "Traceback" not in err
