"""An edit changes the keys of exactly the stages that it makes stale."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.cases.find import find_cases
from workbench.proof.keys import StageKeys, stage_keys
from workbench.task.roles import affected
from workbench.task.snapshot import Snapshot

SAMPLES = Path(__file__).parents[2] / "sample_tasks"
CASES = {"oracle", "nop", "double-hyphens", "hard-coded", "keeps-unicode", "truncates-title"}

type Edit = Callable[[str], str]


def keys(task: Path) -> dict[str, StageKeys]:
    snapshot = Snapshot.of(task)
    return {case.name: stage_keys(snapshot, case, "image-1") for case in find_cases(task)[0]}


def stale(before: dict[str, StageKeys], after: dict[str, StageKeys]) -> dict[str, str]:
    """The first stage whose key differs, for each case where one does."""
    return {
        case: "agent" if before[case].agent != keys.agent else "verdict"
        for case, keys in after.items()
        if before[case] != keys
    }


def edit(task: Path, path: str, change: Edit) -> None:
    text = (task / path).read_text()
    assert change(text) != text
    (task / path).write_text(change(text))


def append(text: str) -> Edit:
    return lambda before: before + text


def replace(old: str, new: str) -> Edit:
    return lambda before: before.replace(old, new)


EDITS: dict[str, tuple[str, Edit, dict[str, str]]] = {
    "the instruction": ("instruction.md", append("More.\n"), dict.fromkeys(CASES, "agent")),
    "a comment in task.toml": ("task.toml", append("# note\n"), {}),
    "the description in task.toml": ("task.toml", replace("Turn the", "Make the"), {}),
    "the README": ("README.md", append("More.\n"), {}),
    "the solution": ("solution/solve.sh", append("# note\n"), {"oracle": "agent"}),
    "the solution's variables": (
        "task.toml",
        append('[solution.env]\nA = "b"\n'),
        dict.fromkeys(CASES - {"nop"}, "agent"),
    ),
    "a negative": ("negatives/keeps-unicode/solve.sh", append("# note\n"), {"keeps-unicode": "agent"}),
    "a file beside a negative": (
        "negatives/hard-coded/examples.json",
        append("\n"),
        {"hard-coded": "agent"},
    ),
    "a short negative": ("negatives/double-hyphens.sh", append("# note\n"), {"double-hyphens": "agent"}),
    "why a negative is wrong": ("negatives/hard-coded/case.toml", replace("by heart", "too well"), {}),
    "what a negative must fail": (
        "negatives/keeps-unicode/case.toml",
        append('output = "x"\n'),
        {"keeps-unicode": "verdict"},
    ),
    "the test script": ("tests/test.sh", append("# note\n"), dict.fromkeys(CASES, "verdict")),
    "a file of the tests": ("tests/expected.json", append("\n"), dict.fromkeys(CASES, "verdict")),
    "[verifier] timeout_sec": (
        "task.toml",
        replace("timeout_sec = 30.0", "timeout_sec = 31.0"),
        dict.fromkeys(CASES, "verdict"),
    ),
    "[agent] timeout_sec": (
        "task.toml",
        replace("timeout_sec = 60.0", "timeout_sec = 61.0"),
        dict.fromkeys(CASES, "agent"),
    ),
    "[environment] memory_mb": (
        "task.toml",
        replace("memory_mb = 512", "memory_mb = 1024"),
        dict.fromkeys(CASES, "agent"),
    ),
}


@pytest.fixture
def slugify(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "slugify", tmp_path / "slugify"))


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_makes_exactly_its_stages_stale(slugify: Path, name: str) -> None:
    path, change, expected = EDITS[name]
    snapshot, before = Snapshot.of(slugify), keys(slugify)
    edit(slugify, path, change)
    assert stale(before, keys(slugify)) == expected
    # The keys and the words that say what a save made stale are one thing.
    assert {case: stage for case, (stage, _) in affected(snapshot, Snapshot.of(slugify)).items()} == expected


def test_another_image_changes_every_key(slugify: Path) -> None:
    snapshot = Snapshot.of(slugify)
    for case in find_cases(slugify)[0]:
        first, second = (stage_keys(snapshot, case, image) for image in ("image-1", "image-2"))
        assert first.agent != second.agent
        assert first.verdict != second.verdict


def test_another_verifier_image_changes_the_verdict_alone(slugify: Path) -> None:
    snapshot, oracle = Snapshot.of(slugify), find_cases(slugify)[0][0]
    first, second = (stage_keys(snapshot, oracle, "image", {"": image}) for image in ("v-1", "v-2"))
    assert first.agent == second.agent
    assert first.verdict != second.verdict


def test_keys_are_the_same_wherever_the_task_is(slugify: Path, tmp_path: Path) -> None:
    assert keys(Path(shutil.copytree(slugify, tmp_path / "elsewhere"))) == keys(slugify)


def test_no_two_cases_share_an_agent_stage(slugify: Path) -> None:
    assert len({found.agent for found in keys(slugify).values()}) == len(CASES)


def test_an_edit_of_the_last_step_leaves_the_first_fresh(tmp_path: Path) -> None:
    task = Path(shutil.copytree(SAMPLES / "multi-step", tmp_path / "multi-step"))
    before = keys(task)
    edit(task, "steps/rank/tests/expected.json", append("\n"))
    after = keys(task)
    for case in after:
        assert after[case].steps[0] == before[case].steps[0]
        assert after[case].steps[1].agent == before[case].steps[1].agent
        assert after[case].verdict != before[case].verdict


def test_an_edit_of_the_first_steps_tests_reaches_the_second_steps_agent(tmp_path: Path) -> None:
    task = Path(shutil.copytree(SAMPLES / "multi-step", tmp_path / "multi-step"))
    before = keys(task)
    edit(task, "steps/count/tests/expected.json", append("\n"))
    after = keys(task)
    for case in after:
        assert after[case].steps[0].agent == before[case].steps[0].agent
        assert after[case].steps[1].agent != before[case].steps[1].agent
