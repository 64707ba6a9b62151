"""Unpacking images: what layers come to, and what hostile ones cannot do."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.images import archives as a
from workbench.images.errors import ImageError
from workbench.images.layers import Limits
from workbench.images.unpack import unpack

ROOT = os.geteuid() == 0


def unpacked(tmp_path: Path, *layers: bytes) -> Path:
    unpack(a.docker_archive(tmp_path / "image.tar", *layers), tmp_path / "tree")
    return tmp_path / "tree"


def listing(tree: Path) -> dict[str, str]:
    """Every path below, with a file's text or a link's target."""
    found = {}
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "/"
    return found


def test_later_layers_win(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.directory("app"), a.file("app/a", b"old"), a.file("app/b", b"kept")),
        a.layer(a.file("app/a", b"new")),
    )
    assert listing(tree) == {"app": "/", "app/a": "new", "app/b": "kept"}


def test_a_whiteout_deletes_what_lower_layers_gave(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.file("app/solution.py", b"x"), a.file("app/deep/er/file", b"x"), a.file("app/kept", b"k")),
        a.layer(a.file("app/.wh.solution.py"), a.file("app/.wh.deep")),
    )
    assert listing(tree) == {"app": "/", "app/kept": "k"}


def test_an_opaque_directory_hides_all_that_was_below_it(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.directory("o"), a.file("o/1"), a.file("o/2"), a.file("o/sub/3")),
        a.layer(a.directory("o"), a.file("o/4", b"4"), a.file("o/.wh..wh..opq"), a.file("o/5", b"5")),
    )
    assert listing(tree) == {"o": "/", "o/4": "4", "o/5": "5"}


def test_a_whiteout_spares_its_own_layer(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.file("d/old", b"o"), a.file("f", b"old")),
        a.layer(a.file("d/new", b"n"), a.file(".wh.d"), a.file("f", b"new"), a.file(".wh.f")),
    )
    assert listing(tree) == {"d": "/", "d/new": "n", "f": "new"}


def test_a_deleted_name_comes_back_when_a_higher_layer_gives_it(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path, a.layer(a.file("x", b"1")), a.layer(a.file(".wh.x")), a.layer(a.file("x", b"3"))
    )
    assert listing(tree) == {"x": "3"}


def test_kinds_replace_each_other(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(
            a.file("was-dir/f"),
            a.file("was-file", b"x"),
            a.symlink("was-link", "was-dir"),
            a.symlink("l", "gone"),
        ),
        a.layer(
            a.file("was-dir", b"file"), a.directory("was-file"), a.directory("was-link"), a.file("l", b"file")
        ),
    )
    assert listing(tree) == {"was-dir": "file", "was-file": "/", "was-link": "/", "l": "file"}


def test_a_file_below_a_link_lands_where_the_link_leads_inside_the_image(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.directory("usr/bin"), a.symlink("bin", "/usr/bin"), a.symlink("sbin", "usr/../bin")),
        a.layer(a.file("bin/tool", b"t"), a.file("sbin/other", b"o")),
    )
    assert listing(tree / "usr/bin") == {"tool": "t", "other": "o"}
    assert os.listdir(tree / "usr") == ["bin"]
    assert (os.readlink(tree / "bin"), os.readlink(tree / "sbin")) == ("/usr/bin", "usr/../bin")


def test_hard_links_share_a_file_across_layers(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(a.file("a", b"one"), a.hardlink("b", "a")),
        a.layer(a.hardlink("d/c", "/b"), a.file(".wh.a")),
    )
    assert listing(tree) == {"b": "one", "d": "/", "d/c": "one"}
    assert (tree / "b").stat().st_ino == (tree / "d/c").stat().st_ino


def test_modes_are_the_images_even_special_ones(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(
            a.directory("tmp", mode=0o1777),
            a.file("su", b"x", mode=0o4755),
            a.directory("locked", mode=0o555),
            a.file("locked/file", b"x", mode=0o400),
            a.fifo("pipe"),
            a.file("implied/file"),
        ),
    )
    modes = {name: oct(stat.S_IMODE((tree / name).lstat().st_mode)) for name in os.listdir(tree)}
    assert modes == {"tmp": "0o1777", "su": "0o4755", "locked": "0o555", "pipe": "0o622", "implied": "0o755"}
    assert stat.S_ISFIFO((tree / "pipe").stat().st_mode)
    assert (tree / "locked").stat().st_mtime == (tree / "su").stat().st_mtime == 1_700_000_000


@pytest.mark.skipif(not ROOT, reason="only root sets owners")
def test_owners_are_the_images_as_root(tmp_path: Path) -> None:
    layer = a.layer(a.directory("home", uid=1000), a.file("home/f", uid=1001, mode=0o4755))
    tree = unpacked(tmp_path, layer)
    assert (tree / "home").stat().st_uid == 1000
    assert (tree / "home/f").stat().st_uid == 1001
    assert stat.S_IMODE((tree / "home/f").stat().st_mode) == 0o4755


def test_device_nodes_are_left_out_and_replace_nothing(tmp_path: Path) -> None:
    devices = [a.device("dev/null", major=1, minor=3), a.device("white", major=0, minor=0)]
    tree = unpacked(tmp_path, a.layer(*devices, a.device("disk", tarfile.BLKTYPE, 8, 0), a.file("f")))
    assert listing(tree) == {"dev": "/", "f": ""}


def test_only_harmless_attributes_are_kept(tmp_path: Path) -> None:
    tree = unpacked(
        tmp_path,
        a.layer(
            a.file(
                "f",
                b"x",
                SCHILY__xattr__user__note="kept",
                SCHILY__xattr__user__overlay__opaque="y",
                SCHILY__xattr__trusted__overlay__opaque="y",
                SCHILY__xattr__security__selinux="label",
            )
        ),
    )
    assert os.listxattr(tree / "f") == ["user.note"]


def test_names_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    tree = unpacked(tmp_path, a.layer(a.file(name, b"x")))
    assert os.listdir(os.fsencode(tree)) == [b"caf\xe9"]


OUT = "../" * 8
HOSTILE: dict[str, tuple[list[list[a.Member]], str]] = {
    "a name that climbs": ([[a.file("../victim", b"evil")]], "outside of the image"),
    "a name that climbs later": ([[a.file("a/b/../../../victim", b"evil")]], "outside of the image"),
    "a directory that climbs": ([[a.directory("..", mode=0o777)]], "outside of the image"),
    "a link name that climbs": ([[a.hardlink("x", "../victim")]], "outside of the image"),
    "a hard link to nothing": ([[a.hardlink("x", "etc/shadow")]], "missing"),
    "a hard link to an absolute path of the host": ([[a.hardlink("x", "/etc/passwd")]], "missing"),
    "a hard link through a link out": (
        [[a.symlink("l", f"{OUT}etc"), a.hardlink("x", "l/passwd")]],
        "missing",
    ),
    "a hard link to a directory": ([[a.directory("d"), a.hardlink("x", "d")]], "a directory"),
    "a hard link to the root": ([[a.hardlink("x", "/")]], "missing"),
    "a loop of links": ([[a.symlink("a", "b"), a.symlink("b", "a"), a.file("a/x")]], "loop of links"),
    "a link to itself": ([[a.symlink("a", "a"), a.file("a/x")]], "loop of links"),
    "a file in the root's place": ([[a.file("./", b"x")]], "root"),
    "a link in the root's place": ([[a.symlink(".", "/etc")]], "root"),
    "a parent that is a file": ([[a.file("f"), a.file("f/x")]], "not a directory"),
    "a parent that is a device": ([[a.device("d", major=1, minor=3), a.file("d/x")]], "not a directory"),
    "a whiteout of the parent": ([[a.directory("d"), a.file("d/.wh...")]], "no file can have"),
    "a whiteout of the directory": ([[a.directory("d"), a.file("d/.wh..")]], "no file can have"),
    "a whiteout of nothing": ([[a.file(".wh.")]], "no file can have"),
    "an unknown kind of file": ([[(a.member("x", b"Z"), b"")]], "of a kind"),
    "a very deep name": ([[a.file("d/" * 300 + "f")]], "nested deeper"),
    "a deep name by implied parents": ([[a.file("d/" * 256 + "f")]], "nested deeper"),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("innocent")
    return tmp_path / "victim"


@pytest.mark.parametrize("name", HOSTILE)
def test_refused(name: str, tmp_path: Path, victim: Path) -> None:
    layers, words = HOSTILE[name]
    with pytest.raises(ImageError, match=words):
        unpacked(tmp_path, *(a.layer(*members) for members in layers))
    assert victim.read_text() == "innocent"
    assert sorted(os.listdir(tmp_path)) == ["image.tar", "tree", "victim"]


CONFINED: dict[str, tuple[list[list[a.Member]], dict[str, str]]] = {
    "an absolute name": ([[a.file("/victim", b"evil")]], {"victim": "evil"}),
    "a write through a link out": (
        [[a.symlink("l", f"{OUT}tmp"), a.file("l/wb-evil", b"evil")]],
        {"l": f"{OUT}tmp", "tmp": "/", "tmp/wb-evil": "evil"},
    ),
    "a write through a link to the parent": (
        [[a.symlink("l", ".."), a.file("l/victim", b"evil")]],
        {"l": "..", "victim": "evil"},
    ),
    "a write through an absolute link of a lower layer": (
        [[a.symlink("l", "/etc")], [a.file("l/motd", b"evil")]],
        {"l": "/etc", "etc": "/", "etc/motd": "evil"},
    ),
    "a write to the link itself": ([[a.symlink("l", "../victim"), a.file("l", b"evil")]], {"l": "evil"}),
    "a directory over a link out": (
        [[a.symlink("l", ".."), a.directory("l", mode=0o777), a.file("l/victim", b"x")]],
        {"l": "/", "l/victim": "x"},
    ),
    "a hard link to a link out, then a write to it": (
        [[a.symlink("l", "../victim"), a.hardlink("h", "l"), a.file("h", b"evil")]],
        {"l": "../victim", "h": "evil"},
    ),
    "a whiteout through a link out": (
        [[a.symlink("l", "..")], [a.file("l/.wh.victim")]],
        {"l": ".."},
    ),
    "an opaque mark through a link out": (
        [[a.symlink("l", "../.."), a.file("f", b"f")], [a.file("l/f2", b"2"), a.file("l/.wh..wh..opq")]],
        {"f2": "2"},
    ),
    "a whiteout below nothing": ([[a.file("no/such/.wh.victim")]], {}),
    "bookkeeping of aufs": ([[a.directory(".wh..wh.plnk"), a.file(".wh..wh.aufs")]], {}),
    "the same name twice": ([[a.file("f", b"1"), a.file("./f", b"2")]], {"f": "2"}),
    "links that chase each other inside": (
        [[a.symlink("a", "b/.."), a.directory("b"), a.file("a/b/x", b"x")]],
        {"a": "b/..", "b": "/", "b/x": "x"},
    ),
}


@pytest.mark.parametrize("name", CONFINED)
def test_stays_inside(name: str, tmp_path: Path, victim: Path) -> None:
    layers, expected = CONFINED[name]
    tree = unpacked(tmp_path, *(a.layer(*members) for members in layers))
    assert listing(tree) == expected
    assert victim.read_text() == "innocent"
    assert sorted(os.listdir(tmp_path)) == ["image.tar", "tree", "victim"]
    assert not Path("/tmp/wb-evil").exists()


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    path = a.docker_archive(tmp_path / "image.tar", a.layer(*(a.file(f"f{n}") for n in range(11))))
    with pytest.raises(ImageError, match="more than 10 files"):
        unpack(path, tmp_path / "tree", Limits(entries=10))


def test_too_much_content_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = a.docker_archive(tmp_path / "image.tar", a.layer(a.file("a", bytes(3 << 20))))
    with pytest.raises(ImageError, match="more than 2 MiB"):
        unpack(path, tmp_path / "tree", Limits(size=2 << 20))
    assert os.listdir(tmp_path / "tree") == []


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench.images.unpack", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_prints_the_config(tmp_path: Path) -> None:
    path = a.docker_archive(tmp_path / "image.tar", a.layer(a.file("f", b"x")), WorkingDir="/srv")
    ended = run(path, tmp_path / "tree")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert '"workdir":"/srv"' in ended.stdout
    assert listing(tmp_path / "tree") == {"f": "x"}


def test_a_header_that_claims_terabytes_does_not_take_the_memory(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("pax")
    huge.type, huge.size = tarfile.XHDTYPE, 1 << 40
    layer = huge.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    ended = run(a.docker_archive(tmp_path / "image.tar", layer), tmp_path / "tree")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert str(tmp_path / "image.tar") in ended.stderr
