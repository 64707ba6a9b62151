"""The headless face against a scripted engine: what it prints, and how it ends."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from tests.check.conftest import Engine
from workbench import events as ev
from workbench.check.run import CheckOptions, check
from workbench.link import EngineOptions

type MakeTask = Callable[[str], Path]

HOLDS = """
for task in opened():
    hold(task)
"""
CANNOT_FAIL = """
for task in opened():
    open_(task, ORACLE, WRONG)
    begin(task, ORACLE)
    end(task, ORACLE, PASSED)
    begin(task, WRONG)
    output(task, WRONG, "verifier", "".join(f"line {number}\\n" for number in range(30)))
    output(task, WRONG, "verifier", "\\x1b[31m2 passed\\x1b[0m in \\x1b]0;title\\x070.1 s\\r\\n")
    end(task, WRONG, Outcome(kind="passed", reason="reward 1, but it must fail", reward=1.0, met=False))
    settle(task, Verdict("cannot fail", "wrong must fail, but passed", ("wrong",), 1, 2))
"""
BROKEN = """
for task in opened():
    open_(task, ORACLE, NOP)
    for case in ORACLE, NOP:
        begin(task, case)
    end(task, ORACLE, Outcome(kind="failed", reason="solve.sh exited with 3", reward=0.0, met=False,
        detail=("make: *** No rule to make target 'x'.",), agent_exit_code=3,
        phases=(Phase("environment", 10.0, 11.5), Phase("agent", 11.5, 13.75))))
    end(task, NOP, Outcome(kind="void", reason="the verifier ran no test", reward=0.0))
    settle(task, Verdict("broken", "oracle must pass: solve.sh exited with 3", ("oracle",), 0, 2))
"""
UNREADABLE = """
for task in opened():
    tell(ev.ProblemsFound(task=task, problems=(
        Problem("task.toml", "toml-syntax", "error", "a value is missing", "write one after =", 3, 9),
    )))
    tell(ev.TaskUnreadable(task=task, reason="task.toml:3:9: a value is missing"), ev.Settled(task=task))
"""


def run(
    engine: EngineOptions,
    *paths: Path,
    cases: tuple[str, ...] = (),
    json: bool = False,
    junit: Path | None = None,
) -> int:
    return check(CheckOptions(paths=paths, engine=engine, cases=cases, json=json, junit=junit))


def test_a_harness_that_holds_ends_with_0_and_the_verdict_last(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(engine(HOLDS), make_task("one")) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "bubblewrap: namespaces, not a VM (asked for)"
    assert lines[-3].split()[:6] == ["✓", "oracle", "pass", "passed", "1", "0.00"]
    assert lines[-2].split()[:6] == ["✓", "nop", "fail", "failed", "0", "0.00"]
    assert lines[-1] == "org/one: HOLDS  all 2 cases came out as they must"


def test_a_harness_that_cannot_fail_ends_with_1_and_shows_what_its_verifier_said(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(engine(CANNOT_FAIL), make_task("one")) == 1
    lines = capfd.readouterr().out.splitlines()
    at = lines.index("✗ wrong: reward 1, but it must fail")
    assert lines[at + 1 : at + 4] == [
        "    it forgets the hyphen",
        "    the verifier's last lines:",
        "    │ line 19",
    ]
    assert lines[-4:] == [
        "    │ line 29",
        "    │ 2 passed in 0.1 s",
        "    kept in /trials/wrong",
        "org/one: CANNOT FAIL  wrong must fail, but passed (1 of 2 cases hold)",
    ]


def test_a_failing_solution_is_shown_with_its_last_lines_and_times(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(engine(BROKEN), make_task("one")) == 1
    out = capfd.readouterr().out
    assert "✗ oracle: solve.sh exited with 3\n    │ make: *** No rule to make target 'x'.\n" in out
    assert out.splitlines()[4].split() == [
        *("✗", "oracle", "pass", "FAILED", "0", "3.75", "s"),
        *("1.50", "2.25", "-"),
    ]
    assert out.splitlines()[5].split()[:4] == ["?", "nop", "fail", "VOID"]


def test_a_task_that_cannot_be_run_ends_with_2_and_says_where_it_is_wrong(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task("one")
    monkeypatch.chdir(task.parent)
    assert run(engine(UNREADABLE), Path("one")) == 2
    assert capfd.readouterr().out.splitlines()[-2:] == [
        "error one/task.toml:3:9: a value is missing; write one after =",
        "one: CANNOT BE RUN  task.toml:3:9: a value is missing",
    ]


def test_of_several_tasks_the_worst_decides_and_each_has_a_verdict_at_the_end(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for task in opened():
        if task.endswith("/good"):
            hold(task)
        else:
            open_(task, ORACLE)
            settle(task, Verdict("unproven", "oracle has not run", ("oracle",), 0, 1))
    """
    make_task("good")
    assert run(engine(body), make_task("bad").parent) == 1
    assert capfd.readouterr().out.splitlines()[-3:] == [
        "",
        "org/bad: UNPROVEN  oracle has not run (0 of 1 cases hold)",
        "org/good: HOLDS  all 2 cases came out as they must",
    ]


def test_json_is_the_event_stream_on_stdout_and_talk_on_stderr(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    task = make_task("one")
    assert run(engine(HOLDS), task, json=True) == 0
    captured = capfd.readouterr()
    events = [ev.decode(line) for line in captured.out.splitlines()]
    assert isinstance(events[0], ev.EngineStarted)
    assert isinstance(events[-1], ev.EngineStopped)
    rewards = {event.case: event.outcome.reward for event in events if isinstance(event, ev.RunEnded)}
    assert rewards == {"oracle": 1.0, "nop": 0.0}
    assert captured.err.splitlines()[-1].startswith("org/one: HOLDS")


def test_the_cases_asked_for_reach_the_engine(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for line in sys.stdin.buffer:
        wish = wishes.decode(line)
        if isinstance(wish, wishes.Stop):
            break
        tell(ev.Notice(level="warning", message=f"{wish.watch} {wish.replay} {wish.only}"))
        hold(wish.task)
    tell(ev.EngineStopped())
    """
    assert run(engine(body), make_task("one"), cases=("oracle", "nop")) == 0
    assert "warning: False True ('oracle', 'nop')\n" in capfd.readouterr().err


def test_a_receipt_in_a_run_s_place_shows_with_its_age_and_what_its_trial_left(
    engine: Engine, make_task: MakeTask, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trial = tmp_path / "trial"
    (trial / "verifier").mkdir(parents=True)
    (trial / "verifier/test-stdout.txt").write_text("\x1b[32m1 passed\x1b[0m\n")
    body = f"""
    for task in opened():
        open_(task, WRONG)
        passed = Outcome(kind="passed", reason="reward 1, but it must fail", reward=1.0, met=False)
        tell(ev.RunRecalled(task=task, case="wrong", run="r", outcome=passed, ran_at=time.time() - 7300,
            trial_dir={str(trial)!r}))
        settle(task, Verdict("cannot fail", "wrong must fail, but passed", ("wrong",), 0, 1))
    """
    assert run(engine(body), make_task("one")) == 1
    out = capfd.readouterr().out
    assert "PASSED 2 h ago" in out
    assert "    the verifier's last lines:\n    │ 1 passed\n" in out


def test_a_case_that_no_task_has_is_an_error_of_the_command_line(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for task in opened():
        tell(ev.Notice(level="error", task=task, message="there is no case 'orcale'"))
        hold(task)
    """
    task = make_task("one")
    assert run(engine(body), task, cases=("oracle", "orcale")) == 2
    assert f"error: {task}: there is no case 'orcale'\n" in capfd.readouterr().err


def test_a_path_that_is_no_task_starts_no_engine(
    engine: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(engine(HOLDS), tmp_path / "absent") == 2
    assert capfd.readouterr().err == f"Error: {tmp_path}/absent: no such directory\n"
    assert not (tmp_path / "state").exists()


def test_an_engine_that_finds_no_provider_ends_with_3(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    tell(ev.EngineFailed(message="nothing here can make machines", hint="install bubblewrap"))
    tell(ev.EngineStopped())
    """
    assert run(engine(body), make_task("one")) == 3
    assert "error: nothing here can make machines; install bubblewrap\n" in capfd.readouterr().err


def test_an_engine_that_dies_ends_with_3_and_what_is_known_is_shown(
    engine: Engine, make_task: MakeTask, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for task in opened():
        open_(task, ORACLE, NOP)
        begin(task, ORACLE)
        end(task, ORACLE, PASSED)
        begin(task, NOP)
        print("out of luck", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    junit = tmp_path / "junit.xml"
    assert run(engine(body), make_task("one"), junit=junit) == 3
    captured = capfd.readouterr()
    assert "error: the engine was killed by SIGKILL; its log is " in captured.err
    assert "info: its last line there: out of luck\n" in captured.err
    assert captured.out.splitlines()[-1] == "org/one: NO VERDICT  its cases did not all run"
    tests = ET.parse(junit).getroot().findall("testsuite/testcase")
    assert [(test.get("name"), [child.tag for child in test]) for test in tests] == [
        ("oracle", ["system-out"]),
        ("nop", ["skipped"]),
    ]


def test_an_engine_that_dies_once_all_is_told_changes_no_verdict(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for task in opened():
        hold(task)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(engine(body), make_task("one")) == 0
    captured = capfd.readouterr()
    assert "warning: the engine was killed by SIGKILL; its log is " in captured.err
    assert captured.out.splitlines()[-1] == "org/one: HOLDS  all 2 cases came out as they must"


def test_a_state_directory_that_cannot_be_made_ends_with_3(
    engine: Engine, make_task: MakeTask, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").touch()
    assert run(engine(HOLDS), make_task("one")) == 3
    assert "error: the engine cannot be started" in capfd.readouterr().err


def test_junit_has_a_suite_a_task_and_a_test_a_case(
    engine: Engine, make_task: MakeTask, tmp_path: Path
) -> None:
    junit = tmp_path / "junit.xml"
    assert run(engine(BROKEN), make_task("one"), junit=junit) == 1
    root = ET.parse(junit).getroot()
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "2",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
        "time": "3.750",
    }
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.get("name") == "org/one"
    properties = {prop.get("name"): prop.get("value") for prop in suite.iter("property")}
    assert properties["verdict"] == "BROKEN"
    failure = suite.find("testcase[@name='oracle']/failure")
    assert failure is not None
    assert failure.get("message") == "must pass: solve.sh exited with 3"
    assert failure.text == "make: *** No rule to make target 'x'."
    error = suite.find("testcase[@name='nop']/error")
    assert error is not None
    assert error.get("message") == "must fail: the verifier ran no test"


def test_junit_tells_of_a_task_that_cannot_be_run(
    engine: Engine, make_task: MakeTask, tmp_path: Path
) -> None:
    junit = tmp_path / "junit.xml"
    assert run(engine(UNREADABLE), make_task("one"), junit=junit) == 2
    error = ET.parse(junit).getroot().find("testsuite/testcase[@name='task.toml']/error")
    assert error is not None
    assert error.text == "task.toml:3:9: a value is missing; write one after ="


def test_junit_is_well_formed_whatever_was_printed(
    engine: Engine, make_task: MakeTask, tmp_path: Path
) -> None:
    body = """
    for task in opened():
        open_(task, WRONG)
        begin(task, WRONG)
        output(task, WRONG, "verifier", "".join(map(chr, range(0x300))) + "]]>\\ufffe<&")
        end(task, WRONG, Outcome(kind="passed", reason="\\x00<&>", reward=1.0, met=False))
        settle(task, Verdict("cannot fail", "\\x1b[1mwrong", ("wrong",), 0, 1))
    """
    junit = tmp_path / "junit.xml"
    assert run(engine(body), make_task("one"), junit=junit) == 1
    failure = ET.parse(junit).getroot().find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.endswith("]]><&")
    assert junit.stat().st_mode & 0o777 == 0o644


def test_a_junit_file_in_no_directory_is_told_before_anything_runs(
    engine: Engine, make_task: MakeTask, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(engine(HOLDS), make_task("one"), junit=tmp_path / "no" / "junit.xml") == 2
    assert f"make {tmp_path}/no first" in capfd.readouterr().err
    assert not (tmp_path / "state").exists()


def test_problems_of_a_task_that_runs_are_shown(
    engine: Engine, make_task: MakeTask, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
    for task in opened():
        tell(ev.ProblemsFound(task=task, problems=(
            Problem("tests/test.sh", "set-e", "warning", "set -e, then $?", "drop set -e", 7),
        )))
        hold(task)
    """
    task = make_task("one")
    assert run(engine(body), task) == 0
    assert f"warning {task}/tests/test.sh:7: set -e, then $?; drop set -e\n" in capfd.readouterr().out


# As a process of its own, for what concerns signals, pipes and terminals.

MAIN = """
import sys
from pathlib import Path
import msgspec
from workbench.check.run import CheckOptions, check
from workbench.pipes import ending_quietly
options = msgspec.json.decode(sys.argv[1], type=CheckOptions, dec_hook=lambda kind, text: kind(text))
with ending_quietly():
    sys.exit(check(options))
"""


def argv(engine: EngineOptions, *paths: Path, json: bool = False) -> list[str]:
    options = msgspec.json.encode(CheckOptions(paths=paths, engine=engine, json=json), enc_hook=str)
    return [sys.executable, "-X", "dev", "-c", MAIN, options.decode()]


WAITS = """
for task in opened():
    open_(task, ORACLE, NOP)
    begin(task, ORACLE)
    output(task, ORACLE, "agent", "working\\n")
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_stops_the_engine_in_order(
    engine: Engine, make_task: MakeTask, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    body = WAITS + f"open({str(tmp_path / 'ended')!r}, 'w').close()"
    process = subprocess.Popen(
        argv(engine(body), make_task("one"), json=True),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    while "working" not in process.stdout.readline():
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert (tmp_path / "ended").exists()
    assert isinstance(ev.decode(out.splitlines()[-1]), ev.EngineStopped)
    assert "stopping: runs are cancelled and machines deleted" in err
    assert "Traceback" not in err


def test_a_second_interrupt_kills_an_engine_that_does_not_stop(engine: Engine, make_task: MakeTask) -> None:
    body = """
    for line in sys.stdin.buffer:
        if isinstance(wishes.decode(line), wishes.Stop):
            tell(ev.Notice(level="info", message="will not"))
            time.sleep(600)
        tell(ev.Notice(level="info", message="ready"))
    """
    process = subprocess.Popen(
        argv(engine(body), make_task("one"), json=True),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for word in ("ready", "will not"):
        while word not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_closed_pipe_ends_it_quietly_and_the_engine_too(
    engine: Engine, make_task: MakeTask, tmp_path: Path
) -> None:
    body = f"""
    for task in opened():
        open_(task, ORACLE)
        begin(task, ORACLE)
        for number in range(20000):
            output(task, ORACLE, "agent", "x" * 100)
        settle(task, HOLDS)
    open({str(tmp_path / "ended")!r}, "w").close()
    """
    process = subprocess.Popen(
        argv(engine(body), make_task("one"), json=True), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 141
    assert (tmp_path / "ended").exists()


def test_a_pipe_and_no_color_get_no_escape_sequences(engine: Engine, make_task: MakeTask) -> None:
    command = argv(engine(CANNOT_FAIL), make_task("one"))
    piped = subprocess.run(command, capture_output=True, check=False)
    assert piped.returncode == 1
    assert b"\x1b" not in piped.stdout + piped.stderr
    shown = on_terminal(command, {"NO_COLOR": "1"})
    # Bold and dim are no colours; NO_COLOR forbids those alone.
    assert "\x1b[31m" not in shown
    assert "CANNOT FAIL" in shown
    assert "\x1b[31m" in on_terminal(command, {"NO_COLOR": ""})


def test_a_terminal_shows_live_what_runs_and_takes_it_away(
    engine: Engine, make_task: MakeTask, tmp_path: Path
) -> None:
    body = f"""
    for task in opened():
        open_(task, ORACLE, NOP)
        begin(task, ORACLE)
        tell(ev.PhaseStarted(run=task + "oracle", phase="agent"))
        while not os.path.exists({str(tmp_path / "seen")!r}):
            time.sleep(0.01)
        end(task, ORACLE, PASSED)
        begin(task, NOP)
        end(task, NOP, FAILED)
        settle(task, HOLDS)
    """
    live = "0 done, 1 running, 1 waiting"
    shown = on_terminal(argv(engine(body), make_task("one")), {}, live, (tmp_path / "seen").touch)
    before, _, after = shown.rpartition(live)
    assert "org/one: oracle" in before
    assert "HOLDS" not in before
    assert "\x1b[2K" in after, "the live lines are erased"
    assert "all 2 cases came out as they must" in after


def on_terminal(
    command: list[str], env: dict[str, str], awaited: str = "", seen: Callable[[], object] = lambda: None
) -> str:
    """What the command prints with a terminal on its standard streams; `seen` is called at `awaited`."""
    primary, secondary = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    base |= {"TERM": "xterm-256color"} | {key: value for key, value in env.items() if value}
    process = subprocess.Popen(command, stdin=secondary, stdout=secondary, stderr=secondary, env=base)
    os.close(secondary)
    data = b""
    # Reading what a process wrote to a terminal that it has closed ends with an error on Linux.
    with suppress(OSError):
        while piece := os.read(primary, 65536):
            data += piece
            if awaited and awaited.encode() in data:
                seen()
    os.close(primary)
    process.wait(timeout=30)
    return data.decode()
