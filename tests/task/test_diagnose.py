"""Each rule finds its fault, at its place, and keeps silent where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.task.conftest import SOUND, MakeTask
from workbench.task.diagnose import diagnose
from workbench.task.load import load
from workbench.task.problem import Problem

SAMPLES = Path(__file__).parents[2] / "sample_tasks"
TOML = 'artifacts = ["/app/out.txt"]\n' + str(SOUND["task.toml"])
SHARED = TOML.replace('environment_mode = "separate"', "")
STEPS = TOML.replace("timeout_sec = 30.0", "") + '[[steps]]\nname = "one"\n'
STEP_FILES = {"steps/one/instruction.md": "one", "task.toml": STEPS}

type Files = Mapping[str, str | bytes | None]


def problems(root: Path) -> tuple[Problem, ...]:
    task, found = load(root)
    assert task is not None, found
    return diagnose(task)


def script(body: str, head: str = "#!/bin/bash\nset -e\n", **more: str) -> Files:
    """A test script, and other files of tests/ by name."""
    return {"tests/test.sh": head + body, **{f"tests/{name}": text for name, text in more.items()}}


FAULTS: list[tuple[str, Files, str, str]] = [
    (
        "windows-line-ends",
        {"tests/test.sh": b"#!/bin/bash\r\necho 1 > /logs/verifier/reward.txt\r\n"},
        "warning tests/test.sh:1",
        "the interpreter line ends in CR (Windows line ends), so the kernel looks for '/bin/bash\\r'",
    ),
    (
        "windows-line-ends",
        {"negatives/a/lib.sh": b"true\nfalse\r\n"},
        "warning negatives/a/lib.sh:2",
        "the line ends in CR (Windows line ends), which bash takes for a part of its last word",
    ),
    (
        "byte-order-mark",
        {"solution/solve.sh": "\ufeff#!/bin/bash\ntrue\n"},
        "warning solution/solve.sh:1:1",
        "the file starts with a byte-order mark, so its first line is not what it looks like",
    ),
    (
        "no-interpreter",
        {"negatives/wrong.sh": "true\n"},
        "info negatives/wrong.sh:1",
        "there is no interpreter line: Harbor's bash runs it all the same, other runners may not",
    ),
    (
        "status-after-set-e",
        script("grep -q hello /app/out.txt\nif [ $? -eq 0 ]; then\n  echo 1\nfi\n"),
        "warning tests/test.sh:4",
        "set -e ends the script where line 3 fails, so no reward is written when a test fails",
    ),
    (
        "status-after-set-e",
        script("python3 - <<'E'\nif [ $? -eq 0 ]; then\nE\nstatus=$?\n", "#!/bin/bash -eu\n"),
        "warning tests/test.sh:5",
        "set -e ends the script where line 2 fails, so no reward is written when a test fails",
    ),
    (
        "status-of-pipe",
        script("python3 /tests/x.py \\\n  | tee /logs/out\n\n# note\nif [[ $? == 0 ]]; then true; fi\n"),
        "warning tests/test.sh:7",
        "$? is the exit status of tee, the last command of the pipe in line 3",
    ),
    (
        "reward-file-name",
        {"tests/test.sh": '#!/bin/bash\necho "{}" > /logs/verifier/rewards.json\n'},
        "warning tests/test.sh:2:28",
        "rewards.json is not a file that Harbor reads, and nothing in the tests names one that is",
    ),
    (
        "reward-file-name",
        script("python3 /tests/grade.py\n", **{"grade.py": 'open("/l/reward.jsn")\n'}),
        "warning tests/grade.py:1:10",
        "reward.jsn is not a file that Harbor reads, and nothing in the tests names one that is",
    ),
    (
        "relative-path",
        script("python3 -I grade.py\n", **{"grade.py": ""}),
        "warning tests/test.sh:3",
        "grade.py is looked for in the working directory of the task, which is not /tests",
    ),
    (
        "relative-path",
        script("./lib.sh && true\n", **{"lib.sh": "#!/bin/sh\n"}),
        "warning tests/test.sh:3",
        "lib.sh is looked for in the working directory of the task, which is not /tests",
    ),
    (
        "open-conftest",
        {**script("pytest /tests/test_out.py\n"), "task.toml": SHARED},
        "info tests/test.sh:3",
        "pytest takes in a conftest.py that the agent may have left in /tests",
    ),
    (
        "unused-timeout",
        {**STEP_FILES, "task.toml": TOML + '[[steps]]\nname = "one"\n'},
        "warning task.toml:12:1",
        "steps do not take the verifier timeout of the task: one has Harbor's default",
    ),
    (
        "empty-allowlist",
        {"task.toml": TOML + '[agent]\nnetwork_mode = "allowlist"\n'},
        "warning task.toml:14:1",
        "an allowlist without allowed_hosts lets nothing through",
    ),
    (
        "unused-dockerfile",
        {"environment/Dockerfile": "FROM scratch\n"},
        "warning task.toml:8:1",
        "environment/Dockerfile is not built, for docker_image names a finished image",
    ),
    (
        "no-artifacts",
        {"task.toml": str(SOUND["task.toml"])},
        "warning task.toml:9:1",
        "the separate verifier gets nothing of the agent's work: no artifacts are declared",
    ),
    (
        "missing-variable",
        {"task.toml": TOML + '[verifier.env]\nKEY = "${SURELY_NOT_SET}"\n'},
        "warning task.toml:14:1",
        "KEY: Environment variable 'SURELY_NOT_SET' not found in host environment",
    ),
    (
        "unknown-config-field",
        {"task.toml": TOML.replace("timeout_sec", "timeout_secs")},
        "warning task.toml:12:1",
        "unknown field verifier.timeout_secs, which Harbor ignores; did you mean timeout_sec?",
    ),
    (
        "unknown-config-field",
        {**STEP_FILES, "task.toml": TOML + '[[steps]]\nname = "one"\n[steps.agent]\nxyz = 1\n'},
        "warning task.toml:16:1",
        "unknown field steps[0].agent.xyz, which Harbor ignores; remove or correct it",
    ),
    (
        "no-solution",
        {"solution/solve.sh": None, "solution/solve.py": ""},
        "warning solution/solve.sh",
        "there is no reference solution, so the oracle has nothing to run",
    ),
    (
        "no-solution",
        {**STEP_FILES, "steps/one/solution/solve.py": ""},
        "warning steps/one/solution/solve.sh",
        "there is no reference solution, so the oracle has nothing to run",
    ),
    ("shared-verifier", {"task.toml": SHARED}, "info task.toml", "Verifier shares the agent sandbox"),
    ("invalid-task-files", {"instruction.md": "\n"}, "warning instruction.md", "Instruction is empty"),
    (
        "lint-stopped",
        {"tests/test.sh": b"#!/bin/bash\n# caf\xe9\necho 1 > /logs/verifier/reward.txt\n"},
        "info .",
        "harbor lint stops at this task: 'utf-8' codec can't decode byte 0xe9",
    ),
]


@pytest.mark.parametrize(("rule", "files", "where", "said"), FAULTS)
def test_a_rule_finds_its_fault(make_task: MakeTask, rule: str, files: Files, where: str, said: str) -> None:
    found = problems(make_task({"task.toml": TOML, **files}))
    [problem] = [problem for problem in found if problem.rule == rule]
    assert f"{problem.severity} {problem.where}" == where
    assert str(problem).startswith(f"{problem.where}: {said}")


REWARD = "echo 1 > /logs/verifier/reward.txt\n"

QUIET = SHARED + '[metadata.harbor.lint]\nignore = ["shared-verifier"]\n'

SOUND_ONES: list[tuple[str, Files]] = [
    ("a sound task", {}),
    ("a trap", script("trap 'echo $? > /logs/verifier/reward.txt' EXIT\ntrue\nstatus=$?\n")),
    ("a guarded command", script(f"true && rc=0 || rc=$?\nif [ $rc -eq 0 ]; then\n  {REWARD}fi\n")),
    ("a command in the condition", script(f"if grep -q x /app/out.txt; then\n  {REWARD}fi\n")),
    ("set +e before it", script(f"set +e\ntrue\nstatus=$?\nset -e\n{REWARD}")),
    ("no set -e", script(f"true\nif [ $? -eq 0 ]; then\n  {REWARD}fi\n", "#!/bin/bash\nset -u\n")),
    ("after a condition", script(f"if true; then\n  false\nfi\nstatus=$?\n{REWARD}")),
    ("in a function", script(f"check() {{\n  true\n  status=$?\n}}\n{REWARD}")),
    ("in a comment", script(f"true\n# status=$?\n{REWARD}")),
    ("a pipe with pipefail", script(f"true | tee /x\nstatus=$?\n{REWARD}", "#!/bin/sh\nset -o pipefail\n")),
    ("another pipe", script(f"printf x | python3 /tests/x.py\nstatus=$?\n{REWARD}", "#!/bin/bash\n")),
    (
        "a near miss beside the right name",
        script(". /tests/lib.sh\n", **{"lib.sh": "#!/bin/sh\nx=rewards.json\ny=reward.json\n"}),
    ),
    ("a near miss in a comment", script("# rewards.json\npython3 /tests/grade.py\n")),
    ("an absolute path", script(f"python3 /tests/grade.py\n{REWARD}", **{"grade.py": ""})),
    ("a change of directory", script(f"cd /tests\npython3 grade.py\n{REWARD}", **{"grade.py": ""})),
    (
        "the script's own directory",
        script(f'cd "$(dirname "$0")"\npython3 grade.py\n{REWARD}', **{"grade.py": ""}),
    ),
    ("a file that is not of the tests", script(f"python3 main.py\n{REWARD}", **{"grade.py": ""})),
    ("a command of a file's name", script(f"grade now\n{REWARD}", grade="")),
    (
        "pytest without conftest",
        {**script(f"pytest --noconftest /tests/test_out.py\n{REWARD}"), "task.toml": QUIET},
    ),
    (
        "a conftest of the tests' own",
        {**script(f"pytest /tests/test_out.py\n{REWARD}", **{"conftest.py": ""}), "task.toml": QUIET},
    ),
    ("pytest in a separate verifier", script(f"pytest /tests/test_out.py\n{REWARD}")),
    (
        "steps with timeouts of their own",
        {**STEP_FILES, "task.toml": TOML + '[[steps]]\nname = "one"\nverifier.timeout_sec = 5.0\n'},
    ),
    ("steps with no timeout at all", STEP_FILES),
    (
        "a step with a solution of its own",
        {**STEP_FILES, "solution/solve.sh": None, "steps/one/solution/solve.sh": "#!/bin/bash\n"},
    ),
    (
        "an allowlist with hosts",
        {"task.toml": TOML + '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["pypi.org"]\n'},
    ),
    (
        "artifacts by convention",
        {"task.toml": str(SOUND["task.toml"]), "instruction.md": "Write to /logs/artifacts/x.\n"},
    ),
    (
        "a variable with a default",
        {"task.toml": TOML + '[verifier.env]\nKEY = "${SURELY_NOT_SET:-x}"\nHOME = "${HOME}"\n'},
    ),
    ("a script that is left empty", {"negatives/lazy.sh": ""}),
    ("a Windows file that is no script", {"tests/data.csv": "a,b\r\n"}),
    ("lint rules that the task leaves out", {"task.toml": QUIET}),
]


@pytest.mark.parametrize(("name", "files"), SOUND_ONES)
def test_rules_keep_silent_where_nothing_is_wrong(make_task: MakeTask, name: str, files: Files) -> None:
    assert problems(make_task({"task.toml": TOML, **files})) == ()


@pytest.mark.parametrize("name", [path.parent.name for path in sorted(SAMPLES.glob("*/task.toml"))])
def test_the_samples_have_nothing_wrong(name: str) -> None:
    assert problems(SAMPLES / name) == ()


def test_lint_rules_of_the_dataset_are_obeyed(make_task: MakeTask) -> None:
    root = make_task({"task.toml": SHARED})
    (root.parent / "dataset.toml").write_text('[metadata.harbor.lint]\nignore = ["shared-verifier"]\n')
    assert problems(root) == ()


def test_errors_come_first(make_task: MakeTask) -> None:
    files: Files = {"task.toml": SHARED, "tests/test.sh": b"#!/bin/sh\r\n", "negatives/a.sh": "true\n"}
    found = [problem.severity for problem in problems(make_task(files))]
    assert found == sorted(found, key=["error", "warning", "info"].index)
    assert len(set(found)) == 2


ORDINARY = """
import os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from workbench.task.diagnose import diagnose
from workbench.task.load import load
task, problems = load(Path(sys.argv[1]))
print(*(f"{problem.severity} {problem}" for problem in diagnose(task)), sep="\\n")
"""


def test_files_that_the_user_may_not_read_are_errors() -> None:
    # Not beneath pytest's own directory, which only its user may enter.
    root = Path(f"/tmp/unreadable-files-{os.getpid()}")
    shutil.rmtree(root, ignore_errors=True)
    try:
        for name, content in {**SOUND, "tests/data.json": "{}"}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(str(content))
        (root / "tests/data.json").chmod(0o200)
        command = [sys.executable, "-c", ORDINARY, str(root)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert said[0] == "error tests/data.json: cannot read it: Permission denied; check its permissions"
    finally:
        shutil.rmtree(root)


def test_a_task_that_is_gone_has_no_findings(make_task: MakeTask) -> None:
    root = make_task()
    task, _ = load(root)
    assert task is not None
    shutil.rmtree(root)
    assert [problem.rule for problem in diagnose(task)] == ["no-solution", "no-artifacts", "lint-stopped"]


def test_it_takes_less_than_100_ms_on_a_small_task() -> None:
    task, _ = load(SAMPLES / "slugify")
    assert task is not None
    diagnose(task)
    started = time.process_time()
    diagnose(task)
    assert time.process_time() - started < 0.1
