"""A snapshot tells content, kind and mode apart, and never time."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.task.conftest import MakeTask, write
from workbench.task.snapshot import Snapshot


def changed(root: Path, before: Snapshot) -> set[str]:
    after = Snapshot.of(root)
    paths = before.entries.keys() | after.entries.keys()
    return {path for path in paths if before.entries.get(path) != after.entries.get(path)}


def test_times_and_owners_rewrites_are_no_change(make_task: MakeTask) -> None:
    root = make_task()
    before = Snapshot.of(root)
    os.utime(root / "tests/test.sh", (0, 0))
    text = (root / "instruction.md").read_text()
    (root / "instruction.md").unlink()
    (root / "instruction.md").write_text(text)
    assert changed(root, before) == set()


def test_a_change_of_content_is_seen_at_equal_size_and_times(make_task: MakeTask) -> None:
    root = make_task({"tests/data": "one"})
    os.utime(root / "tests/data", ns=(1, 1))
    before = Snapshot.of(root)
    (root / "tests/data").write_text("two")
    os.utime(root / "tests/data", ns=(1, 1))
    assert changed(root, before) == {"tests/data"}


def test_many_quick_changes_are_all_seen(make_task: MakeTask) -> None:
    # A file system rounds times, so several of these have the same ones.
    root = make_task({"tests/data": "000"})
    for number in range(1, 300):
        before = Snapshot.of(root)
        (root / "tests/data").write_text(f"{number:03}")
        assert changed(root, before) == {"tests/data"}


def test_a_change_of_mode_is_a_change(make_task: MakeTask) -> None:
    root = make_task()
    (root / "tests/test.sh").chmod(0o644)
    before = Snapshot.of(root)
    (root / "tests/test.sh").chmod(0o755)
    assert changed(root, before) == {"tests/test.sh"}


def test_new_and_removed_files_and_directories_are_changes(make_task: MakeTask) -> None:
    root = make_task({"tests/old": "x"})
    before = Snapshot.of(root)
    (root / "tests/old").unlink()
    (root / "tests/empty").mkdir()
    assert changed(root, before) == {"tests/old", "tests/empty"}


def test_what_is_no_part_of_a_task_is_left_out(make_task: MakeTask) -> None:
    root = make_task({"tests/__pycache__/a.pyc": "x", ".git/HEAD": "x", "tests/.test.sh.swp": "x", "a~": "x"})
    assert not [
        path for path in Snapshot.of(root).entries if "pyc" in path or "git" in path or path[-1] == "~"
    ]


def test_a_link_has_its_targets_content(make_task: MakeTask) -> None:
    root = make_task({"shared/a.json": "1", "tests/keep": ""})
    (root / "tests/link.json").symlink_to("../shared/a.json")
    (root / "tests/linked").symlink_to("../shared")
    before = Snapshot.of(root)
    assert "tests/linked/a.json" in before.entries
    (root / "shared/a.json").write_text("2")
    assert changed(root, before) == {"shared/a.json", "tests/link.json", "tests/linked/a.json"}


def test_links_in_a_circle_or_out_of_the_task_or_to_nowhere_are_survived(
    make_task: MakeTask, tmp_path: Path
) -> None:
    root = make_task()
    (root / "tests/circle").symlink_to("..")
    (root / "tests/self").symlink_to("self")
    (root / "tests/out").symlink_to(tmp_path)
    (root / "tests/nowhere").symlink_to("gone")
    before = Snapshot.of(root)
    assert {"tests/circle", "tests/self", "tests/out", "tests/nowhere"} <= before.entries.keys()
    assert not [path for path in before.entries if path.startswith(("tests/circle/", "tests/out/"))]
    (root / "tests/nowhere").unlink()
    (root / "tests/nowhere").symlink_to("elsewhere")
    assert changed(root, before) == {"tests/nowhere"}


def test_sockets_pipes_and_names_that_are_not_utf_8_are_survived(
    make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_task({"tests/keep": ""})
    os.mkfifo(root / "tests/pipe")
    (root / os.fsdecode(b"tests/caf\xe9")).write_text("x")
    monkeypatch.chdir(root / "tests")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        before = Snapshot.of(root)
    assert {"tests/pipe", "tests/socket", os.fsdecode(b"tests/caf\xe9")} <= before.entries.keys()
    (root / os.fsdecode(b"tests/caf\xe9")).write_text("y")
    assert changed(root, before) == {os.fsdecode(b"tests/caf\xe9")}


def test_files_that_vanish_meanwhile_are_left_out(
    make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_task()
    scandir = os.scandir

    def scan_then_lose(path: Path) -> os.ScandirIterator[str]:  # type: ignore[name-defined]
        found = scandir(path)
        (root / "instruction.md").unlink(missing_ok=True)
        (root / "tests/test.sh").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os, "scandir", scan_then_lose)
    entries = Snapshot.of(root).entries
    assert "task.toml" in entries
    assert "tests/test.sh" not in entries


def test_a_directory_that_is_gone_has_nothing(tmp_path: Path) -> None:
    snapshot = Snapshot.of(tmp_path / "gone")
    assert (snapshot.entries, snapshot.config) == ({}, None)


@pytest.mark.parametrize("text", ["[task", 'x = "\xff"', "[environment]\nmemory_mb = 'x'\n"])
def test_a_task_toml_that_cannot_be_read_gives_no_config(make_task: MakeTask, text: str) -> None:
    assert Snapshot.of(make_task({"task.toml": text.encode("latin-1")})).config is None


def test_harborignore_is_obeyed_in_tests_and_solution_alone(make_task: MakeTask) -> None:
    ignore = "*.log\n!keep.log\n"
    root = make_task()
    write(
        root,
        {
            "tests/.harborignore": ignore,
            "tests/a.log": "",
            "tests/keep.log": "",
            "solution/a.log": "",
            "environment/.harborignore": ignore,
            "environment/a.log": "",
        },
    )
    assert Snapshot.of(root).excluded == {"tests/.harborignore", "tests/a.log", "environment/.harborignore"}


def test_where_a_separate_verifier_comes_from_is_harbors_answer(make_task: MakeTask) -> None:
    [place] = Snapshot.of(make_task({"tests/Dockerfile": "FROM scratch\n"})).verifiers
    assert place is not None
    assert (place.directory, place.bundled_tests, place.environment.docker_image) == ("tests", True, None)


@pytest.mark.parametrize(
    ("script", "path", "still"),
    [
        ("negatives/own/solve.sh", "negatives/own/solve.sh", False),
        ("negatives/own/solve.sh", "negatives/own/deep/data", False),
        ("negatives/own/solve.sh", "negatives/own/case.toml", False),
        ("negatives/own/solve.sh", "negatives/own2/solve.sh", True),
        ("negatives/own/solve.sh", "negatives/own.sh", True),
        ("negatives/own.sh", "negatives/own.sh", False),
        ("negatives/own.sh", "negatives/own/solve.sh", True),
        ("negatives/own.sh", "tests/data", False),
        ("solution/solve.sh", "negatives/own.sh", True),
        ("solution/solve.sh", "solution/solve.sh", False),
        ("solution/solve.sh", "task.toml", False),
        ("", "negatives/own/solve.sh", True),
        ("", "instruction.md", False),
    ],
)
def test_a_case_depends_on_no_wrong_solution_but_its_own(
    make_task: MakeTask, script: str, path: str, still: bool
) -> None:
    files = ("own/solve.sh", "own/deep/data", "own/case.toml", "own2/solve.sh", "own.sh")
    root = make_task({"tests/data": "x", **{f"negatives/{file}": "x" for file in files}})
    before = Snapshot.of(root)
    assert before.still_holds(root, script)
    (root / path).write_text("why = 'another'\n")
    assert before.still_holds(root, script) == still
