"""Negatives are found in both forms, and whatever is wrong with one is said with its place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from workbench.cases.case import Case
from workbench.cases.find import find_cases
from workbench.cases.negatives import scripts
from workbench.task.load import load

SAMPLES = Path(__file__).parents[2] / "sample_tasks"
SCRIPT = "#!/bin/bash\necho wrong > /app/out.txt\n"


def task_with(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def negatives(root: Path) -> tuple[Case, ...]:
    """The negatives of a task that has nothing wrong with them."""
    cases, problems = find_cases(root)
    assert problems == ()
    return cases[2:]


def problems_of(root: Path) -> list[str]:
    """What is said, where no negative is sound."""
    cases, problems = find_cases(root)
    assert [case.name for case in cases] == ["oracle", "nop"]
    return [f"{problem.severity}: {problem}" for problem in problems]


def test_oracle_and_nop_come_first_then_negatives_by_name(tmp_path: Path) -> None:
    task_with(tmp_path, {f"negatives/{name}": SCRIPT for name in ("b.sh", "a/solve.sh", "C.sh")})
    cases, problems = find_cases(tmp_path)
    assert problems == ()
    assert [(case.name, case.kind, case.expect) for case in cases] == [
        ("oracle", "oracle", "pass"),
        ("nop", "nop", "fail"),
        ("C", "negative", "fail"),
        ("a", "negative", "fail"),
        ("b", "negative", "fail"),
    ]


def test_a_directory_with_all_keys(tmp_path: Path) -> None:
    keys = "why = 'is wrong'\nfails = ['test_a', 'test_b']\noutput = '''got \\d+'''\nexpect = 'fail'\n"
    task_with(tmp_path, {"negatives/off by one/solve.sh": SCRIPT, "negatives/off by one/case.toml": keys})
    assert negatives(tmp_path) == (
        Case(
            "off by one",
            "negative",
            "fail",
            why="is wrong",
            fails=("test_a", "test_b"),
            output="got \\d+",
            script="negatives/off by one/solve.sh",
        ),
    )


def test_a_script_with_all_keys_in_its_first_comment(tmp_path: Path) -> None:
    script = """\
#!/bin/bash
# This writes the wrong word, see "hello" = "hallo".
# why = "writes it wrong"
# fails = [
#   "test_a",
#   "test_b",
# ]
#output = '^got \\w+'
# That is all = nothing more.

# expect = "pass"
echo wrong
"""
    task_with(tmp_path, {"negatives/misspelt.sh": script})
    [case] = negatives(tmp_path)
    assert (case.why, case.fails, case.output) == ("writes it wrong", ("test_a", "test_b"), "^got \\w+")
    # The block ended at the empty line.
    assert (case.expect, case.script) == ("fail", "negatives/misspelt.sh")


def test_a_correct_alternative_must_pass(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/other-way.sh": f'#!/bin/sh\n# expect = "pass"\n{SCRIPT}'})
    assert negatives(tmp_path)[0].expect == "pass"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_windows_line_ends_and_byte_order_marks_do_not_hide_keys(tmp_path: Path, line_end: str) -> None:
    script = f'#!/bin/bash{line_end}# why = "x"{line_end}true{line_end}'
    task_with(
        tmp_path,
        {
            "negatives/a.sh": script,
            "negatives/b/solve.sh": SCRIPT,
            "negatives/b/case.toml": f'\ufeffwhy = "x"{line_end}',
        },
    )
    assert [case.why for case in negatives(tmp_path)] == ["x", "x"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            'why = "x"\nfail = ["a"]\n',
            ":2:1: unknown key 'fail'; did you mean fails?",
        ),
        ("reason = 1\n", ":1:1: unknown key 'reason'; the keys are why, fails, output, expect"),
        ("why = 3\n", ":1:1: why should be a string, not 3"),
        ('\nfails = "a"\n', ":2:1: fails should be a list of strings, not 'a'"),
        ('fails = ["a", ""]\n', ":1:15: fails[1] should be the name of a test, not ''"),
        (
            'why = "x"\noutput = "(["\n',
            ":2:1: output is not a regular expression: unterminated character set at position 1",
        ),
        ('expect = "void"\n', ':1:1: expect should be "fail" or "pass", not \'void\''),
        (
            'expect = "pass"\nfails = ["a"]\n',
            ":2:1: a solution that must pass fails no test; remove one of fails and expect",
        ),
        ("why = x\n", ":1:7: not TOML: invalid value"),
        ("why = 'x'\nwhy = 'y'\n", ":2:10: not TOML: cannot overwrite a value"),
    ],
)
def test_a_wrong_key_is_an_error_with_its_place_in_both_forms(tmp_path: Path, keys: str, said: str) -> None:
    directory = task_with(
        tmp_path / "directory", {"negatives/wrong/solve.sh": SCRIPT, "negatives/wrong/case.toml": keys}
    )
    assert problems_of(directory) == [f"error: negatives/wrong/case.toml{said}"]

    comment = "#!/bin/bash\n" + "".join(f"# {line}\n" for line in keys.splitlines())
    script = task_with(tmp_path / "script", {"negatives/wrong.sh": comment + "true\n"})
    [found] = problems_of(script)
    line, column, words = said[1:].split(":", 2)
    assert found.startswith(f"error: negatives/wrong.sh:{int(line) + 1}:")
    assert found.endswith(words)
    # "# " stands before each line, and keys begin where the line does.
    assert f":{int(line) + 1}:{int(column) + 2}:" in found or column == "1"


def test_one_name_in_both_forms(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/a.sh": SCRIPT, "negatives/a/solve.sh": SCRIPT})
    cases, problems = find_cases(tmp_path)
    assert [case.script for case in cases[2:]] == ["negatives/a/solve.sh"]
    assert [str(problem) for problem in problems] == [
        "negatives/a.sh: negatives/a/solve.sh has the same name; give it another name"
    ]


@pytest.mark.parametrize("path", ["oracle.sh", "Nop/solve.sh"])
def test_names_of_the_cases_that_every_task_has(tmp_path: Path, path: str) -> None:
    task_with(tmp_path, {f"negatives/{path}": SCRIPT})
    [found] = problems_of(tmp_path)
    assert "is the name of a case that every task has; give it another name" in found


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9.sh"), "new\nline.sh", " .sh", "solve.sh"])
def test_names_that_cannot_be_a_cases(tmp_path: Path, name: str) -> None:
    task_with(tmp_path, {f"negatives/{name}": SCRIPT})
    [found] = problems_of(tmp_path)
    assert found.endswith("; give it another name")
    found.encode()


def test_a_directory_without_a_script(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/a/case.toml": "why = 3\n", "negatives/a/solve.py": ""})
    assert problems_of(tmp_path) == [
        "error: negatives/a/case.toml:1:1: why should be a string, not 3",
        "error: negatives/a: there is no solve.sh, so nothing can run; add negatives/a/solve.sh",
    ]


@pytest.mark.parametrize("files", [{}, {"negatives/README.md": "notes"}, {"negatives/.gitkeep": ""}])
def test_no_negatives_are_worth_a_word(tmp_path: Path, files: dict[str, str]) -> None:
    task_with(tmp_path, files)
    [found] = problems_of(tmp_path)
    assert found.startswith("info: negatives: the task has no wrong solutions, so only doing nothing shows")
    assert found.endswith("; add negatives/NAME/solve.sh")


def test_files_that_are_no_cases_are_said_but_droppings_are_not(tmp_path: Path) -> None:
    files = dict.fromkeys(["wrong.py", "a.sh~", ".b.sh.swp", "#c.sh#", "__pycache__/x", ".git/x"], "x")
    task_with(tmp_path, {f"negatives/{name}": text for name, text in files.items()})
    assert problems_of(tmp_path) == [
        "warning: negatives/wrong.py: this file is no case and never runs;"
        " a negative is negatives/NAME.sh or negatives/NAME/solve.sh"
    ]


def test_an_empty_script_is_worth_a_word(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/lazy.sh": ""})
    cases, problems = find_cases(tmp_path)
    assert [case.name for case in cases] == ["oracle", "nop", "lazy"]
    assert [(problem.rule, problem.severity) for problem in problems] == [("empty-script", "info")]


def test_one_that_is_wrong_does_not_hide_the_others(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/bad.sh": "# expect = 1\n", "negatives/good.sh": SCRIPT})
    cases, problems = find_cases(tmp_path)
    assert [case.name for case in cases] == ["oracle", "nop", "good"]
    assert [problem.path for problem in problems] == ["negatives/bad.sh"]


def test_links_out_of_the_task_are_refused(tmp_path: Path) -> None:
    task_with(tmp_path, {"secret": "x", "task/negatives/a/solve.sh": SCRIPT})
    (tmp_path / "task/negatives/a/data").symlink_to(tmp_path / "secret")
    (tmp_path / "task/negatives/b.sh").symlink_to(tmp_path / "secret")
    said = "input paths must stay within the task; copy what the link points to into the task"
    assert problems_of(tmp_path / "task") == [
        f"error: negatives/a/data: {said}",
        f"error: negatives/b.sh: {said}",
    ]


def test_a_link_to_nowhere_is_said(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/README": ""})
    (tmp_path / "negatives/a.sh").symlink_to("gone.sh")
    assert problems_of(tmp_path) == [
        "error: negatives/a.sh: the file does not exist; its target does not exist; correct the link"
    ]


def test_a_script_that_is_not_utf_8_runs_all_the_same(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/a.sh": b'#!/bin/sh\n# why = "x"\n# caf\xe9\ntrue\n'})
    assert [case.why for case in negatives(tmp_path)] == ["x"]


def test_keys_that_are_not_utf_8_are_an_error(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives/a/solve.sh": SCRIPT, "negatives/a/case.toml": b'why = "caf\xe9"\n'})
    [found] = problems_of(tmp_path)
    assert found.startswith("error: negatives/a/case.toml:1:11: byte 0xe9 is not UTF-8")


def test_a_file_in_place_of_the_directory_is_said(tmp_path: Path) -> None:
    task_with(tmp_path, {"negatives": "x"})
    assert problems_of(tmp_path) == ["error: negatives: cannot read it: Not a directory"]


ORDINARY = """
import os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from workbench.cases.find import find_cases
print(*find_cases(Path(sys.argv[1]))[1], sep="\\n")
"""


@pytest.mark.parametrize(
    "path", ["negatives", "negatives/a.sh", "negatives/b/case.toml", "negatives/b/solve.sh"]
)
def test_what_cannot_be_read_is_said_to_an_ordinary_user(path: str) -> None:
    # Not beneath pytest's own directory, which only its user may enter.
    root = Path(f"/tmp/unreadable-negatives-{os.getpid()}")
    shutil.rmtree(root, ignore_errors=True)
    try:
        task_with(
            root,
            {
                "negatives/a.sh": SCRIPT,
                "negatives/b/solve.sh": SCRIPT,
                "negatives/b/case.toml": 'why = "x"\n',
            },
        )
        (root / path).chmod(0)
        command = [sys.executable, "-c", ORDINARY, str(root)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said.startswith(f"{path}: cannot read it: Permission denied")
    finally:
        (root / path).chmod(0o700)
        shutil.rmtree(root)


# Tasks with steps


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "multi-step", tmp_path / "multi-step"))


def test_a_negative_runs_the_reference_where_it_gives_no_script(steps: Path) -> None:
    assert ran(steps, "ties-as-they-come") == [
        "steps/count/solution/solve.sh",
        "negatives/ties-as-they-come/steps/rank/solve.sh",
    ]


def test_a_script_for_all_steps_runs_where_there_is_none_for_one(steps: Path) -> None:
    task_with(steps, {"negatives/minds-case/solve.sh": SCRIPT, "negatives/short.sh": SCRIPT})
    assert ran(steps, "minds-case") == [
        "negatives/minds-case/steps/count/solve.sh",
        "negatives/minds-case/solve.sh",
    ]
    assert ran(steps, "short") == ["negatives/short.sh", "negatives/short.sh"]


def test_a_step_without_a_solution_of_its_own_has_the_tasks(steps: Path) -> None:
    shutil.rmtree(steps / "steps/count/solution")
    task_with(steps, {"solution/solve.sh": SCRIPT})
    assert ran(steps, "ties-as-they-come")[0] == "solution/solve.sh"


def test_a_step_that_the_task_does_not_have(steps: Path) -> None:
    task_with(steps, {"negatives/lost/steps/ranks/solve.sh": SCRIPT})
    cases, problems = find_cases(steps)
    assert "lost" not in [case.name for case in cases]
    assert [str(problem) for problem in problems] == [
        "negatives/lost/steps/ranks: the task has no such step; did you mean rank?"
    ]


def ran(root: Path, name: str) -> list[str]:
    task, problems = load(root)
    assert task is not None, problems
    [case] = [case for case in find_cases(root)[0] if case.name == name]
    return [path.relative_to(root).as_posix() for path in scripts(task, case)]


def test_without_steps_there_is_one_script() -> None:
    assert ran(SAMPLES / "slugify", "hard-coded") == ["negatives/hard-coded/solve.sh"]
    assert ran(SAMPLES / "slugify", "double-hyphens") == ["negatives/double-hyphens.sh"]


def test_a_negative_that_is_removed_while_it_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_with(tmp_path, {"negatives/a.sh": SCRIPT, "negatives/b.sh": SCRIPT})
    iterdir = Path.iterdir

    def list_then_lose(path: Path) -> list[Path]:
        entries = list(iterdir(path))
        (tmp_path / "negatives/a.sh").unlink(missing_ok=True)
        return entries

    monkeypatch.setattr(Path, "iterdir", list_then_lose)
    cases, problems = find_cases(tmp_path)
    assert [case.name for case in cases] == ["oracle", "nop", "b"]
    assert problems == ()
