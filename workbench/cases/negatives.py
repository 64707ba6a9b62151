"""Wrong solutions that the author keeps in `negatives/`, each of which must fail.

Two forms, of which a name has one:

- `negatives/NAME/solve.sh`, with any files beside it and, optionally, `negatives/NAME/case.toml`;
- `negatives/NAME.sh`, with the same keys in its first comment: `# why = "..."`.

A negative of a task with steps gives scripts only for what it gets wrong, laid out as the task is:
`negatives/NAME/steps/STEP/solve.sh`. A step without one runs `negatives/NAME/solve.sh` where there is
one, else the reference solution of that step.

Harbor's packager does not publish the directory, so it is no part of the task's digest.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from harbor.utils.path_safety import validate_input_tree

from workbench.cases import nop, oracle
from workbench.cases.case import Case
from workbench.cases.case_keys import CaseKeys, leading_comment, read_case_keys
from workbench.task.ignored import is_ignored
from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.refused import refused
from workbench.task.solutions import NEGATIVES, SCRIPT, negative_script
from workbench.task.text import BOM, read_bytes, read_text, reason, shown

KEYS = "case.toml"


def find_negatives(task_dir: Path) -> tuple[tuple[Case, ...], tuple[Problem, ...]]:
    """The negatives of a task by name, and all that is wrong with them."""
    try:
        entries = sorted((task_dir / NEGATIVES).iterdir(), key=lambda entry: os.fsencode(entry.name))
    except FileNotFoundError:
        return (), (_none_yet(),)
    except (OSError, ValueError) as error:
        return (), (Problem(NEGATIVES, "unreadable-file", "error", f"cannot read it: {reason(error)}"),)
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    for entry in entries:
        if entry.name.startswith(".") or is_ignored(entry.name):
            continue
        case, found = _read_entry(task_dir, entry, cases)
        if not os.path.lexists(entry):  # removed meanwhile
            continue
        problems += found
        if case:
            cases[case.name] = case
    if not cases and not problems:
        problems.append(_none_yet())
    return tuple(sorted(cases.values(), key=lambda case: case.name)), tuple(problems)


def scripts(task: LoadedTask, case: Case) -> tuple[Path, ...]:
    """The scripts that a negative runs, one for each step in order; a single one in a task without steps.

    The directory of one named `solve.sh` goes to /solution with it; any other goes alone.
    """

    def exists(path: str) -> bool:
        return (task.path / path).exists()

    return tuple(task.path / negative_script(case.name, step.name, exists) for step in task.steps)


def _none_yet() -> Problem:
    message = "the task has no wrong solutions, so only doing nothing shows that its tests can fail"
    return Problem(NEGATIVES, "no-negatives", "info", message, f"add {NEGATIVES}/NAME/{SCRIPT}")


def _read_entry(task_dir: Path, entry: Path, known: dict[str, Case]) -> tuple[Case | None, list[Problem]]:
    """The case of one entry of `negatives/`; None where it is not one, or not a sound one."""
    path = f"{NEGATIVES}/{shown(entry.name)}"
    is_directory = entry.is_dir()
    name = entry.name if is_directory else entry.name.removesuffix(".sh")
    if not is_directory and name == entry.name:
        if name.upper().startswith("README"):
            return None, []
        hint = f"a negative is {NEGATIVES}/NAME.sh or {NEGATIVES}/NAME/{SCRIPT}"
        return None, [Problem(path, "not-a-case", "warning", "this file is no case and never runs", hint)]
    if problem := _bad_name(name, path, known):
        return None, [problem]
    try:
        validate_input_tree(entry, task_dir.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        return None, [refused(task_dir.resolve(), error)]
    if is_directory:
        return _read_directory(task_dir, entry, path)
    return _read_script(entry, path)


def _bad_name(name: str, path: str, known: dict[str, Case]) -> Problem | None:
    if name != shown(name):
        message = "its name is not UTF-8, so no face can show it"
    elif not name.isprintable() or not name.strip():
        message = "its name has characters that cannot be printed"
    elif name.casefold() in (oracle.NAME, nop.NAME):
        message = f"{name.casefold()} is the name of a case that every task has"
    elif path == f"{NEGATIVES}/{SCRIPT}":
        message = "it stands where a negative's directory should be"
    elif name in known:
        message = f"{known[name].script} has the same name"
    else:
        return None
    return Problem(path, "case-name", "error", message, "give it another name")


def _read_directory(task_dir: Path, directory: Path, path: str) -> tuple[Case | None, list[Problem]]:
    problems: list[Problem] = []
    keys = CaseKeys()
    if os.path.lexists(directory / KEYS):
        text = read_text(directory / KEYS, f"{path}/{KEYS}")
        if isinstance(text, Problem):
            problems.append(text)
        else:
            keys, found = read_case_keys(text.removeprefix(BOM), f"{path}/{KEYS}")
            problems += found
    steps = sorted(directory.glob(f"steps/*/{SCRIPT}"))
    problems += _unknown_steps(task_dir, directory, path)
    if (directory / SCRIPT).is_file():
        script = directory / SCRIPT
    elif steps:
        script = steps[0]
    else:
        message = f"there is no {SCRIPT}, so nothing can run"
        problems.append(Problem(path, "missing-file", "error", message, f"add {path}/{SCRIPT}"))
        return None, problems
    name = shown(script.relative_to(task_dir))
    data = read_bytes(script, name)
    if isinstance(data, Problem):
        return None, [*problems, data]
    return _case(directory.name, name, data, keys, problems)


def _read_script(script: Path, path: str) -> tuple[Case | None, list[Problem]]:
    data = read_bytes(script, path)
    if isinstance(data, Problem):
        return None, [data]
    keys, problems = read_case_keys(leading_comment(data.decode("utf-8", "replace")), path)
    return _case(script.name.removesuffix(".sh"), path, data, keys, list(problems))


def _case(
    name: str, path: str, script: bytes, keys: CaseKeys, problems: list[Problem]
) -> tuple[Case | None, list[Problem]]:
    if any(problem.severity == "error" for problem in problems):
        return None, problems
    if not script.strip():
        message = "the script is empty: it does what nop does"
        problems.append(Problem(path, "empty-script", "info", message, "write a wrong solution into it"))
    return Case(name, "negative", keys.expect, keys.why, keys.fails, keys.output, path), problems


def _unknown_steps(task_dir: Path, directory: Path, path: str) -> Iterator[Problem]:
    if not (directory / "steps").is_dir():
        return
    steps = [step.name for step in sorted((task_dir / "steps").glob("*/"))]
    for step in sorted((directory / "steps").iterdir()):
        if not step.is_dir() or step.name in steps or is_ignored(step.name):
            continue
        near = difflib.get_close_matches(step.name, steps, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the steps are {', '.join(steps)}" if steps else ""
        message = "the task has no such step"
        yield Problem(f"{path}/steps/{shown(step.name)}", "unknown-step", "error", message, shown(hint))
