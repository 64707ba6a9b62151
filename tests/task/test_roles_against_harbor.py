"""What Harbor uploads in a trial is what the roles of files say, no more and no less."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.trial.trial import Trial

from tests.task import recording
from tests.task.conftest import MakeTask
from tests.task.test_roles import STEP_FILES, TOML
from workbench.cases.agents import agent_of
from workbench.cases.find import find_cases
from workbench.task.ingredients import case_ingredients
from workbench.task.load import load
from workbench.task.roles import affected
from workbench.task.snapshot import Snapshot

SAMPLES = Path(__file__).parents[2] / "sample_tasks"

type Uploaded = set[tuple[str, str, bytes]]


async def by_harbor(task: Path, trials: Path, agent: str | AgentConfig) -> Uploaded:
    recording.uploaded.clear()
    trial = await Trial.create(
        TrialConfig(
            task=TaskConfig(path=task),
            trials_dir=trials,
            agent=AgentConfig(name=agent) if isinstance(agent, str) else agent,
            environment=EnvironmentConfig(import_path=recording.IMPORT_PATH),
        )
    )
    result = await trial.run()
    assert result.exception_info is None, result.exception_info
    return {
        (target, path, data) for target, path, data in recording.uploaded if not target.startswith("/logs")
    }


def by_roles(task: Path, case: str) -> Uploaded:
    return {
        (target, path.removeprefix(f"{home}/"), (task / path).read_bytes())
        for step in case_ingredients(Snapshot.of(task))[case]
        for home, target in (
            ("environment", recording.WORKDIR),
            (f"steps/{step.step}/workdir", recording.WORKDIR),
            (f"steps/{step.step}/solution", "/solution"),
            ("solution", "/solution"),
            (f"negatives/{case}/steps/{step.step}" if step.step else f"negatives/{case}", "/solution"),
            (f"steps/{step.step}/tests", "/tests"),
            ("tests", "/tests"),
        )
        for path in {**step.agent, **step.verdict}
        if path.startswith(f"{home}/") and (task / path).is_file() and not builds_an_image(task, home)
    }


def builds_an_image(task: Path, home: str) -> bool:
    """Files that are an image's are not uploaded."""
    return home != "solution" and (task / home / "Dockerfile").exists()


TASKS: dict[str, Mapping[str, str]] = {
    "sound": {},
    "shared": {"task.toml": TOML.replace('environment_mode = "separate"', ""), "tests/deep/er/x": "1"},
    "environment directory": {"environment/data/a": "1", "environment/b": "2"},
    "image and Dockerfile": {"environment/Dockerfile": "FROM a", "environment/b": "2"},
    "ignored files": {
        "tests/.harborignore": "*.log\nbuild/\n!keep.log\n",
        "tests/a.log": "1",
        "tests/keep.log": "1",
        "tests/build/x": "1",
        "solution/.harborignore": "/notes\n",
        "solution/notes": "1",
        "solution/data/notes": "1",
    },
    "verifier's Dockerfile": {"tests/Dockerfile": "FROM a", "tests/x": "1"},
    "verifier's image": {"task.toml": TOML + '[verifier.environment]\ndocker_image = "v"\n', "tests/x": "1"},
    "steps": {**STEP_FILES, "tests/shared": "1", "solution/other": "1"},
    "steps with a verifier's Dockerfile": {**STEP_FILES, "steps/two/tests/Dockerfile": "FROM a"},
}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("agent", ["oracle", "nop"])
async def test_roles_of_made_tasks(make_task: MakeTask, tmp_path: Path, name: str, agent: str) -> None:
    task = make_task(TASKS[name])
    assert await by_harbor(task, tmp_path / "trials", agent) == by_roles(task, agent)


@pytest.mark.parametrize("name", [path.parent.name for path in sorted(SAMPLES.glob("*/task.toml"))])
@pytest.mark.parametrize("agent", ["oracle", "nop"])
async def test_roles_of_the_samples(tmp_path: Path, name: str, agent: str) -> None:
    task = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    found = await by_harbor(task, tmp_path / "trials", agent)
    assert found == by_roles(task, agent)
    # The image of a verifier that is built has its tests already.
    assert any(target == "/tests" for target, _, _ in found) is not (task / "tests/Dockerfile").is_file()


@pytest.mark.parametrize("name", ["slugify", "multi-step", "separate-verifier"])
async def test_an_edit_makes_the_oracle_stale_where_harbor_uploads_the_file(
    tmp_path: Path, name: str
) -> None:
    task = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    told_to_the_agent = {
        "task.toml",
        *(path.relative_to(task).as_posix() for path in task.rglob("instruction.md")),
    }
    before, uploads = Snapshot.of(task), await by_harbor(task, tmp_path / "trials", "oracle")
    for file in sorted(path for path in task.rglob("*") if path.is_file()):
        path = file.relative_to(task).as_posix()
        if path in told_to_the_agent:
            continue
        data = file.read_bytes()
        file.write_bytes(data + b"\n")
        reaches_a_machine = await by_harbor(task, tmp_path / "trials", "oracle") != uploads
        assert ("oracle" in affected(before, Snapshot.of(task))) is reaches_a_machine, path
        file.write_bytes(data)
    assert affected(before, Snapshot.of(task)) == {}


@pytest.mark.parametrize("name", ["slugify", "multi-step", "several-rewards"])
async def test_roles_of_negatives(tmp_path: Path, name: str) -> None:
    root = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    task, _ = load(root)
    assert task is not None
    for case in find_cases(root)[0][2:]:
        if case.script.count("/") == 1:
            continue  # see below
        found = await by_harbor(root, tmp_path / "trials", agent_of(case, task))
        assert without_keys(found) == without_keys(by_roles(root, case.name))


def without_keys(uploads: Uploaded) -> Uploaded:
    """How a run is judged is of the verdict, though it goes along with the script, which does not read it."""
    return {upload for upload in uploads if upload[1] != "case.toml"}


async def test_a_short_negative_goes_alone(tmp_path: Path) -> None:
    root = Path(shutil.copytree(SAMPLES / "slugify", tmp_path / "slugify"))
    task, _ = load(root)
    assert task is not None
    [case] = [case for case in find_cases(root)[0] if case.name == "double-hyphens"]
    found = await by_harbor(root, tmp_path / "trials", agent_of(case, task))
    script = ("/solution", "solve.sh", (root / case.script).read_bytes())
    assert {upload for upload in found if upload[0] == "/solution"} == {script}
