"""Whole trials through Harbor on real machines, and what each comes to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from harbor.models.trial.config import AgentConfig

from tests.trials.conftest import REWARD, Trials
from workbench.trials.bubblewrap import current_session
from workbench.trials.outcome import Outcome
from workbench.trials.run import run_trial
from workbench.trials.script_agent import IMPORT_PATH


def configure(trials: Trials, old: str, new: str) -> None:
    file = trials.task / "task.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def script(path: Path, **more: object) -> AgentConfig:
    task = next(parent for parent in path.parents if (parent / "task.toml").exists())
    kwargs = {"task_dir": str(task), "scripts": [str(path)], **more}
    return AgentConfig(import_path=IMPORT_PATH, kwargs=kwargs)


async def test_the_oracle_passes_and_nop_fails(trials: Trials) -> None:
    oracle, nop = await trials.run("oracle"), await trials.run("nop")
    assert (oracle.kind, oracle.reward, oracle.reason) == ("passed", 1.0, "reward 1")
    assert (nop.kind, nop.reward, nop.reason) == ("failed", 0.0, "reward 0, below 1")


async def test_phases_come_in_order_and_cover_the_run(trials: Trials) -> None:
    outcome = await trials.run()
    names = [phase.name for phase in outcome.phases]
    assert names == ["environment", "agent setup", "agent", "transfer", "verifier", "teardown"]
    assert [name for name, _ in trials.heard.phases] == [name for name in names if name != "agent setup"]
    assert all(phase.seconds is not None and phase.seconds >= 0 for phase in outcome.phases)
    assert outcome.seconds >= sum(phase.seconds or 0 for phase in outcome.phases) - 0.01


async def test_both_scripts_output_comes_while_they_run(trials: Trials) -> None:
    waiting = "#!/bin/bash\necho early\nuntil [ -e /app/go ]; do sleep 0.05; done\necho late\n"
    for source, file, more in (
        ("agent", "solution/solve.sh", "touch /app/done\n"),
        ("verifier", "tests/test.sh", f"echo 1 > {REWARD}\n"),
    ):
        text = (trials.task / file).read_text()
        trials.write(file, waiting + more)
        running = asyncio.create_task(trials.run())
        await trials.heard.until(lambda source=source: "early" in trials.heard.text(source))  # type: ignore[misc]
        assert "late" not in trials.heard.text(source)  # type: ignore[arg-type]
        [machine] = [m for m in current_session()._machines.values() if m.alive]
        await machine.exec("touch /app/go")
        assert (await running).kind == "passed"
        assert trials.heard.text(source).endswith("early\nlate\n")  # type: ignore[arg-type]
        trials.write(file, text)


async def test_what_came_live_is_the_very_output_to_the_last_byte(trials: Trials) -> None:
    trials.write(
        "tests/test.sh",
        f"#!/bin/bash\nfor i in $(seq 20000); do echo line $i ü; done\nprintf end\necho 1 > {REWARD}\n",
    )
    await trials.run()
    printed = (trials.trial_dir / "verifier/test-stdout.txt").read_text()
    assert printed.endswith("line 20000 ü\nend")
    assert trials.heard.text("verifier") == printed


async def test_a_verifier_that_times_out_keeps_what_it_had_printed(trials: Trials) -> None:
    configure(trials, "[verifier]\ntimeout_sec = 30", "[verifier]\ntimeout_sec = 0.7")
    trials.write("tests/test.sh", "#!/bin/bash\necho so far\nsleep 60\n")
    outcome = await trials.run()
    assert (outcome.kind, outcome.timed_out, outcome.exception) == (
        "timeout",
        "verifier",
        "VerifierTimeoutError",
    )
    assert outcome.reason == "the verifier ran into its timeout of 0.7 s"
    assert "so far" in outcome.detail
    assert (trials.trial_dir / "verifier/test-stdout.txt").read_text() == "so far\n"


async def test_an_agent_that_times_out_is_graded_all_the_same_and_both_are_said(trials: Trials) -> None:
    configure(trials, "[agent]\ntimeout_sec = 30", "[agent]\ntimeout_sec = 0.7")
    trials.write("solution/solve.sh", "#!/bin/bash\ntouch /app/done\nsleep 60\n")
    outcome = await trials.run(script(trials.task / "solution/solve.sh"))
    assert (outcome.kind, outcome.reward, outcome.timed_out) == ("passed", 1.0, "agent")
    assert outcome.reason == "the agent ran into its timeout of 0.7 s, and was graded 1"


async def test_an_oracle_stopped_by_its_whole_seconds_timeout_has_timed_out(trials: Trials) -> None:
    configure(trials, "[agent]\ntimeout_sec = 30", "[agent]\ntimeout_sec = 1.9")
    trials.write("solution/solve.sh", "#!/bin/bash\nsleep 60\n")
    outcome = await trials.run("oracle")
    assert (outcome.timed_out, outcome.exception) == ("agent", "AgentTimeoutError")


async def test_a_failing_solve_script_leaves_its_exit_code(trials: Trials) -> None:
    trials.write("solution/solve.sh", "#!/bin/bash\ntouch /app/done\necho oh no >&2\nexit 7\n")
    for agent in ("oracle", script(trials.task / "solution/solve.sh")):
        outcome = await trials.run(agent)
        assert (outcome.kind, outcome.agent_exit_code) == ("passed", 7)


@pytest.mark.parametrize(
    ("tests", "kind", "exception", "words"),
    [
        ("#!/bin/bash\ntrue\n", "error", "RewardFileNotFoundError", "wrote no reward file"),
        (f"#!/bin/bash\n: > {REWARD}\n", "error", "RewardFileEmptyError", "reward file is empty"),
        (f"#!/bin/bash\necho good > {REWARD}\n", "error", "VerifierOutputParseError", "cannot be read"),
        (f"#!/bin/bash\necho nan > {REWARD}\n", "error", "VerifierOutputParseError", "cannot be read"),
        ("#!/bin/bash\necho 1 > /logs/verifier/reward.json\n", "error", "ValidationError", "cannot be read"),
        ("#!/bin/bash\necho '{}' > /logs/verifier/reward.json\n", "error", "", "names no reward"),
        ("#!/bin/bash\r\necho 1 > x\r\n", "error", "RewardFileNotFoundError", "CRLF"),
    ],
)
async def test_a_reward_that_is_missing_or_unreadable_is_told_apart(
    trials: Trials, tests: str, kind: str, exception: str, words: str
) -> None:
    trials.write("tests/test.sh", tests)
    outcome = await trials.run()
    assert (outcome.kind, outcome.exception, outcome.reward) == (kind, exception, None)
    assert words in outcome.reason


async def test_of_several_rewards_the_key_reward_decides_else_the_lowest(trials: Trials) -> None:
    trials.write(
        "tests/test.sh", '#!/bin/bash\necho \'{"reward": 1, "style": 0}\' > /logs/verifier/reward.json\n'
    )
    assert (await trials.run()).reward == 1.0
    trials.write(
        "tests/test.sh", '#!/bin/bash\necho \'{"speed": 1, "style": 0.5}\' > /logs/verifier/reward.json\n'
    )
    outcome = await trials.run()
    assert (outcome.kind, outcome.reward, outcome.rewards) == ("failed", 0.5, {"speed": 1.0, "style": 0.5})
    assert (await trials.run(threshold=0.5)).kind == "passed"


async def test_an_environment_that_never_becomes_healthy_says_so(trials: Trials) -> None:
    configure(
        trials,
        "[agent]",
        '[environment.healthcheck]\ncommand = "false"\ninterval_sec = 0.01\nretries = 1\n[agent]',
    )
    outcome = await trials.run()
    assert (outcome.kind, outcome.exception) == ("error", "HealthcheckError")
    assert "never became healthy" in outcome.reason


async def test_a_reference_to_a_missing_host_variable_is_told_by_name(trials: Trials) -> None:
    configure(trials, "[verifier]", "[verifier]\nenv = { TOKEN = '${NO_SUCH_VARIABLE}' }")
    outcome = await trials.run()
    assert outcome.kind == "error"
    assert "NO_SUCH_VARIABLE" in outcome.reason


async def test_a_wrong_solution_runs_with_the_files_beside_it_and_the_tasks_variables(trials: Trials) -> None:
    configure(trials, "[verifier]", "[solution]\nenv = { NAME = 'done' }\n[verifier]")
    trials.write("negatives/n/solve.sh", '#!/bin/bash\ncp /solution/beside "/app/$NAME"\n')
    trials.write("negatives/n/beside", "")
    outcome = await trials.run(script(trials.task / "negatives/n/solve.sh", env={"NAME": "done"}, label="n"))
    assert outcome.kind == "passed"
    result = json.loads((trials.trial_dir / "result.json").read_text())
    assert result["agent_info"] == {"name": "workbench-script", "version": "n", "model_info": None}


async def test_what_says_how_a_wrong_solution_is_judged_stays_outside(trials: Trials) -> None:
    trials.write("negatives/n/solve.sh", "#!/bin/bash\nls /solution\n")
    trials.write("negatives/n/case.toml", "why = 'x'\n")
    trials.write("negatives/n/data.txt", "")
    await trials.run(script(trials.task / "negatives/n/solve.sh"))
    assert trials.heard.text("agent") == "data.txt\nsolve.sh\n"


async def test_a_wrong_solution_in_a_single_file_comes_alone(trials: Trials) -> None:
    trials.write("negatives/short.sh", "#!/bin/bash\nls /solution\ntouch /app/done\n")
    trials.write("negatives/other.sh", "#!/bin/bash\n")
    outcome = await trials.run(script(trials.task / "negatives/short.sh"))
    assert outcome.kind == "passed"
    assert trials.heard.text("agent") == "solve.sh\n"


async def test_the_digest_of_a_task_is_the_same_for_every_agent(trials: Trials) -> None:
    trials.write("negatives/n.sh", "#!/bin/bash\n")
    digests = set()
    for agent in ("oracle", "nop", script(trials.task / "negatives/n.sh")):
        await trials.run(agent)
        digests.add(json.loads((trials.trial_dir / "lock.json").read_text())["task"]["digest"])
    assert len(digests) == 1


async def test_limits_that_are_not_enforced_are_noted(trials: Trials) -> None:
    configure(trials, "[agent]", "memory_mb = 256\n[agent]")
    outcome = await trials.run()
    assert "memory_mb = 256 is not enforced by bubblewrap" in outcome.notes


async def test_a_separate_verifier_is_followed_too(trials: Trials) -> None:
    configure(trials, "[verifier]", 'artifacts = ["/app/done"]\n[verifier]\nenvironment_mode = "separate"')
    text = (trials.task / "task.toml").read_text()
    artifacts = 'artifacts = ["/app/done"]\n'
    (trials.task / "task.toml").write_text(artifacts + text.replace(artifacts, ""))
    outcome = await trials.run()
    assert (outcome.kind, trials.heard.text("verifier")) == ("passed", "looking\n")


async def test_a_trial_that_harbor_refuses_is_an_error_in_plain_words(trials: Trials) -> None:
    configure(trials, '"no-network"', '"allowlist"\nallowed_hosts = ["example.org"]')
    outcome = await trials.run()
    assert outcome.kind == "error"
    assert "allowlist" in outcome.reason


async def test_a_machine_that_is_killed_under_a_run_is_an_outcome_of_its_own(trials: Trials) -> None:
    trials.write("solution/solve.sh", "#!/bin/bash\necho solving\nsleep 60\n")
    killed: Outcome | None = None
    request = trials.request()
    running = asyncio.create_task(run_trial(request, trials.heard))
    await trials.heard.until(lambda: "solving" in trials.heard.text("agent"))
    for machine in list(current_session()._machines.values()):
        machine._running.kill()
    killed = await running
    assert (killed.kind, killed.exception) == ("killed", "MachineDiedError")
    assert "died" in killed.reason
