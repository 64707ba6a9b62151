"""A traced script does what it does without: same output, exit code and files. And its trajectory is true."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harbor.utils.trajectory_validator import TrajectoryValidator

from tests.trials.conftest import REWARD, Trials
from tests.trials.test_run import script
from tests.trials.traced import SCRIPTS
from workbench.trials.tracing import COMMANDS_LIMIT, FIELD, read_trace, traced_command

# What the run left, from its verifier's point of view: the files, and what is still running.
LOOK = f"""#!/bin/bash
cd / && for top in app tmp root home var etc dev/shm logs/agent solution; do
  find "$top" -xdev \\( -type f -o -type l -o -type d \\) -printf '%p %y %m %l\\n' | sort
  find "$top" -xdev -type f -print0 | sort -z | xargs -0r sha256sum
done
echo running: $(cat /proc/[0-9]*/comm 2> /dev/null | grep -xE 'sleep|python3' | sort)
echo 1 > {REWARD}
"""


async def run(trials: Trials, text: str, *, trace: bool) -> Path:
    """Run a script as a trial, and give the trial's directory."""
    trials.write("tests/test.sh", LOOK)
    file = trials.task / "negatives/it/solve.sh"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    outcome = await trials.run(script(file, trace=trace))
    assert outcome.kind == "passed", outcome
    return trials.trial_dir


def left(trial: Path) -> dict[str, str]:
    """What a run left: its output, its exit code, its files and what it left running."""
    code = trial / "agent/exit-code.txt"
    return {
        "output": (trial / "agent/oracle.txt").read_bytes().decode("latin-1"),
        "exit code": code.read_text() if code.exists() else "0",
        "machine": (trial / "verifier/test-stdout.txt").read_text(),
    }


def trajectory(trial: Path) -> dict[str, Any]:
    """The trajectory of a run, which Harbor's validator takes."""
    path = trial / "agent/trajectory.json"
    validator = TrajectoryValidator()  # type: ignore[no-untyped-call]
    assert validator.validate(path), validator.errors
    told: dict[str, Any] = json.loads(path.read_text())
    return told


def told(trial: Path) -> list[tuple[str, str | None, int | None]]:
    """Each step's command, output and exit code."""
    return [
        (
            step["tool_calls"][0]["arguments"]["command"],
            step["observation"]["results"][0].get("content"),
            step["observation"]["results"][0].get("extra", {}).get("exit_code"),
        )
        for step in trajectory(trial)["steps"]
    ]


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_does_the_same_with_and_without(trials: Trials, name: str) -> None:
    without = left(await run(trials, SCRIPTS[name], trace=False))
    traced = await run(trials, SCRIPTS[name], trace=True)
    assert left(traced) == without
    assert not (traced.with_name("trial-1") / "agent/trajectory.json").exists()
    assert trajectory(traced)["steps"]


async def test_each_command_has_its_output_exit_code_and_time(trials: Trials) -> None:
    text = (
        "#!/bin/bash\necho one\nls /nowhere 2> /dev/null\nsleep 0.3\n"
        "cat <<X > /app/x\nbody\nX\nif grep -q no /app/x; then echo never; fi\nexit 3\n"
    )
    trial = await run(trials, text, trace=True)
    assert told(trial) == [
        ("echo one", "one\n", 0),
        ("ls /nowhere 2> /dev/null", "", 2),
        ("sleep 0.3", "", 0),
        ("cat <<X > /app/x\nbody\nX", "", 0),
        ("grep -q no /app/x", "", 1),
        ("exit 3", "", 3),
    ]
    steps = trajectory(trial)["steps"]
    took = [step["observation"]["results"][0]["extra"]["seconds"] for step in steps]
    assert 0.3 <= took[2] < 5
    assert all(0 <= seconds < 5 for seconds in took)
    assert [step["message"] for step in steps][:2] == ["line 2", "line 3"]
    assert sorted(step["timestamp"] for step in steps) == [step["timestamp"] for step in steps]


async def test_a_trajectory_says_that_a_script_made_it(trials: Trials) -> None:
    made = trajectory(await run(trials, "#!/bin/bash\ntrue\n", trace=True))
    assert made["schema_version"] == "ATIF-v1.8"
    assert made["agent"] == {"name": "workbench-script", "version": "script"}
    assert "no model took part" in made["notes"]
    assert {(step["source"], step["llm_call_count"]) for step in made["steps"]} == {("agent", 0)}


async def test_functions_are_told_inside_and_as_a_whole(trials: Trials) -> None:
    text = "#!/bin/bash\nf() {\n  echo in\n  false\n  return 7\n}\nf a\necho after\n"
    trial = await run(trials, text, trace=True)
    assert told(trial) == [
        ("f a", "", 7),
        ("echo in", "in\n", 0),
        ("false", "", 1),
        ("return 7", "", 7),
        ("echo after", "after\n", 0),
    ]
    assert [step["message"] for step in trajectory(trial)["steps"]][1] == "line 3, 1 deep in functions"


async def test_pipes_and_lists_are_one_step(trials: Trials) -> None:
    text = (
        "#!/bin/bash\ntrue | false | cat\necho a |\n  cat -A\nfalse || echo or\necho \\\n  spread \\\n  out\n"
    )
    trial = await run(trials, text, trace=True)
    assert told(trial) == [
        ("true | false | cat", "", 0),
        ("echo a |\n  cat -A", "a$\n", 0),
        ("false || echo or", "or\n", 0),
        ("echo spread out", "spread out\n", 0),
    ]
    extra = trajectory(trial)["steps"][0]["observation"]["results"][0]["extra"]
    assert extra["pipe"] == [0, 1, 0]


async def test_no_exit_code_is_told_that_may_be_anothers(trials: Trials) -> None:
    text = (
        "#!/bin/bash\necho before\n(echo inside; exit 5)\necho between\n"
        "for i in 1 2; do\n  echo $i\ndone | cat\nsleep 0 &\nwait\n"
    )
    trial = await run(trials, text, trace=True)
    assert told(trial) == [
        ("echo before\n(echo inside; exit 5)", "before\ninside\n", None),
        ("echo between", "between\n", 0),
        ("done | cat", "1\n2\n", 0),
        ("sleep 0", "", None),
        ("wait", "", 0),
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("python", "its first line does not name bash"),
        ("dash", "its first line does not name bash"),
        ("no-shebang", "its first line does not name bash"),
        ("verbose", "line 2 says 'set -v'"),
        ("introspection", "line 4 says 'declare -F'"),
        ("debug-trap", "line 3 says"),
        ("limits", "line 2 says 'ulimit'"),
    ],
)
async def test_what_cannot_be_told_apart_is_one_step_that_says_why(
    trials: Trials, name: str, why: str
) -> None:
    trial = await run(trials, SCRIPTS[f"{name}.sh"], trace=True)
    made = trajectory(trial)
    assert why in made["notes"]
    (step,) = made["steps"]
    assert step["message"] == "the whole script"
    (result,) = step["observation"]["results"]
    assert result["content"].encode() == (trial / "agent/oracle.txt").read_bytes()
    code = trial / "agent/exit-code.txt"
    assert result["extra"]["exit_code"] == (int(code.read_text()) if code.exists() else 0)


async def test_a_script_that_is_cut_short_tells_what_it_had_run(trials: Trials) -> None:
    config = trials.task / "task.toml"
    config.write_text(config.read_text().replace("[agent]\ntimeout_sec = 30", "[agent]\ntimeout_sec = 1.5"))
    trials.write("tests/test.sh", LOOK)
    trials.write("negatives/it/solve.sh", "#!/bin/bash\necho first\nsleep 60\n")
    outcome = await trials.run(script(trials.task / "negatives/it/solve.sh", trace=True))
    assert outcome.timed_out == "agent"
    assert told(trials.trial_dir) == [("echo first", "first\n", 0), ("sleep 60", "", None)]
    assert ".workbench" not in (trials.trial_dir / "verifier/test-stdout.txt").read_text()


async def test_a_long_script_is_told_up_to_a_limit_and_then_as_one_step(trials: Trials) -> None:
    text = (
        f"#!/bin/bash\nfor ((i = 0; i < {COMMANDS_LIMIT}; i++)); do\n"
        '  if ((i % 1000 == 0)); then echo "$i"; fi\ndone\necho end\n'
    )
    trial = await run(trials, text, trace=True)
    assert (trial / "agent/oracle.txt").read_text() == "0\n1000\n2000\n3000\nend\n"
    made = trajectory(trial)
    assert f"After {COMMANDS_LIMIT} commands the rest is not told apart." in made["notes"]
    assert 1000 < len(made["steps"]) <= COMMANDS_LIMIT
    assert "".join(content or "" for _, content, _ in told(trial)) == "0\n1000\n2000\n3000\nend\n"


async def test_what_a_step_printed_is_kept_by_its_start_and_its_end(trials: Trials) -> None:
    text = "#!/bin/bash\nseq 100000\necho end\n"
    (_, content, _), end = told(await run(trials, text, trace=True))
    assert content is not None
    assert content.startswith("1\n2\n3\n")
    assert content.endswith("99999\n100000\n")
    assert "bytes ..." in content
    assert len(content) < 70_000
    assert end == ("echo end", "end\n", 0)


async def test_each_step_of_a_task_has_a_trajectory_of_its_own(trials: Trials) -> None:
    config = trials.task / "task.toml"
    config.write_text(config.read_text() + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n')
    scripts = []
    for name in ("one", "two"):
        trials.write(f"steps/{name}/instruction.md", name)
        trials.write(f"steps/{name}/tests/test.sh", LOOK)
        trials.write(f"steps/{name}/solution/solve.sh", f"#!/bin/bash\necho {name}\n")
        scripts.append(str(trials.task / f"steps/{name}/solution/solve.sh"))
    agent = script(Path(scripts[0]), trace=True)
    agent.kwargs["scripts"] = scripts
    outcome = await trials.run(agent)
    assert outcome.kind == "passed"
    for name in ("one", "two"):
        assert told(trials.trial_dir / "steps" / name) == [(f"echo {name}", f"{name}\n", 0)]


async def test_the_environment_never_sees_the_trajectory(trials: Trials) -> None:
    trial = await run(trials, "#!/bin/bash\ntrue\n", trace=True)
    assert (trial / "agent/trajectory.json").exists()
    assert "trajectory" not in (trial / "verifier/test-stdout.txt").read_text()


@pytest.mark.parametrize("shell", ["bash -c", "bash -lc", "dash -c", "busybox sh -c"])
@pytest.mark.parametrize("room", [True, False], ids=["room", "no-room"])
def test_any_shell_may_run_the_command_and_a_trace_that_cannot_be_kept_does_no_harm(
    tmp_path: Path, shell: str, room: bool
) -> None:
    outer = shell.split()
    if shutil.which(outer[0]) is None:
        pytest.skip(f"{outer[0]} is not here")
    solve, log = tmp_path / "solve.sh", tmp_path / "log"
    solve.write_text("#!/bin/bash\necho one\nf() { echo two; return 3; }\nf\n")
    solve.chmod(0o755)
    directory = tmp_path / ("trace" if room else "no/such/place")
    done = subprocess.run(
        [*outer, traced_command(str(solve), str(log), str(directory))], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr, log.read_text()) == (3, "", "one\ntwo\n")
    assert not directory.exists()
    _, records = read_trace(done.stdout)
    told = [record.split(FIELD)[-1] for record in records]
    assert told == (["echo one", "f", "f", "echo two", "return 3"] if room else [])
