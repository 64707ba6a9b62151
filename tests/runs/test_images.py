"""`workbench images` over a store with images in it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workbench import places
from workbench.images.inputs import Inputs
from workbench.images.store import BuildRecord, BuiltImage, ImageStore
from workbench.machines.smol import sdk
from workbench.machines.smol.purge import kept_name

SIZE = 300_000


def images(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", "images", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return places.images_dir()


def add(directory: Path, name: str) -> BuiltImage:
    """Keep an image as a build does, in use until it is released."""
    directory.mkdir(parents=True, exist_ok=True)
    bases = {"python:3.12": "sha256:1234567890abcdef"} if name == "based" else {}
    inputs = Inputs("buildah 1", "linux/amd64", {}, bases, {})
    record = BuildRecord(f"key-{name}", f"{name}content", f"/tasks/{name}", inputs, 1.0, 1.0, ())

    async def archive(path: Path) -> None:
        path.write_bytes(b"x" * SIZE)

    return asyncio.run(ImageStore(directory).add(record, archive))


def test_an_empty_store_says_where_images_would_be(directory: Path) -> None:
    assert images().stdout == f"no images are kept in {directory}\n"
    assert images("--json").stdout == "[]\n"
    assert images("--prune").stdout == "0 images, 0 bytes, were removed\n"
    assert not directory.exists()


def test_it_lists_what_is_kept_the_last_used_first_and_what_is_in_use(directory: Path) -> None:
    add(directory, "old").release()
    used = add(directory, "new")
    rows = [re.split(r"\s{2,}", line.strip()) for line in images().stdout.splitlines()]
    assert rows[0] == ["image", "kind", "built from", "size", "made", "used"]
    assert [(row[0], row[1], row[2], row[-1]) for row in rows[1:3]] == [
        ("newcontent", "archive", "/tasks/new", "in use"),
        ("oldcontent", "archive", "/tasks/old", rows[2][5]),
    ]
    assert rows[3][0].startswith("2 images, 6")
    assert rows[3][0].endswith(f" kB, in {directory}")
    listed = json.loads(images("--json").stdout)
    assert [(image["name"], image["in_use"]) for image in listed] == [
        ("oldcontent", False),
        ("newcontent", True),
    ]
    used.release()


def test_it_tells_which_image_of_a_registry_one_stands_on(directory: Path) -> None:
    add(directory, "based").release()
    listing = images().stdout
    assert "on python:3.12" in listing
    assert "(1234567890ab)" in listing
    assert json.loads(images("--json").stdout)[0]["bases"] == {"python:3.12": "sha256:1234567890abcdef"}


def test_pruning_removes_the_least_recently_used_but_nothing_that_is_in_use(directory: Path) -> None:
    used = add(directory, "used")
    for name in ("older", "newer"):
        add(directory, name).release()
    keep = str(2 * (SIZE + 8192) / (1 << 30))
    [would, count] = images("--prune", "--keep", keep, "--dry-run").stdout.splitlines()
    assert would.startswith("would remove oldercontent: archive, 3")
    assert would.endswith("kB, built from /tasks/older")
    assert count.startswith("1 images, 3")
    assert len(ImageStore(directory).images()) == 3
    assert images("--prune", "--keep", keep).stdout.startswith("removed oldercontent")
    images("--prune", "--keep", "0")
    assert [image.name for image in ImageStore(directory).images()] == ["usedcontent"]
    used.release()
    assert images("--prune").stdout == "0 images, 0 bytes, were removed\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dry-run",), "--keep and --dry-run go with --prune"),
        (("--keep", "1"), "--keep and --dry-run go with --prune"),
        (("--prune", "--json"), "--json lists, and --prune removes"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], said: str) -> None:
    done = images(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_pruning_all_removes_what_microvms_that_built_have_kept(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in (kept_name("1"), "another"):
        subprocess.run([sdk.CLI, "machine", "create", "--name", name], check=True, capture_output=True)
    assert images("--prune").stdout == "0 images, 0 bytes, were removed\n"
    would, _ = images("--prune", "--keep", "0", "--dry-run").stdout.splitlines()
    assert would == "would remove a microVM to build in, with the layers it keeps"
    assert {machine.name for machine in sdk.machines()} == {kept_name("1"), "another"}
    did, _ = images("--prune", "--keep", "0").stdout.splitlines()
    assert did == "removed a microVM to build in, with the layers it keeps"
    assert [machine.name for machine in sdk.machines()] == ["another"]
