"""A sound task is read as Harbor reads it; whatever else is on the disk gives problems with places."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest
from harbor.models.task.task import Task

from tests.task.conftest import SOUND, MakeTask
from workbench.task.load import LoadedTask, Timeout, load
from workbench.task.problem import Problem

TOML = str(SOUND["task.toml"])


def errors(root: Path) -> list[Problem]:
    """The errors that keep `root` from being a task: there is one at least."""
    task, problems = load(root)
    assert task is None
    found = [problem for problem in problems if problem.severity == "error"]
    assert found
    return found


def loaded(root: Path) -> LoadedTask:
    task, problems = load(root)
    assert task is not None, problems
    return task


def test_a_sound_task_has_no_problems_and_says_what_it_is(make_task: MakeTask) -> None:
    root = make_task()
    task, problems = load(root)
    assert problems == ()
    assert task is not None
    assert (task.path, task.name, task.image) == (root, "demo/greet", "python:3.12-slim")
    assert (task.network, task.verifier, task.step_names) == ("public", "separate", ())
    assert task.config == Task(root).config
    assert task.start_timeout == Timeout(600.0, "Harbor's default")
    assert task.steps[0].agent_timeout == Timeout(None, "no limit is set")
    assert task.steps[0].verifier_timeout == Timeout(30.0, "[verifier] timeout_sec")


def test_a_task_without_a_name_takes_the_directorys(make_task: MakeTask) -> None:
    root = make_task({"task.toml": '[environment]\ndocker_image = "x"\n'}, name="my task")
    assert loaded(root).name == "my task"


def test_a_dockerfile_is_the_image(make_task: MakeTask) -> None:
    root = make_task({"task.toml": "", "environment/Dockerfile": "FROM scratch\n"})
    assert loaded(root).image == "environment/Dockerfile"


@pytest.mark.parametrize(
    ("files", "image", "bundled"),
    [
        ({}, "python:3.12-slim", False),
        ({"tests/Dockerfile": "FROM scratch\n"}, "tests/Dockerfile", True),
        ({"task.toml": TOML + '[verifier.environment]\ndocker_image = "grader"\n'}, "grader", True),
    ],
)
def test_a_separate_verifier_boots_its_own_image_or_the_agents(
    make_task: MakeTask, files: Mapping[str, str], image: str, bundled: bool
) -> None:
    step = loaded(make_task(files)).steps[0]
    assert (step.verifier, step.verifier_image, step.bundled_tests) == ("separate", image, bundled)


def test_steps_take_the_agents_timeout_but_not_the_verifiers(make_task: MakeTask) -> None:
    steps = '[agent]\ntimeout_sec = 9.0\n[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'
    root = make_task(
        {
            "task.toml": TOML + steps + "[steps.verifier]\ntimeout_sec = 5.0\n",
            "steps/a/instruction.md": "a",
            "steps/b/instruction.md": "b",
        }
    )
    a, b = loaded(root).steps
    assert loaded(root).step_names == ("a", "b")
    assert a.agent_timeout == Timeout(9.0, "[agent] timeout_sec")
    assert a.verifier_timeout == Timeout(600.0, "Harbor's default")
    assert b.verifier_timeout == Timeout(5.0, "step b, verifier timeout_sec")


def test_a_name_with_spaces_and_quotes_is_no_problem(make_task: MakeTask) -> None:
    root = make_task(name="""it's "a" task; $(ls)""")
    assert loaded(root).path == root


def test_a_path_of_over_200_characters_is_no_problem(make_task: MakeTask) -> None:
    root = make_task(name="/".join(["long" * 15] * 5))
    assert len(str(root)) > 300
    assert loaded(root).path == root


def test_a_task_may_be_reached_by_a_link(make_task: MakeTask, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(make_task())
    assert loaded(tmp_path / "link").path == tmp_path / "greet"


def test_a_read_only_task_is_no_problem(make_task: MakeTask) -> None:
    root = make_task()
    for path in (*root.rglob("*"), root):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert loaded(root).name == "demo/greet"
    for path in (root, *root.rglob("*")):
        path.chmod(0o755)


# Directories that are no task


def test_a_missing_directory(tmp_path: Path) -> None:
    [problem] = errors(tmp_path / "nowhere")
    assert (problem.rule, problem.where) == ("missing-directory", ".")
    assert str(tmp_path / "nowhere") in problem.message


def test_a_file_instead_of_a_directory(make_task: MakeTask) -> None:
    [problem] = errors(make_task() / "task.toml")
    assert problem.rule == "not-a-directory"
    assert problem.hint == "name the directory that holds task.toml"


def test_an_empty_directory(tmp_path: Path) -> None:
    [problem] = errors(tmp_path)
    assert problem.rule == "empty-directory"
    assert "harbor task init" in problem.hint


def test_a_directory_of_tasks_names_one(make_task: MakeTask) -> None:
    root = make_task()
    [problem] = errors(root.parent)
    assert problem.message == "this is a directory of tasks, not a task"
    assert str(root) in problem.hint


def test_a_path_that_no_system_takes() -> None:
    assert errors(Path("/tmp/nul\0byte"))[0].rule == "unreadable-directory"
    assert errors(Path("/tmp/" + "x" * 300))[0].rule == "unreadable-directory"


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert errors(tmp_path / "loop")[0].rule == "unreadable-directory"


# task.toml


def test_no_task_toml(make_task: MakeTask) -> None:
    [problem] = errors(make_task({"task.toml": None}))
    assert str(problem) == "task.toml: the file does not exist; add task.toml"


def test_a_directory_or_pipe_named_task_toml(make_task: MakeTask) -> None:
    root = make_task({"task.toml": None})
    (root / "task.toml").mkdir()
    assert str(errors(root)[0]).startswith("task.toml: it is a directory")
    (root / "task.toml").rmdir()
    os.mkfifo(root / "task.toml")
    assert str(errors(root)[0]).startswith("task.toml: it is not a regular file")


def test_a_broken_link_named_task_toml(make_task: MakeTask) -> None:
    root = make_task({"task.toml": None})
    (root / "task.toml").symlink_to("../elsewhere.toml")
    assert errors(root)[0].hint == "its target does not exist; correct the link"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[task\n", "task.toml:1:6"),
        (TOML + "x = \n", "task.toml:12:5"),
        (TOML + '[task]\nname = "a/b"\n', "task.toml:12:6"),
    ],
)
def test_bad_toml_has_line_and_column(make_task: MakeTask, text: str, where: str) -> None:
    [problem] = errors(make_task({"task.toml": text}))
    assert (problem.rule, problem.where) == ("toml-syntax", where)
    assert problem.message.startswith("not TOML: ")
    assert "at line" not in problem.message


def test_a_byte_order_mark(make_task: MakeTask) -> None:
    [problem] = errors(make_task({"task.toml": "\ufeff" + TOML}))
    assert (problem.rule, problem.where) == ("byte-order-mark", "task.toml:1:1")


def test_a_task_toml_that_is_not_utf_8(make_task: MakeTask) -> None:
    [problem] = errors(make_task({"task.toml": b'# a\nsource = "caf\xe9"\n'}))
    assert (problem.rule, problem.where) == ("not-utf-8", "task.toml:2:14")
    assert problem.message == "byte 0xe9 is not UTF-8, so the file cannot be read"


def test_wrong_types_and_values_each_have_a_line(make_task: MakeTask) -> None:
    text = """\
artifacts = ["/a", 3, {destination = "x"}]
[task]
name = "greet"
[environment]
docker_image = 5
memory_mb = "lots"
network_mode = "allowlst"
[environment.env]
FOO = 1
[environment.healthcheck]
[verifier]
timeout_sec = "1s"
[[steps]]
name = "a/b"
min_reward = "x"
[[steps]]
agent = 3
"""
    found = [
        f"{problem.line}:{problem.column} {problem.message}"
        for problem in errors(make_task({"task.toml": text}))
    ]
    assert found[0] == "1:20 artifacts[1]: should be a string or a table, not 3"
    assert found[1] == "1:23 artifacts[2].source: required, but not given"
    assert found[2].startswith("3:1 task.name: Package name must be in 'org/name' format")
    assert found[3:8] == [
        "5:1 environment.docker_image: should be a string, not 5",
        "6:1 environment.memory_mb: should be a whole number, not 'lots'",
        "7:1 environment.network_mode: should be 'no-network', 'public' or 'allowlist', not 'allowlst'",
        "9:1 environment.env.FOO: should be a string, not 1",
        "10:1 environment.healthcheck.command: required, but not given",
    ]
    assert found[8] == "12:1 verifier.timeout_sec: should be a number, not '1s'"
    assert found[9].startswith("14:1 steps[0].name: Invalid step name 'a/b'")
    assert found[10:] == [
        "15:1 steps[0].min_reward: should be a number or a table, not 'x'",
        "16:1 steps[1].name: required, but not given",
        "17:1 steps[1].agent: should be a table, not 3",
    ]


def test_a_section_that_contradicts_itself_has_the_sections_line(make_task: MakeTask) -> None:
    text = (
        '[environment]\ndocker_image = "x"\n[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\n'
    )
    [problem] = errors(make_task({"task.toml": text}))
    assert problem.where == "task.toml:3:1"
    assert "incompatible" in problem.message


def test_what_harbors_validators_do_not_catch_is_told_too(make_task: MakeTask) -> None:
    text = '[environment]\ndocker_image = "x"\nmemory = "1e999G"\n'
    [problem] = errors(make_task({"task.toml": text}))
    assert problem.message.startswith("Harbor cannot read it: OverflowError")


def test_deprecated_fields_are_mentioned_with_their_line(make_task: MakeTask) -> None:
    text = '[environment]\ndocker_image = "x"\nmemory = "2G"\nallow_internet = false\n'
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing may reach the terminal
        task, problems = load(make_task({"task.toml": text}))
    assert task is not None
    assert (task.config.environment.memory_mb, task.network) == (2048, "no-network")
    assert sorted((problem.rule, problem.severity, problem.line) for problem in problems) == [
        ("deprecated-field", "info", 3),
        ("deprecated-field", "info", 4),
    ]


# Other files


def test_all_missing_files_are_named_at_once(make_task: MakeTask) -> None:
    root = make_task({"task.toml": "", "instruction.md": None, "tests/test.sh": None})
    assert {problem.path for problem in errors(root)} == {"environment", "instruction.md", "tests/test.sh"}


def test_missing_files_of_steps_are_named(make_task: MakeTask) -> None:
    text = '[environment]\ndocker_image = "x"\n[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'
    root = make_task({"task.toml": text, "tests/test.sh": None, "steps/a/README.md": ""})
    assert [problem.path for problem in errors(root)] == [
        "steps/a/instruction.md",
        "steps/a/tests/test.sh",
        "steps/b",
    ]


def test_an_instruction_that_is_not_utf_8(make_task: MakeTask) -> None:
    [problem] = errors(make_task({"instruction.md": "Grüße\nsch".encode() + b"\xf6n\n"}))
    assert (problem.rule, problem.where) == ("not-utf-8", "instruction.md:2:4")


def test_an_instruction_with_a_byte_order_mark_runs_with_a_warning(make_task: MakeTask) -> None:
    task, [problem] = load(make_task({"instruction.md": "\ufeffWrite it.\n"}))
    assert task is not None
    assert (problem.rule, problem.severity, problem.where) == (
        "byte-order-mark",
        "warning",
        "instruction.md:1:1",
    )


def test_an_instruction_that_is_a_pipe_is_not_waited_for(make_task: MakeTask) -> None:
    root = make_task({"instruction.md": None})
    os.mkfifo(root / "instruction.md")
    assert errors(root)[0].rule == "not-a-file"


def test_a_directory_named_test_sh(make_task: MakeTask) -> None:
    root = make_task({"tests/test.sh": None, "tests/test.sh/file": ""})
    assert [(problem.path, problem.rule) for problem in errors(root)] == [("tests/test.sh", "not-a-file")]


@pytest.mark.parametrize("directory", ["tests", "solution"])
def test_a_link_out_of_the_task(make_task: MakeTask, tmp_path: Path, directory: str) -> None:
    root = make_task()
    (tmp_path / "secret").write_text("x")
    (root / directory / "data").symlink_to(tmp_path / "secret")
    [problem] = errors(root)
    assert str(problem) == (
        f"{directory}/data: input paths must stay within the task; copy what the link points to into the task"
    )


def test_a_link_within_the_task_is_no_problem(make_task: MakeTask) -> None:
    root = make_task()
    (root / "tests/data").symlink_to("../instruction.md")
    assert loaded(root).path == root


def test_a_test_script_that_harborignore_leaves_out(make_task: MakeTask) -> None:
    [problem] = errors(make_task({"tests/.harborignore": "*.sh\n"}))
    assert (problem.path, problem.message) == (
        "tests/test.sh",
        "required task input is excluded by .harborignore",
    )


def test_a_socket_in_the_tests_is_survived(make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_task()
    monkeypatch.chdir(root / "tests")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert loaded(root).path == root


def test_names_that_are_not_utf_8_are_survived(make_task: MakeTask) -> None:
    root = make_task()
    (root / os.fsdecode(b"tests/caf\xe9")).write_text("x")
    assert loaded(root).path == root


UNREADABLE = """
import os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from workbench.task.load import load
task, problems = load(Path(sys.argv[1]))
assert task is None
for problem in problems:
    print(problem)
"""


@pytest.mark.parametrize(
    ("path", "mode", "said"),
    [
        ("task.toml", 0o000, "task.toml: cannot read it: Permission denied; check its permissions"),
        ("instruction.md", 0o200, "instruction.md: cannot read it: Permission denied; check its permissions"),
        (".", 0o300, ".: cannot read {root}: Permission denied; check its permissions"),
        ("tests", 0o000, "tests: cannot read it: Permission denied; check its permissions"),
    ],
)
def test_what_cannot_be_read_is_said_to_an_ordinary_user(path: str, mode: int, said: str) -> None:
    # Not beneath pytest's own directory, which only its user may enter.
    root = Path(f"/tmp/unreadable-task-{os.getpid()}")
    shutil.rmtree(root, ignore_errors=True)
    try:
        for name, content in SOUND.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(str(content))
        (root / path).chmod(mode)
        script = [sys.executable, "-c", textwrap.dedent(UNREADABLE), str(root)]
        run = subprocess.run(script, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert said.format(root=root) in run.stdout
    finally:
        (root / path).chmod(0o700)
        shutil.rmtree(root)


def test_a_task_that_is_deleted_while_it_is_read_gives_a_problem(
    make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_task()
    read_bytes = Path.read_bytes

    def read_then_vanish(path: Path) -> bytes:
        data = read_bytes(path)
        shutil.rmtree(root, ignore_errors=True)
        return data

    monkeypatch.setattr(Path, "read_bytes", read_then_vanish)
    assert "instruction.md" in {problem.path for problem in errors(root)}
