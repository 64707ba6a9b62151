"""What a save makes stale, by Harbor's rules of which file goes where."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.task.conftest import SOUND, MakeTask, write
from workbench.task.roles import Snapshot, affected, feeds

TOML = str(SOUND["task.toml"])
DOCKERFILE = TOML.replace('docker_image = "python:3.12-slim"', "")
SHARED = TOML.replace('environment_mode = "separate"', "")
STEPS = TOML + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
STEP_FILES = {
    "task.toml": STEPS,
    "steps/one/instruction.md": "one",
    "steps/two/instruction.md": "two",
    "steps/one/workdir/data": "x",
    "steps/one/solution/solve.sh": "x",
    "steps/one/tests/one.json": "x",
    "steps/two/tests/two.json": "x",
    "negatives/late/steps/two/solve.sh": "x",
}

type Files = Mapping[str, str | None]


def after_edit(make_task: MakeTask, files: Files, edits: Files) -> dict[str, tuple[str, str]]:
    root = make_task(files)
    before = Snapshot.of(root)
    write(root, edits)
    return dict(affected(before, Snapshot.of(root)))


def both(stage: str, why: str) -> dict[str, tuple[str, str]]:
    return {"oracle": (stage, why), "nop": (stage, why)}


IMAGES: list[tuple[str, Files, Files, dict[str, tuple[str, str]]]] = [
    (
        "a Dockerfile is the image",
        {"task.toml": DOCKERFILE, "environment/Dockerfile": "FROM a"},
        {"environment/Dockerfile": "FROM b"},
        both("image", "environment/Dockerfile changed"),
    ),
    (
        "so is all that is beside it",
        {"task.toml": DOCKERFILE, "environment/Dockerfile": "FROM a"},
        {"environment/data/x": "1"},
        both("image", "environment/data was added, and 1 more"),
    ),
    (
        "another reference is another image",
        {},
        {"task.toml": TOML.replace("3.12", "3.13")},
        both("image", "task.toml: [environment] docker_image changed"),
    ),
    (
        "with a reference and no Dockerfile the directory is uploaded",
        {"environment/data": "1"},
        {"environment/data": "2"},
        both("agent", "environment/data changed"),
    ),
    (
        "with a reference and a Dockerfile neither is used",
        {"environment/Dockerfile": "FROM a"},
        {"environment/Dockerfile": "FROM b"},
        {},
    ),
    (
        "a separate verifier's Dockerfile leaves the agent alone",
        {"tests/Dockerfile": "FROM a"},
        {"tests/Dockerfile": "FROM b"},
        both("verdict", "tests/Dockerfile changed"),
    ),
    (
        "a verifier that boots another image has the tests in it",
        {"task.toml": TOML + '[verifier.environment]\ndocker_image = "v"\n'},
        {"tests/test.sh": "other"},
        {},
    ),
    (
        "another image for the verifier",
        {"task.toml": TOML + '[verifier.environment]\ndocker_image = "v"\n'},
        {"task.toml": TOML + '[verifier.environment]\ndocker_image = "w"\n'},
        both("verdict", "task.toml: [verifier.environment] docker_image changed"),
    ),
    (
        "a shared verifier that becomes separate",
        {"task.toml": SHARED},
        {"task.toml": TOML},
        both("verdict", "task.toml: [verifier] environment_mode changed, and 1 more"),
    ),
    (
        "a shared verifier that gets an environment of its own",
        {"task.toml": SHARED},
        {"task.toml": SHARED + "[verifier.environment]\ncpus = 2\n"},
        both("verdict", "task.toml: [verifier.environment] was added"),
    ),
]

FILES: list[tuple[str, Files, Files, dict[str, tuple[str, str]]]] = [
    ("a prior trajectory", {}, {"trajectory.json": "{}"}, both("agent", "trajectory.json was added")),
    (
        "a file of the tests that is gone",
        {"tests/x": ""},
        {"tests/x": None},
        both("verdict", "tests/x was removed"),
    ),
    (
        "a test that is kept from being uploaded",
        {"tests/.harborignore": "*.log\n", "tests/a.log": "1"},
        {"tests/a.log": "2"},
        {},
    ),
    (
        "which ones are kept",
        {"tests/.harborignore": "*.log\n", "tests/a.log": "1"},
        {"tests/.harborignore": "*.txt\n"},
        both("verdict", "tests/a.log was added"),
    ),
    (
        "files of the author's own",
        {"notes/a": "1", ".gitignore": ""},
        {"notes/a": "2", ".gitignore": "x"},
        {},
    ),
    (
        "artifacts",
        {},
        {"task.toml": 'artifacts = ["/x"]\n' + TOML},
        both("verdict", "task.toml: artifacts changed"),
    ),
    ("a new negative", {}, {"negatives/wrong.sh": "x"}, {"wrong": ("agent", "it is new")}),
    ("a removed negative", {"negatives/wrong.sh": "x"}, {"negatives/wrong.sh": None}, {}),
    (
        "one of two negatives",
        {"negatives/a/solve.sh": "x", "negatives/b/solve.sh": "x"},
        {"negatives/b/data": "x"},
        {"b": ("agent", "negatives/b/data was added")},
    ),
    (
        "a comment and a real change",
        {},
        {"task.toml": TOML.replace("30.0", "40.0") + "# note\n", "README.md": "x"},
        both("verdict", "task.toml: [verifier] timeout_sec changed"),
    ),
]

IN_STEPS: list[tuple[str, Files, Files, dict[str, tuple[str, str]]]] = [
    (
        "the second step's tests",
        STEP_FILES,
        {"steps/two/tests/two.json": "y"},
        dict.fromkeys(("oracle", "nop", "late"), ("verdict", "steps/two/tests/two.json changed")),
    ),
    (
        "the first step's tests, which the second step's agent comes after",
        STEP_FILES,
        {"steps/one/tests/one.json": "y"},
        dict.fromkeys(("oracle", "nop", "late"), ("agent", "steps/one/tests/one.json changed")),
    ),
    (
        "the first step's files",
        STEP_FILES,
        {"steps/one/workdir/data": "y"},
        dict.fromkeys(("oracle", "nop", "late"), ("agent", "steps/one/workdir/data changed")),
    ),
    (
        "the reference solution that a negative runs in the step that it gets right",
        STEP_FILES,
        {"steps/one/solution/solve.sh": "y"},
        dict.fromkeys(("oracle", "late"), ("agent", "steps/one/solution/solve.sh changed")),
    ),
    (
        "the reference solution that it does not run",
        STEP_FILES,
        {"solution/solve.sh": "y"},
        {"oracle": ("agent", "solution/solve.sh changed")},
    ),
    (
        "the step's own script",
        STEP_FILES,
        {"negatives/late/steps/two/solve.sh": "y"},
        {"late": ("agent", "negatives/late/steps/two/solve.sh changed")},
    ),
    (
        "the task's timeout, which steps do not take",
        STEP_FILES,
        {"task.toml": STEPS.replace("30.0", "40.0")},
        {},
    ),
    (
        "a step's timeout",
        STEP_FILES,
        {"task.toml": STEPS + "[steps.verifier]\ntimeout_sec = 5.0\n"},
        dict.fromkeys(
            ("oracle", "nop", "late"), ("verdict", "task.toml: step two, verifier.timeout_sec changed")
        ),
    ),
    (
        "a new step",
        STEP_FILES,
        {"task.toml": STEPS + '[[steps]]\nname = "three"\n'},
        dict.fromkeys(("oracle", "nop", "late"), ("agent", "the steps changed")),
    ),
    ("a file of a step that nothing reads", STEP_FILES, {"steps/one/notes.md": "y"}, {}),
]


@pytest.mark.parametrize(("name", "files", "edits", "expected"), [*IMAGES, *FILES, *IN_STEPS])
def test_a_save_makes_stale_what_it_feeds(
    make_task: MakeTask, name: str, files: Files, edits: Files, expected: dict[str, tuple[str, str]]
) -> None:
    assert after_edit(make_task, files, edits) == expected


def test_nothing_changed_makes_nothing_stale(make_task: MakeTask) -> None:
    assert after_edit(make_task, {}, {}) == {}


@pytest.mark.parametrize(("before", "after"), [("[broken", TOML), (TOML, "[broken")])
def test_a_task_toml_that_cannot_be_compared_makes_all_stale(
    make_task: MakeTask, before: str, after: str
) -> None:
    found = after_edit(make_task, {"task.toml": before}, {"task.toml": after})
    assert found == both("image", "task.toml could not be read")


def test_each_file_has_its_stage(make_task: MakeTask) -> None:
    snapshot = Snapshot.of(
        make_task(
            {"environment/data": "", "README.md": "", "negatives/a/solve.sh": "", "negatives/a/data": ""}
        )
    )
    assert {path: feeds(snapshot, path) for path in snapshot.entries if "." in path or "data" in path} == {
        "README.md": {},
        "task.toml": {},
        "environment/data": {"oracle": "agent", "nop": "agent", "a": "agent"},
        "instruction.md": {"oracle": "agent", "nop": "agent", "a": "agent"},
        "solution/solve.sh": {"oracle": "agent"},
        "negatives/a/solve.sh": {"a": "agent"},
        "negatives/a/data": {"a": "agent"},
        "tests/test.sh": {"oracle": "verdict", "nop": "verdict", "a": "verdict"},
    }
