"""What a hostile machine may send, and what comes of it on the host."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import threading
from pathlib import Path

import pytest

from workbench.machines.bubblewrap.transfer import pack, stays_inside, unpack
from workbench.machines.machine import MachineError


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, link, mode
    return member


def _send(members: list[tuple[tarfile.TarInfo, bytes]], target: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    _send_bytes(archive.getvalue(), target)


def _send_bytes(data: bytes, target: Path) -> None:
    read, write = os.pipe()

    def feed() -> None:
        with open(write, "wb") as stream:
            stream.write(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        unpack(read, target)
    finally:
        feeder.join()


TOP = (_member("./", tarfile.DIRTYPE, mode=0o755), b"")


@pytest.mark.parametrize(
    ("link", "depth", "inside"),
    [
        ("file", 0, True),
        ("a/b", 0, True),
        ("../file", 1, True),
        ("../../x/y", 2, True),
        (".", 0, True),
        ("..", 0, False),
        ("../../file", 1, False),
        ("/etc/passwd", 3, False),
        ("a/../b", 3, False),
        ("a/../../b", 3, False),
    ],
)
def test_a_link_is_kept_only_where_it_cannot_lead_out(link: str, depth: int, inside: bool) -> None:
    assert stays_inside(link, depth) is inside


def test_nothing_is_written_through_a_link_of_the_archive(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    _send(
        [
            TOP,
            (_member("./way", tarfile.SYMTYPE, str(outside)), b""),
            (_member("./way/file"), b"x"),
            (_member("./up", tarfile.SYMTYPE, "."), b""),
            (_member("./up/file"), b"y"),
        ],
        tmp_path / "target",
    )
    assert list(outside.iterdir()) == []
    assert (tmp_path / "target/way/file").read_text() == "x"


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "./a/../../escaped"])
def test_a_name_that_leads_out_is_left_out(name: str, tmp_path: Path) -> None:
    _send([TOP, (_member(name), b"x"), (_member("./in"), b"y")], tmp_path / "a" / "target")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "in", "target"]


def test_a_hard_link_reaches_only_what_the_archive_brought(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("host")
    _send(
        [
            TOP,
            (_member("./one"), b"1"),
            (_member("./two", tarfile.LNKTYPE, "./one"), b""),
            (_member("./three", tarfile.LNKTYPE, str(tmp_path / "secret")), b""),
            (_member("./four", tarfile.LNKTYPE, "../secret"), b""),
        ],
        tmp_path / "target",
    )
    assert sorted(path.name for path in (tmp_path / "target").iterdir()) == ["one", "two"]
    assert (tmp_path / "target/two").read_text() == "1"


def test_a_single_file_cannot_be_a_link(tmp_path: Path) -> None:
    _send([(_member("reward.txt", tarfile.SYMTYPE, "/etc/passwd"), b"")], tmp_path / "reward.txt")
    assert not os.path.lexists(tmp_path / "reward.txt")


def test_what_was_a_link_on_the_host_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("host")
    (tmp_path / "file").symlink_to(tmp_path / "secret")
    _send([(_member("file"), b"new")], tmp_path / "file")
    assert (tmp_path / "secret").read_text() == "host"
    assert (tmp_path / "file").read_text() == "new"


def test_devices_and_pipes_are_left_out_and_bits_that_give_rights_dropped(tmp_path: Path) -> None:
    _send(
        [
            TOP,
            (_member("./pipe", tarfile.FIFOTYPE), b""),
            (_member("./disk", tarfile.BLKTYPE), b""),
            (_member("./setuid", mode=0o6755), b"x"),
            (_member("./shut", mode=0o000), b"x"),
            (_member("./closed", tarfile.DIRTYPE, mode=0o000), b""),
        ],
        tmp_path / "target",
    )
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (tmp_path / "target").iterdir()}
    assert modes == {"setuid": 0o755, "shut": 0o400, "closed": 0o700}


def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="is no archive"):
        _send_bytes(b"this is no tar archive" * 100, tmp_path / "target")


def test_a_reader_that_is_gone_is_no_error_of_the_packer(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1_000_000)
    read, write = os.pipe()
    os.close(read)
    pack(tmp_path / "large", "large", write)
