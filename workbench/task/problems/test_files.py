"""How test scripts reach their own files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.problems.sources import TEST_SCRIPTS, Line, Script, scripts

_RUNNERS = r"(?:python3?|bash|sh|source|\.|node|pytest|python3? -m pytest)"
_ELSEWHERE = re.compile(r"^\s*(?:cd|pushd)\b|\bdirname\b|\bBASH_SOURCE\b|%/\*", re.MULTILINE)
_PYTEST = re.compile(r"(?:^|[\s/])(?:pytest|py\.test)(?=\s|$)")


def test_file_problems(task: LoadedTask) -> Iterator[Problem]:
    """Files of tests/ named without their directory, and pytest where the agent may leave a conftest.py."""
    for script in scripts(task.path, TEST_SCRIPTS):
        yield from _relative_paths(task, script)
        if task.verifier == "shared":
            yield from _open_conftest(task, script)


def _relative_paths(task: LoadedTask, script: Script) -> Iterator[Problem]:
    """Harbor runs tests in the task's working directory, not in /tests."""
    if _ELSEWHERE.search(script.text) or task.config.environment.workdir == "/tests":
        return
    names = {file.name for file in (task.path / script.path).parent.iterdir() if file.is_file()}
    for line in script.lines():
        run = re.match(rf"\s*(?:{_RUNNERS}\s+(?:-\w+\s+)*)?(?:\./)?([\w.-]+)(?=[\s;|&:]|$)", line.text)
        if run and run[1] in names and not _is_command(run[0]):
            message = f"{run[1]} is looked for in the working directory of the task, which is not /tests"
            yield Problem(
                script.path, "relative-path", "warning", message, f"write /tests/{run[1]}", line.number
            )


def _is_command(text: str) -> bool:
    """A bare word is looked for in PATH, not in any directory of the task's."""
    return not re.search(r"[\s/]", text.strip())


def _open_conftest(task: LoadedTask, script: Script) -> Iterator[Problem]:
    if task.step_names or (task.path / "tests/conftest.py").exists():
        return  # Harbor empties /tests between steps, and overwrites what it uploads
    for line in script.lines():
        if _PYTEST.search(line.text) and "--noconftest" not in line.text and not _installs(line):
            message = "pytest takes in a conftest.py that the agent may have left in /tests"
            yield Problem(
                script.path, "open-conftest", "info", message, "add --noconftest to pytest", line.number
            )
            return


def _installs(line: Line) -> bool:
    return bool(re.search(r"\b(?:install|add|which|command -v)\b", line.text))
