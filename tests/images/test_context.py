"""What a builder sees of a context, and the staged copy of it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.images.context import Ignore, context_files, stage
from workbench.images.errors import ImageError


@pytest.fixture
def context(tmp_path: Path) -> Path:
    path = tmp_path / "context"
    (path / "src/deep").mkdir(parents=True)
    (path / "Dockerfile").write_text("FROM x\n")
    (path / "src/a.py").write_text("one")
    (path / "src/deep/b.py").write_text("two")
    (path / "link").symlink_to("src/a.py")
    return path


def test_content_mode_links_and_directories_count(context: Path) -> None:
    os.chmod(context / "src/a.py", 0o640)
    os.chmod(context / "src", 0o755)
    files = context_files(context)
    assert list(files) == ["Dockerfile", "link", "src", "src/a.py", "src/deep", "src/deep/b.py"]
    assert files["link"] == "link src/a.py"
    assert files["src"] == "directory 0755"
    assert files["src/a.py"].startswith("file 0640 ")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: (c / "src/a.py").write_text("ONE"),
        lambda c: (c / "src/a.py").chmod(0o755),
        lambda c: (c / "src").chmod(0o700),
        lambda c: (c / "empty").mkdir(),
        lambda c: (c / "src/a.py").rename(c / "src/c.py"),
        lambda c: ((c / "link").unlink(), (c / "link").symlink_to("src/deep/b.py")),
    ],
)
def test_each_change_that_a_build_sees_is_seen(context: Path, change: object) -> None:
    before = context_files(context)
    assert callable(change)
    change(context)
    assert context_files(context) != before


def test_an_edit_of_the_same_size_with_the_time_put_back_is_seen(context: Path) -> None:
    file = context / "src/a.py"
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    before = context_files(context)
    file.write_text("ONE")
    os.utime(file, ns=times)
    assert context_files(context) != before


def test_a_touched_file_is_the_same(context: Path) -> None:
    before = context_files(context)
    os.utime(context / "src/a.py", (1, 1))
    assert context_files(context) == before


def test_sockets_are_nothing_and_odd_things_are_survived(context: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(context / "socket"))
        os.mkfifo(context / "fifo", 0o600)
        (context / "broken").symlink_to("nowhere")
        Path(os.fsdecode(os.fsencode(context) + b"/caf\xe9")).write_text("x")
        files = context_files(context)
    assert "socket" not in files
    assert files["fifo"] == "fifo 0600"
    assert files["broken"] == "link nowhere"
    assert files["caf\\xe9"].startswith("file")


def test_an_unreadable_file_is_the_builders_to_complain_of_and_its_edits_are_seen(context: Path) -> None:
    file = context / "src/a.py"
    file.chmod(0)
    # Root, too, without what lets it read everything.
    drop = "-dac_override,-dac_read_search"
    without = [] if os.geteuid() else ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}"]
    script = "import sys; from pathlib import Path; from workbench.images.context import context_files; "
    script += "print(context_files(Path(sys.argv[1]))['src/a.py'])"

    def seen() -> str:
        return subprocess.check_output([*without, sys.executable, "-c", script, str(context)], text=True)

    before = seen()
    assert before.startswith("unreadable 0000 ")
    file.chmod(0o600)
    file.write_text("another")
    file.chmod(0)
    assert seen() != before


def test_a_directory_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="gone cannot be read: No such file"):
        context_files(tmp_path / "gone")


def test_ignored_files_are_left_out(context: Path) -> None:
    (context / ".dockerignore").write_text("# generated\nsrc/deep\nDockerfile\n*.log\n")
    (context / "x.log").write_text("x")
    assert list(context_files(context)) == [".dockerignore", "Dockerfile", "link", "src", "src/a.py"]


def test_where_builders_differ_nothing_is_ignored(context: Path) -> None:
    (context / ".dockerignore").write_text("src\n")
    (context / ".containerignore").write_text("link\n")
    assert {"src/a.py", "link"} < set(context_files(context))


@pytest.mark.parametrize(
    ("patterns", "ignored", "seen"),
    [
        ("*.pyc", ["a.pyc"], ["d/a.pyc", "apyc"]),
        ("**/*.pyc", ["a.pyc", "d/a.pyc", "d/e/a.pyc"], ["a.py"]),
        ("d", ["d", "d/a", "d/e/f"], ["dd", "e/d"]),
        ("/d/", ["d", "d/a"], ["e/d"]),
        ("d/*", ["d/a", "d/a/b"], ["d"]),
        ("d/**", ["d/a", "d/a/b"], ["e/a"]),
        ("**/d", ["d", "e/d", "e/d/f"], ["ed"]),
        ("a?c", ["abc"], ["ac", "a/c", "abbc"]),
        ("[ab].txt", ["a.txt", "b.txt"], ["c.txt"]),
        ("[^ab].txt", ["c.txt"], ["a.txt"]),
        ("*\n!keep", ["x", "keep2"], ["keep", "keep/a"]),
        ("d\n!d/keep\nd/keep/not", ["d/a", "d/keep/not"], ["d/keep", "d/keep/yes"]),
        ("  d  \r\n", ["d"], ["x"]),
        ("\ufeffd", ["d"], ["x"]),
        ("a/../d\n./e", ["d", "e"], ["a"]),
        ("x.y", ["x.y"], ["xay"]),
        ("a\\*b", ["a*b"], ["aXb"]),
        (".\n!\n#x\n", [], [".", "x", "#x"]),
    ],
)
def test_patterns_ignore_as_dockers_do(patterns: str, ignored: list[str], seen: list[str]) -> None:
    ignore = Ignore(patterns)
    assert [name for name in ignored if not ignore.matches(name)] == []
    assert [name for name in seen if ignore.matches(name)] == []


def mtimes(place: Path) -> dict[str, int]:
    return {str(p.relative_to(place)): p.lstat().st_mtime_ns for p in place.rglob("*") if not p.is_dir()}


def test_the_staged_copy_is_the_context(context: Path, tmp_path: Path) -> None:
    (context / ".dockerignore").write_text("src/deep\n")
    os.chmod(context / "src/a.py", 0o600)
    os.chmod(context / "src", 0o500)
    place = stage(context, tmp_path / "staging")
    assert context_files(place) == context_files(context)
    assert (place / "src/a.py").read_text() == "one"
    assert stat.S_IMODE((place / "src").stat().st_mode) == 0o500
    assert not (place / "src/deep").exists()


def test_other_content_has_another_time_even_when_size_and_time_are_the_same(
    context: Path, tmp_path: Path
) -> None:
    file = context / "src/a.py"
    os.utime(file, ns=(5_000_000_000, 5_000_000_000))
    place = stage(context, tmp_path / "staging")
    before = mtimes(place)
    assert before["src/a.py"] // 1_000_000_000 == 5
    file.write_text("ONE")
    os.utime(file, ns=(5_000_000_000, 5_000_000_000))
    assert stage(context, tmp_path / "staging") == place
    after = mtimes(place)
    assert (place / "src/a.py").read_text() == "ONE"
    assert after.pop("src/a.py") != before.pop("src/a.py")
    assert after == before


def test_what_is_right_is_not_written_again(context: Path, tmp_path: Path) -> None:
    place = stage(context, tmp_path / "staging")
    written = {path: path.lstat().st_ctime_ns for path in place.rglob("*") if not path.is_dir()}
    (context / "src/a.py").write_text("ONE")
    stage(context, tmp_path / "staging")
    changed = [path for path, at in written.items() if path.lstat().st_ctime_ns != at]
    assert changed == [place / "src/a.py"]


def test_a_mode_has_another_time_and_a_directory_mode_another_place(context: Path, tmp_path: Path) -> None:
    place = stage(context, tmp_path / "staging")
    before = mtimes(place)
    (context / "src/a.py").chmod(0o755)
    stage(context, tmp_path / "staging")
    assert mtimes(place)["src/a.py"] != before["src/a.py"]
    (context / "src").chmod(0o700)
    other = stage(context, tmp_path / "staging")
    assert other != place
    assert not place.exists()
    assert context_files(other) == context_files(context)


def test_kinds_that_change_are_followed(context: Path, tmp_path: Path) -> None:
    stage(context, tmp_path / "staging")
    (context / "link").unlink()
    (context / "link").write_text("a file now")
    (context / "src/a.py").unlink()
    (context / "src/a.py").symlink_to("deep")
    (context / "src/deep/b.py").unlink()
    place = stage(context, tmp_path / "staging")
    assert context_files(place) == context_files(context)
