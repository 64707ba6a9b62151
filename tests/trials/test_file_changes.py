"""What a run added, changed and removed, with its differences."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harbor.models.trial.config import EnvironmentConfig

from tests.machines.bubblewrap.rootfs import small_rootfs
from tests.trials.conftest import REWARD, Trials
from tests.trials.test_run import script
from workbench.machines.bubblewrap.machine import BubblewrapMachine
from workbench.trials import machine_changes
from workbench.trials.bubblewrap import BubblewrapEnvironment
from workbench.trials.file_changes import Changes, FileChange, changes_file, read_changes
from workbench.trials.layer_changes import Question
from workbench.trials.run import TrialRequest, run_trial

BOTH = pytest.mark.parametrize("way", ["BubblewrapEnvironment", "Listed"])
"""By the machine's own layer, and as of an environment that is known by its commands alone."""


class Listed(BubblewrapEnvironment):
    """One that cannot say by itself what changed."""

    look_at_files = None  # type: ignore[assignment]


@pytest.fixture
def image(trials: Trials, tmp_path: Path) -> Path:
    """An image with files to change, which the task names."""
    root = small_rootfs(tmp_path / "root", "find", "base64", "head", "mv", "ln", "printf", "cp", "env")
    app = root / "app"
    (app / "old/deep").mkdir(parents=True)
    (app / "same.txt").write_text("as it was\n")
    (app / "edited.txt").write_text("one\ntwo\nthree\n")
    (app / "gone.txt").write_text("was here\n")
    (app / "old/deep/file").write_text("deep\n")
    (app / "mode.sh").write_text("echo\n")
    (app / "data.bin").write_bytes(bytes(range(256)) * 4096)
    (app / "link").symlink_to("same.txt")
    config = trials.task / "task.toml"
    config.write_text(config.read_text().replace('"none"', f'"{root}"'))
    trials.write("tests/test.sh", f"#!/bin/bash\necho 1 > {REWARD}; touch /app/by-the-tests\n")
    return root


async def changes(trials: Trials, commands: str, way: str = "BubblewrapEnvironment") -> Changes:
    """What a script changes."""
    trials.write("negatives/it.sh", f"#!/bin/bash\n{commands}")
    module = "workbench.trials.bubblewrap" if way == "BubblewrapEnvironment" else __name__
    request = trials.request(script(trials.task / "negatives/it.sh"))
    environment = EnvironmentConfig(import_path=f"{module}:{way}")
    request = TrialRequest(
        request.task_dir, request.trials_dir, request.trial_name, request.agent, environment
    )
    outcome = await run_trial(request, trials.heard)
    assert outcome.kind == "passed", outcome
    found = read_changes(trials.trial_dir)
    assert found is not None
    assert found.left_out == 0
    return found


def short(found: Changes) -> list[tuple[str, str, str]]:
    return [(file.change, file.kind, file.path) for file in found.files]


def file(found: Changes, path: str) -> FileChange:
    return next(file for file in found.files if file.path == path)


@BOTH
@pytest.mark.usefixtures("image")
async def test_files_are_added_changed_and_removed(trials: Trials, way: str) -> None:
    found = await changes(
        trials,
        "mkdir -p /srv/new; echo hello > /srv/new/it; ln -s it /srv/new/to; echo four >> edited.txt\n"
        "rm gone.txt; rm -r old; chmod 755 mode.sh; cat same.txt; echo x > /tmp/x; rm /tmp/x\n",
        way,
    )
    gone = [("removed", "directory", "/app/old")]
    if way == "Listed":
        gone += [("removed", "directory", "/app/old/deep"), ("removed", "file", "/app/old/deep/file")]
    assert short(found) == [
        ("changed", "file", "/app/edited.txt"),
        ("removed", "file", "/app/gone.txt"),
        ("changed", "file", "/app/mode.sh"),
        *gone,
        ("added", "directory", "/srv"),
        ("added", "directory", "/srv/new"),
        ("added", "file", "/srv/new/it"),
        ("added", "link", "/srv/new/to"),
    ]
    edited = file(found, "/app/edited.txt")
    assert (edited.size_before, edited.size, edited.what) == (14, 19, "text")
    assert edited.diff == (
        "--- /app/edited.txt\n+++ /app/edited.txt\n@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n"
    )
    assert file(found, "/srv/new/it").diff == "--- /dev/null\n+++ /srv/new/it\n@@ -0,0 +1 @@\n+hello\n"
    assert file(found, "/app/gone.txt").diff.endswith("@@ -1 +0,0 @@\n-was here\n")
    mode = file(found, "/app/mode.sh")
    assert (mode.mode_before, mode.mode, mode.diff) == ("0644", "0755", "")


@BOTH
@pytest.mark.usefixtures("image")
async def test_binaries_are_told_by_size_and_type(trials: Trials, way: str) -> None:
    found = await changes(
        trials,
        r"printf '\x89PNG\r\n\x1a\n\0\0' > new.png; printf 'x\0y' > some.bin; printf more >> data.bin",
        way,
    )
    png, other, data = (file(found, f"/app/{name}") for name in ("new.png", "some.bin", "data.bin"))
    assert (png.what, png.size, png.diff) == ("PNG image", 10, "")
    assert (other.what, other.size, other.diff) == ("binary data", 3, "")
    assert (data.size_before, data.size, data.diff) == (1 << 20, (1 << 20) + 4, "")


@BOTH
@pytest.mark.usefixtures("image")
async def test_nothing_is_told_of_harbors_own_files_or_of_the_tests(trials: Trials, way: str) -> None:
    found = await changes(trials, "echo hi; touch /logs/agent/mine /solution/mine /tests/mine\n", way)
    assert found.files == ()


@BOTH
@pytest.mark.usefixtures("image")
async def test_what_the_task_brings_along_is_no_change(trials: Trials, way: str) -> None:
    trials.write("environment/brought.txt", "brought\n")
    trials.write("environment/edited-later.txt", "before\n")
    found = await changes(trials, "echo after > edited-later.txt\n", way)
    assert short(found) == [("changed", "file", "/app/edited-later.txt")]
    assert found.files[0].diff.endswith("@@ -1 +1 @@\n-before\n+after\n")


@pytest.mark.usefixtures("image")
async def test_a_file_that_was_only_touched_or_written_anew_is_as_it_was(trials: Trials) -> None:
    found = await changes(
        trials,
        "touch same.txt\necho 'as it was' > same.txt\ncp data.bin d; mv d data.bin; mkdir x; rm -r x\n",
    )
    assert found.files == ()


@pytest.mark.usefixtures("image")
async def test_a_directory_made_anew_lacks_what_was_in_it(trials: Trials) -> None:
    found = await changes(trials, "rm -r old; mkdir old; echo new > old/file\n")
    assert short(found) == [
        ("removed", "directory", "/app/old/deep"),
        ("added", "file", "/app/old/file"),
    ]


@pytest.mark.usefixtures("image")
async def test_a_link_in_the_place_of_a_file_is_not_followed(trials: Trials, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host\n")
    found = await changes(trials, f"rm -r old gone.txt; ln -s {tmp_path} old; ln -s {secret} gone.txt\n")
    assert short(found) == [("changed", "link", "/app/gone.txt"), ("changed", "link", "/app/old")]
    assert [change.what for change in found.files] == [str(secret), str(tmp_path)]
    assert "of the host" not in changes_file(trials.trial_dir).read_text()


@pytest.mark.usefixtures("image")
async def test_odd_names_and_kinds_are_told(trials: Trials) -> None:
    found = await changes(trials, "printf x > $'new\\nline \\xff'; touch -- '-dash' 'ü'\n")
    assert [change.path for change in found.files] == ["/app/-dash", "/app/new\nline \\xff", "/app/ü"]


@pytest.mark.usefixtures("image")
async def test_many_files_are_counted_and_large_differences_cut(trials: Trials) -> None:
    trials.write("negatives/it.sh", "#!/bin/bash\nfor i in {1..2100}; do echo > $i; done\n")
    outcome = await trials.run(script(trials.task / "negatives/it.sh"))
    assert outcome.kind == "passed"
    found = read_changes(trials.trial_dir)
    assert found is not None
    assert (len(found.files), found.left_out) == (2000, 100)
    found = await changes(trials, "for i in {1..15000}; do echo line $i; done > long.txt\n")
    assert found.files[0].size == 153894
    assert found.files[0].diff == ""
    found = await changes(trials, "for i in {1..9000}; do echo line $i; done > long.txt\n")
    assert found.files[0].diff.endswith(" characters more\n")
    assert len(found.files[0].diff) < 70_000


@pytest.mark.usefixtures("image")
async def test_files_are_read_where_their_owners_exist(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(question: Question) -> None:
        raise PermissionError

    # As for users who are not root, whose machines' files may belong to others.
    monkeypatch.setattr(machine_changes, "answer", forbidden)
    inside = property(lambda machine: machine._ground.users.as_owner)
    monkeypatch.setattr(BubblewrapMachine, "as_owner", inside)
    found = await changes(trials, "rm gone.txt; echo four >> edited.txt; printf '\\xff' > bytes\n")
    assert short(found) == [
        ("added", "file", "/app/bytes"),
        ("changed", "file", "/app/edited.txt"),
        ("removed", "file", "/app/gone.txt"),
    ]
    assert found.files[1].diff.endswith("\n+four\n")


async def test_each_step_tells_what_it_changed(trials: Trials, image: Path) -> None:
    config = trials.task / "task.toml"
    config.write_text(config.read_text() + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n')
    scripts = []
    for name in ("one", "two"):
        trials.write(f"steps/{name}/instruction.md", name)
        trials.write(f"steps/{name}/tests/test.sh", f"#!/bin/bash\necho 1 > {REWARD}\n")
        trials.write(f"steps/{name}/solution/solve.sh", f"#!/bin/bash\necho {name} >> edited.txt\n")
        scripts.append(str(trials.task / f"steps/{name}/solution/solve.sh"))
    agent = script(Path(scripts[0]))
    agent.kwargs["scripts"] = scripts
    outcome = await trials.run(agent)
    assert outcome.kind == "passed"
    for name in ("one", "two"):
        found = read_changes(trials.trial_dir, name)
        assert found is not None
        assert short(found) == [("changed", "file", "/app/edited.txt")]
        assert [line for line in found.files[0].diff.splitlines() if line[:1] == "+"][1:] == [f"+{name}"]


async def test_an_environment_without_find_is_said_to_be_unknown(trials: Trials, image: Path) -> None:
    os.remove(image / "bin/find")
    found = await changes(trials, "echo > new\n", "Listed")
    assert found == Changes(notes=("the files could not be listed before the agent began",))
