"""Harbor's own trials in bubblewrap machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harbor.models.trial.config import (
    AgentConfig,
    EnvironmentConfig,
    TaskConfig,
    TrialConfig,
    VerifierConfig,
)
from harbor.models.trial.result import TrialResult
from harbor.trial.hooks import TrialEvent, TrialHookEvent
from harbor.trial.trial import Trial

from tests.machines.bubblewrap.rootfs import small_rootfs
from workbench.images.errors import ImageError
from workbench.machines.bubblewrap.session import BubblewrapSession
from workbench.trials.bubblewrap import BubblewrapEnvironment, use_session

IMPORT_PATH = "workbench.trials.bubblewrap:BubblewrapEnvironment"
REPOSITORY = Path(__file__).resolve().parents[2]
SOLVE = "#!/bin/bash\necho done > result\n"
TEST = "#!/bin/bash\ngrep -qx done /app/result && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n"


@dataclass
class Task:
    """A task being written, and the trials of it."""

    path: Path
    trials_dir: Path
    kwargs: dict[str, Any] = field(default_factory=dict)
    hooks: dict[TrialEvent, Any] = field(default_factory=dict)
    environment: BubblewrapEnvironment | None = None
    _count: int = 0

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755)

    def config(self, text: str) -> None:
        """The task.toml, besides the name."""
        self.write({"task.toml": f'{text}[task]\nname = "tests/small"\n'})

    async def run(self, agent: str) -> TrialResult:
        self._count += 1
        trial = await Trial.create(
            TrialConfig(
                task=TaskConfig(path=self.path),
                trials_dir=self.trials_dir,
                trial_name=f"trial-{self._count}",
                agent=AgentConfig(name=agent),
                environment=EnvironmentConfig(import_path=IMPORT_PATH, kwargs=self.kwargs),
                verifier=VerifierConfig(),
            )
        )
        assert isinstance(trial.agent_environment, BubblewrapEnvironment)
        self.environment = trial.agent_environment
        for event, hook in self.hooks.items():
            trial.add_hook(event, hook)
        return await trial.run()

    @property
    def trial_dir(self) -> Path:
        return self.trials_dir / f"trial-{self._count}"

    @property
    def notes(self) -> list[str]:
        assert self.environment is not None
        return self.environment.notes

    async def reward(self, agent: str) -> float:
        """The reward of a trial that must be graded."""
        result = await self.run(agent)
        assert result.exception_info is None, result.exception_info
        assert result.verifier_result is not None
        assert result.verifier_result.rewards is not None
        return float(result.verifier_result.rewards["reward"])

    async def rewards(self) -> tuple[float, float]:
        """What oracle and nop get."""
        return await self.reward("oracle"), await self.reward("nop")

    async def fails_with(self, agent: str = "nop") -> str:
        """The exception of a trial that must have one: class and message."""
        info = (await self.run(agent)).exception_info
        assert info is not None
        return f"{info.exception_type}: {info.exception_message}"


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[BubblewrapSession]:
    session = BubblewrapSession(tmp_path / "machines", tmp_path / "cache")
    use_session(session)
    yield session
    use_session(None)
    await session.close()


@pytest.fixture
def task(tmp_path: Path, session: BubblewrapSession) -> Task:
    task = Task((tmp_path / "task").resolve(), tmp_path / "trials")
    task.write({"instruction.md": "x\n", "solution/solve.sh": SOLVE, "tests/test.sh": TEST})
    task.config('[environment]\ndocker_image = "image:1"\n')
    return task


async def test_a_shared_verifier_tells_oracle_from_nop(task: Task) -> None:
    assert await task.rewards() == (1.0, 0.0)
    assert task.notes == ["not the image image:1: runs on this host's own tools"]


async def test_a_separate_verifier_sees_the_artifacts_alone(task: Task) -> None:
    task.config(
        'artifacts = ["/app/result"]\n[environment]\ndocker_image = "image:1"\n'
        '[verifier]\nenvironment_mode = "separate"\n'
    )
    task.write({"solution/solve.sh": SOLVE + "touch /app/undeclared\n"})
    task.write({"tests/test.sh": TEST + "ls /app\n"})
    assert await task.rewards() == (1.0, 0.0)
    assert await task.reward("oracle") == 1.0
    assert (task.trial_dir / "verifier/test-stdout.txt").read_text() == "result\n"


async def test_a_verifier_image_with_bundled_tests_is_found_by_its_directory(task: Task) -> None:
    (task.path / "environment").mkdir()
    image = small_rootfs(task.path.parent / "verifier-image")
    (image / "tests").mkdir()
    (image / "tests/test.sh").write_text(
        '#!/bin/bash\n[ "$(cat /app/result)" = done ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n'
    )
    task.config(
        'artifacts = ["/app/result"]\n[environment]\ndocker_image = "image:1"\n'
        '[verifier]\nenvironment_mode = "separate"\n'
    )
    task.write({"tests/Dockerfile": "FROM scratch\n", "tests/test.sh": "#!/bin/bash\nexit 1\n"})
    assert "ImageError" in await task.fails_with()
    task.kwargs = {"images": {str(task.path / "tests"): str(image)}}
    assert await task.rewards() == (1.0, 0.0)
    assert json.loads((task.trial_dir / "config.json").read_text())["environment"]["kwargs"] == task.kwargs


async def test_steps_share_a_machine(task: Task) -> None:
    task.config('[environment]\ndocker_image = "image:1"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n')
    task.write(
        {
            "steps/one/instruction.md": "x",
            "steps/one/solution/solve.sh": SOLVE,
            "steps/one/tests/test.sh": TEST,
            "steps/two/instruction.md": "x",
            "steps/two/workdir/setup.sh": "#!/bin/bash\ncp result kept\n",
            "steps/two/solution/solve.sh": "#!/bin/bash\nmv kept result\n",
            "steps/two/tests/test.sh": TEST,
        }
    )
    result = await task.run("oracle")
    assert [step.verifier_result and step.verifier_result.rewards for step in result.step_results or []] == [
        {"reward": 1.0},
        {"reward": 1.0},
    ]


async def test_an_image_is_a_path_beside_the_task_or_an_absolute_one(task: Task) -> None:
    image = small_rootfs(task.path / "image")
    (image / "app").mkdir()
    (image / "marker").write_text("")
    task.write(
        {
            "solution/solve.sh": "#!/bin/bash\n[ -e /marker ] && echo done > /app/result\n",
            "tests/test.sh": TEST.replace("grep -qx done", "[ -e").replace("/result", "/result ]"),
        }
    )
    for reference in ("./image", str(image)):
        task.config(f'[environment]\ndocker_image = "{reference}"\n')
        assert await task.rewards() == (1.0, 0.0)
        assert task.notes == []


async def test_an_image_that_is_missing_is_said(task: Task) -> None:
    task.config('[environment]\ndocker_image = "./none.tar"\n')
    assert await task.fails_with() == f"ImageError: there is no {task.path}/none.tar"


async def test_files_beside_no_dockerfile_are_uploaded_to_the_working_directory(task: Task) -> None:
    task.config('[environment]\ndocker_image = "image:1"\nworkdir = "/srv/work"\n')
    task.write(
        {
            "environment/data/input": "done\n",
            "solution/solve.sh": "#!/bin/bash\npwd > /logs/agent/pwd; cp data/input /app-result\n",
            "tests/test.sh": TEST.replace("/app/result", "/app-result"),
        }
    )
    assert await task.rewards() == (1.0, 0.0)
    assert await task.reward("oracle") == 1.0
    assert (task.trial_dir / "agent/pwd").read_text() == "/srv/work\n"


async def test_variables_and_users_are_the_tasks(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_TEST_HOST", "from the host")
    if os.geteuid() != 0:
        pytest.skip("needs machines with users")
    task.config(
        '[environment]\ndocker_image = "image:1"\n'
        '[environment.env]\nPLAIN = "1"\nHOST = "${WORKBENCH_TEST_HOST}"\n'
        '[agent]\nuser = "nobody"\n[solution.env]\nSOLUTION = "s"\n'
        '[verifier]\nuser = "daemon"\n[verifier.env]\nV = "v"\n'
    )
    say = '#!/bin/bash\necho "$(id -un) $PLAIN $HOST $SOLUTION $V"'
    task.write({"solution/solve.sh": f"{say} > /logs/agent/said\n"})
    task.write({"tests/test.sh": f"{say}; echo 1 > /logs/verifier/reward.txt\n"})
    assert await task.reward("oracle") == 1.0
    assert (task.trial_dir / "agent/said").read_text() == "nobody 1 from the host s \n"
    assert (task.trial_dir / "verifier/test-stdout.txt").read_text() == "daemon 1 from the host  v\n"


async def test_a_healthcheck_is_waited_for(task: Task) -> None:
    check = "[environment.healthcheck]\ninterval_sec = 0.05\nretries = 2\n"
    task.config(f'[environment]\ndocker_image = "image:1"\n{check}command = "mkdir /app/healthy || true"\n')
    task.write({"solution/solve.sh": "#!/bin/bash\n[ -d healthy ] && echo done > result\n"})
    assert await task.reward("oracle") == 1.0
    task.config(f'[environment]\ndocker_image = "image:1"\n{check}command = "false"\n')
    assert (await task.fails_with("oracle")).startswith("HealthcheckError")


async def test_no_network_is_none(task: Task) -> None:
    task.config('[environment]\ndocker_image = "image:1"\nnetwork_mode = "no-network"\n')
    task.write({"solution/solve.sh": "tail -n +3 /proc/net/dev | cut -d: -f1 | xargs > /logs/agent/net\n"})
    await task.run("oracle")
    assert (task.trial_dir / "agent/net").read_text() == "lo\n"


@pytest.mark.parametrize(
    ("config", "files", "message"),
    [
        (
            'docker_image = "image:1"\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]\n',
            {},
            "network_mode='allowlist' is not supported by bubblewrap",
        ),
        ('docker_image = "image:1"\ngpus = 1\n', {}, "does not support GPU"),
        ("", {"environment/Dockerfile": "FROM scratch\n"}, "environment/Dockerfile was not built"),
        (
            "",
            {"environment/docker-compose.yaml": "services: {main: {image: x}}\n"},
            "docker-compose.yaml: several containers cannot be had here",
        ),
    ],
    ids=["allowlist", "gpu", "dockerfile", "compose"],
)
async def test_what_cannot_be_had_is_refused_before_it_starts(
    config: str, files: dict[str, str], message: str, task: Task
) -> None:
    task.config(f"[environment]\n{config}")
    task.write(files)
    with pytest.raises((ValueError, RuntimeError, ImageError), match=message):
        await task.run("nop")


async def test_limits_that_are_not_enforced_are_said(task: Task) -> None:
    task.config('[environment]\ndocker_image = "image:1"\ncpus = 1\nmemory_mb = 512\nstorage_mb = 1024\n')
    await task.run("nop")
    assert task.notes == [
        "cpus = 1 is not enforced by bubblewrap",
        "memory_mb = 512 is not enforced by bubblewrap",
        "storage_mb = 1024 is not enforced by bubblewrap",
        "not the image image:1: runs on this host's own tools",
    ]


async def test_an_agent_that_takes_too_long_is_ended_and_graded(task: Task) -> None:
    task.config('[environment]\ndocker_image = "image:1"\n[agent]\ntimeout_sec = 1\n')
    task.write({"solution/solve.sh": SOLVE + "sleep 987 & sleep 987\n"})
    task.write({"tests/test.sh": TEST + "cat /proc/[0-9]*/comm | grep -cx sleep\n"})
    result = await task.run("oracle")
    assert result.exception_info is not None
    assert result.exception_info.exception_type == "AgentTimeoutError"
    assert result.verifier_result is not None
    assert result.verifier_result.rewards == {"reward": 1.0}
    assert (task.trial_dir / "verifier/test-stdout.txt").read_text() == "0\n"


async def test_what_the_agent_left_running_serves_the_verifier_though_a_state_was_kept(task: Task) -> None:
    # By `mv`, as a copy is empty for a moment, in which the verifier might read it.
    serve = "cp asked copied && mv copied result; sleep 0.02"
    server = f"nohup sh -c 'while :; do {serve}; done' > /dev/null 2>&1 &\n"
    wait = "for try in $(seq 500); do grep -qsx done /app/result && break; sleep 0.02; done"
    task.write({"solution/solve.sh": f"#!/bin/bash\n{server}"})
    task.write({"tests/test.sh": f"#!/bin/bash\necho done > /app/asked\n{wait}\n{TEST}"})
    kept = []

    async def keep(event: TrialHookEvent) -> None:
        assert task.environment is not None
        kept.append(await task.environment.machine.freeze())

    task.hooks[TrialEvent.VERIFICATION_START] = keep
    assert await task.reward("oracle") == 1.0
    assert kept[0].had_processes


async def test_commands_time_out_and_print_as_harbor_expects(task: Task) -> None:
    said = []

    async def look(event: TrialHookEvent) -> None:
        assert task.environment is not None
        with pytest.raises(RuntimeError, match=r"^Command timed out after 1 seconds$"):
            await task.environment.exec("sleep 987", timeout_sec=1)
        with task.environment.scoped_output_callback(on_output):
            await task.environment.exec("printf 'gr\\303'; sleep 0.1; printf '\\274n'; echo err >&2")

    async def on_output(text: str, stream: str) -> None:
        said.append((text, stream))

    task.hooks[TrialEvent.AGENT_START] = look
    await task.reward("oracle")
    assert "".join(text for text, stream in said if stream == "stdout") == "grün"
    assert "".join(text for text, stream in said if stream == "stderr") == "err\n"


async def test_every_machine_is_gone_after_its_trial(task: Task, session: BubblewrapSession) -> None:
    await task.rewards()
    await session.settled()
    assert [path.name for path in session.path.iterdir() if path.name.startswith("m")] == []


def test_harbors_own_command_runs_it_and_nothing_is_left(task: Task, tmp_path: Path) -> None:
    state = tmp_path / "state"
    words = ["run", "-p", str(task.path), "-a", "oracle", "-o", str(tmp_path / "jobs"), "-q", "-y"]
    harbor = Path(sys.executable).with_name("harbor")
    done = subprocess.run(
        [harbor, *words, "--environment-import-path", IMPORT_PATH],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "HARBOR_TELEMETRY": "off",
            "PYTHONPATH": str(REPOSITORY),
            "XDG_STATE_HOME": str(state),
            "XDG_CACHE_HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in (tmp_path / "jobs").glob("*/*/result.json")]
    assert [result["verifier_result"]["rewards"] for result in results] == [{"reward": 1.0}]
    assert [path.name for path in (state / "workbench/machines").iterdir()] == [".lock"]
