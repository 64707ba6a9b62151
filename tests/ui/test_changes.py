"""What a run changed in its file system, in its tab."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.driving import opened, until
from tests.ui.streams import Stream, failed, holding, passed
from tests.ui.test_compare import compared
from tests.ui.test_tabs import show
from tests.ui.trials import at, trial
from workbench.trials.file_changes import Changes, FileChange, write_changes

CHANGES = Changes(
    files=(
        FileChange(
            path="/app/slug\x1b[2J.py",
            change="changed",
            kind="file",
            what="text",
            size=2048,
            size_before=512,
            diff="--- /app/slug.py\n+++ /app/slug.py\n@@ -1 +1 @@\n-old line\n+new line\n",
        ),
        FileChange(path="/app/old", change="removed", kind="directory"),
        FileChange(path="/app/it.png", change="added", kind="file", what="PNG image", size=100, mode="0644"),
        FileChange(path="/app/to", change="added", kind="link", what="it.png"),
        FileChange(
            path="/app/run.sh", change="changed", kind="file", what="text", mode="0755", mode_before="0644"
        ),
    ),
    left_out=7,
)


async def test_what_a_run_changed_comes_first_with_its_difference(tmp_path: Path) -> None:
    directory = trial(tmp_path, agent__oracle_txt="hi\n")
    write_changes(CHANGES, directory)
    async with opened(at(holding(), "oracle-1", directory)) as driven:
        text = await show(driven, "files")
        assert "2 added, 2 changed, 1 removed, 7 more not listed" in text
        assert "~ changed   /app/slug␛[2J.py  512 B → 2.0 KiB" in text
        assert "- removed   /app/old/" in text
        assert "+ added     /app/it.png  PNG image, 100 B" in text
        assert "+ added     /app/to → it.png" in text
        assert "~ changed   /app/run.sh  mode 0644 → 0755" in text
        assert text.index("/app/run.sh") < text.index("agent/oracle.txt")
        assert "-old line" in text
        assert "+new line" in text


@pytest.mark.parametrize("size", [(160, 50), (100, 30)])
async def test_of_a_path_without_room_the_end_is_shown(tmp_path: Path, size: tuple[int, int]) -> None:
    directory = tmp_path / "of-many-words" / ("x" * 100) / "oracle__120000-abcdef"
    directory.mkdir(parents=True)
    write_changes(CHANGES, directory)
    async with opened(at(holding(), "oracle-1", directory), size) as driven:
        await show(driven, "files")
        await until(driven.pilot, lambda: "/oracle__120000-abcdef" in driven.text)
        assert "2 added, 2 changed, 1 removed, 7 more not listed" in driven.text
        assert "of-many-words" not in driven.text
        assert "…xxx" in driven.text
        await driven.pilot.resize_terminal(size[0] + 20, size[1])
        await until(driven.pilot, lambda: "/oracle__120000-abcdef" in driven.text)


async def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    write_changes(Changes(notes=("the files could not be listed",)), tmp_path)
    async with opened(at(holding(), "oracle-1", tmp_path)) as driven:
        assert "the files could not be listed" in await show(driven, "files")


async def test_what_two_runs_changed_is_compared(tmp_path: Path) -> None:
    stream = Stream().engine().task().whole("oracle", passed()).whole("nop", failed())
    for run, line in (("oracle-1", "right"), ("nop-1", "wrong")):
        diff = f"--- /dev/null\n+++ /app/it\n@@ -0,0 +1,2 @@\n+same\n+{line}\n"
        change = FileChange(path="/app/it", change="added", kind="file", what="text", size=11, diff=diff)
        write_changes(Changes(files=(change,)), tmp_path / run)
        at(stream, run, tmp_path / run)
    async with opened(stream) as driven:
        await compared(driven, "j", "c", *["right_square_bracket"] * 5)
        assert "≠     +wrong" in driven.text
        assert "≠     +same" not in driven.text
