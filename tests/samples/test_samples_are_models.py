"""The samples are models: each says what it shows, and its cases say what they are for."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
from harbor.publisher.packager import Packager

from workbench.cases.case import Case
from workbench.cases.find import find_cases
from workbench.task.load import LoadedTask, load

SAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "sample_tasks").glob("*/task.toml"))

BUILDS = {
    "prices": {"environment/Dockerfile"},
    "readings": {"environment/Dockerfile", "tests/Dockerfile"},
}

samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)


def loaded(sample: Path) -> LoadedTask:
    task, problems = load(sample)
    assert task is not None
    assert problems == ()
    return task


def negatives(sample: Path) -> list[Case]:
    cases, problems = find_cases(sample)
    assert problems == ()
    return [case for case in cases if case.kind == "negative"]


def test_there_is_one_for_each_thing_to_show() -> None:
    assert [sample.name for sample in SAMPLES] == [
        "broken-oracle",
        "cannot-fail",
        "multi-step",
        "prices",
        "readings",
        "separate-verifier",
        "several-rewards",
        "slugify",
    ]


@samples
def test_it_runs_on_any_machine_but_for_those_that_show_builds(sample: Path) -> None:
    task = loaded(sample)
    builds = {path.relative_to(sample).as_posix() for path in sample.rglob("Dockerfile")}
    assert builds == BUILDS.get(sample.name, set())
    assert task.image == ("environment/Dockerfile" if builds else "python:3.12-slim")
    assert task.network == "no-network"
    assert task.name == f"samples/{sample.name}"


@samples
def test_its_programs_run_on_the_pythons_that_hosts_have(sample: Path) -> None:
    programs = [path.read_text() for path in sample.rglob("*.py")]
    for script in sample.rglob("*.sh"):
        programs += re.findall(r"<<'PYTHON'\n(.*?)^PYTHON$", script.read_text(), re.DOTALL | re.MULTILINE)
    assert programs
    for program in programs:
        ast.parse(program, feature_version=(3, 10))


@samples
def test_its_readme_says_what_it_shows(sample: Path) -> None:
    title, _, text = (sample / "README.md").read_text().partition("\n\n")
    assert title == f"# {sample.name}"
    assert len(text) > 80


@samples
def test_its_scripts_are_executable_and_stop_or_reward_in_any_case(sample: Path) -> None:
    for script in sample.rglob("*.sh"):
        assert os.access(script, os.X_OK), script
        text = script.read_text()
        assert text.startswith("#!/bin/bash\n")
        if script.name == "test.sh":
            assert re.search(r"^trap '.*/logs/verifier/reward\.(txt|json)' EXIT$", text, re.MULTILINE)
        elif "plants-a-reward" not in script.parts:
            assert "set -euo pipefail\n" in text


@samples
def test_its_negatives_say_why_and_name_tests_that_there_are(sample: Path) -> None:
    tests = "".join(path.read_text() for path in sample.glob("**/tests/*") if path.is_file())
    found = negatives(sample)
    assert found
    for case in found:
        assert case.why
        assert all(f'"{name}"' in tests for name in case.fails), case
        assert case.expect == "pass" or case.fails or case.output or case.name == "prints-nothing"


@samples
def test_its_negatives_are_no_part_of_what_is_published(sample: Path) -> None:
    assert not [path for path in Packager.collect_files(sample) if "negatives" in path.parts]


def test_both_forms_of_negatives_are_shown() -> None:
    scripts = {case.script.rpartition("/")[2] for sample in SAMPLES for case in negatives(sample)}
    assert "solve.sh" in scripts
    assert len(scripts) > 1


def test_slugify_has_six_cases() -> None:
    assert len(find_cases(Path(SAMPLES[-1]))[0]) == 6
