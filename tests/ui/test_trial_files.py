"""Trial directories are read without harm, whatever came out of the machine."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tests.ui.trials import agent_step, trajectory, trial
from workbench.trials.content_kind import content_kind
from workbench.ui import atif, trajectories, trial_files
from workbench.ui.atif import TrajectoryError
from workbench.ui.highlighting import LARGEST, highlighted
from workbench.ui.trial_files import Artifact, TrialFile


def test_files_are_listed_by_path_with_size_and_kind(tmp_path: Path) -> None:
    trial(
        tmp_path,
        agent__oracle_txt="hello\n",
        agent__pic_png=b"\x89PNG\r\n\x1a\n" + b"0" * 100,
        agent__tool_bin=b"\x7fELF\0\0",
        agent__data_bin=b"a\0b",
        result_json="{}",
    )
    os.symlink("/etc/passwd", tmp_path / "agent" / "way_out")
    os.symlink("/", tmp_path / "agent" / "root")
    assert trial_files.files(tmp_path) == [
        TrialFile("agent/data.bin", 3, "binary", "binary data"),
        TrialFile("agent/oracle.txt", 6, "text"),
        TrialFile("agent/pic.png", 108, "image", "PNG image"),
        TrialFile("agent/root", 0, "link", "/"),
        TrialFile("agent/tool.bin", 6, "binary", "ELF program"),
        TrialFile("agent/way_out", 0, "link", "/etc/passwd"),
        TrialFile("result.json", 2, "text"),
    ]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"BM\x36\x00\x03\x00\x00\x00\x00\x00\x36\x00", "BMP image"),
        (b"BMI of all patients\n", "text"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "WebP image"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", "RIFF media"),
    ],
)
def test_a_text_that_begins_as_an_image_does_is_a_text(start: bytes, what: str) -> None:
    assert content_kind(start) == what


def test_a_directory_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert trial_files.files(tmp_path / "gone") == []
    assert trial_files.artifacts(tmp_path / "gone") == []


def test_a_fifo_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert trial_files.files(tmp_path) == [TrialFile("pipe", 0, "binary", "neither file nor directory")]
    assert trial_files.read(tmp_path / "pipe") == ""


def test_links_are_not_followed_to_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    trial(tmp_path / "trial", agent__x_log="x")
    os.symlink(tmp_path / "secret", tmp_path / "trial" / "agent" / "oracle.txt")
    assert trial_files.output_files(tmp_path / "trial", "agent") == []
    assert trial_files.read(tmp_path / "trial" / "agent" / "oracle.txt") == ""


def test_artifacts_are_told_by_harbors_manifest(tmp_path: Path) -> None:
    manifest = [
        {"source": "/app/out", "destination": "artifacts/app/out", "type": "file", "status": "ok"},
        {"source": "/app/no", "destination": "artifacts/app/no", "type": "file", "status": "failed"},
        {"source": "/app/odd", "destination": None},
        "nonsense",
    ]
    trial(tmp_path, artifacts__manifest_json=manifest)
    assert trial_files.artifacts(tmp_path) == [
        Artifact("/app/out", "artifacts/app/out", "ok"),
        Artifact("/app/no", "artifacts/app/no", "failed"),
        Artifact("/app/odd", "", ""),
    ]
    for text in ("{not json", "[" * 100_000):
        trial(tmp_path, artifacts__manifest_json=text)
        assert trial_files.artifacts(tmp_path) == []


def test_artifacts_of_every_step_are_told_apart(tmp_path: Path) -> None:
    manifest = [{"source": "/app/out", "destination": "artifacts/app/out", "status": "ok"}]
    trial(
        tmp_path, steps__one__artifacts__manifest_json=manifest, steps__two__artifacts__manifest_json=manifest
    )
    assert [(artifact.step, artifact.source) for artifact in trial_files.artifacts(tmp_path)] == [
        ("one", "/app/out"),
        ("two", "/app/out"),
    ]


def test_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x" * 100 + "the end")
    assert trial_files.read(tmp_path / "log", 7) == "the end"


def test_steps_have_directories_of_their_own(tmp_path: Path) -> None:
    trial(tmp_path, steps__one__verifier__reward_txt="1", steps__two__agent__trajectory_json=trajectory())
    assert [name for name, _ in trial_files.roots(tmp_path)] == ["one", "two"]
    assert trajectories.files(tmp_path) == [("two", tmp_path / "steps" / "two" / "agent" / "trajectory.json")]


@pytest.mark.parametrize("version", [f"ATIF-v1.{minor}" for minor in range(9)])
def test_every_version_of_atif_is_read(tmp_path: Path, version: str) -> None:
    document = trajectory(agent_step(1, "ls", "a"), unknown_key={"x": 1}) | {"schema_version": version}
    trial(tmp_path, t_json=document)
    read = atif.load(tmp_path / "t.json")
    assert read.schema_version == version
    assert atif.headline(read.steps[0]) == "bash ls"
    ((call, results),) = atif.paired(read.steps[0])
    assert call is not None
    assert call.function_name == "bash"
    assert [atif.text(result.content) for result in results] == ["a"]


def test_results_without_a_call_are_not_lost(tmp_path: Path) -> None:
    step = agent_step(1, "ls", "paired")
    step["observation"]["results"].append({"content": "alone"})
    trial(tmp_path, t_json=trajectory(step))
    pairs = list(atif.paired(atif.load(tmp_path / "t.json").steps[0]))
    assert [(call is not None, [r.content for r in results]) for call, results in pairs] == [
        (True, ["paired"]),
        (False, ["alone"]),
    ]


def test_images_are_named(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}},
    ]
    trial(tmp_path, t_json=trajectory({"step_id": 1, "source": "user", "message": content}))
    step = atif.load(tmp_path / "t.json").steps[0]
    assert atif.text(step.message) == "look\n[image: images/1.png, image/png]"


_DEEP = "[" * 100_000
"""Valid as far as it goes, and more than any parser follows."""


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[]", '{"steps": 3}', '{"steps": [{"step_id": "x"}]}', "\x00"),
        f'{{"steps": [{{"tool_calls": [{{"arguments": {_DEEP}',
    ],
)
def test_what_is_no_trajectory_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "trajectory.json").write_text(text)
    with pytest.raises(TrajectoryError, match=r"trajectory.json is no ATIF trajectory: "):
        atif.load(tmp_path / "trajectory.json")


def test_a_trajectory_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="No such file"):
        atif.load(tmp_path / "trajectory.json")


@pytest.mark.parametrize(
    ("name", "text", "colored"),
    [
        ("a.py", "def f():\n    return 'x'  # why\n", "\x1b[32m'x'\x1b[0m"),
        ("a.json", json.dumps({"a": 1}), "\x1b[33m1\x1b[0m"),
        ("task.toml", 'name = "x"\n', "\x1b[32m"),
        ("test.sh", "#!/bin/bash\necho hi # c\n", "\x1b[2m# c\x1b[0m"),
        ("Dockerfile", "FROM python:3.12\nRUN ls\n", "\x1b[35mFROM\x1b[0m"),
        ("a.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "\x1b[31m-x"),
        ("README.md", "# Title\n", "\x1b[1;34m# Title\x1b[0m"),
        ("solve", "#!/usr/bin/env python3\nimport sys\n", "\x1b[35mimport\x1b[0m"),
    ],
)
def test_source_text_is_coloured_and_else_unchanged(name: str, text: str, colored: str) -> None:
    from workbench.ui.ansi import uncolored

    result = highlighted(text, name)
    assert colored in result
    assert uncolored(result) == text


def test_unknown_long_or_already_coloured_text_is_left_as_it_is() -> None:
    for name, text in (("a.unknown", "x = 1"), ("a.py", "x" * (LARGEST + 1)), ("a.py", "\x1b[31mx")):
        assert highlighted(text, name) == text


def test_what_another_user_keeps_to_himself_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial(tmp_path, agent__trajectory_json=trajectory(), steps__one__reward_txt="1")
    of_root = {tmp_path / "agent", tmp_path / "steps"}
    stat = Path.stat

    def refused(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if of_root & {path, *path.parents}:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refused)
    assert trial_files.roots(tmp_path) == [("", tmp_path)]
    assert trial_files.output_files(tmp_path, "agent") == []
    assert trajectories.files(tmp_path) == []
    assert not trajectories.read(tmp_path)
