"""Archives of one layer."""

from __future__ import annotations

import os
import subprocess
import tarfile
from functools import partial
from pathlib import Path

import pytest

from tests.images import archives as a
from tests.images.test_unpack import listing
from workbench.images.archive import open_archive
from workbench.images.cache import Cache
from workbench.images.errors import ImageError
from workbench.images.flat import pour_from, result_key, write_flat
from workbench.images.flatten import flat_archive, flat_tar_of
from workbench.images.unpack import unpack

CONFIG: dict[str, object] = {"Env": ["A=1"], "WorkingDir": "/srv", "Hostname": "x", "Cmd": None}


async def flat(tmp_path: Path, *layers: bytes) -> Path:
    archive = a.docker_archive(tmp_path / "layered.tar", *layers)
    await write_flat(partial(pour_from, flat_tar_of(archive)), tmp_path / "flat.tar", CONFIG, "amd64")
    return tmp_path / "flat.tar"


async def test_what_was_deleted_stays_deleted(tmp_path: Path) -> None:
    path = await flat(
        tmp_path,
        a.layer(a.directory("o"), a.file("o/1"), a.file("o/2"), a.file("gone"), a.file("kept", b"k")),
        a.layer(a.directory("o"), a.file("o/.wh..wh..opq"), a.file("o/3", b"3"), a.file(".wh.gone")),
    )
    with open_archive(path) as image:
        assert len(image.layers) == 1
        assert (image.config.env, image.config.workdir, image.config.platform) == (
            {"A": "1"},
            "/srv",
            "linux/amd64",
        )
    unpack(path, tmp_path / "tree")
    assert listing(tmp_path / "tree") == {"o": "/", "o/3": "3", "kept": "k"}


async def test_a_flat_image_is_its_layers_to_the_last_bit(tmp_path: Path) -> None:
    layers = (
        a.layer(
            a.directory("tmp", mode=0o1777),
            a.file("su", b"s", mode=0o4755, uid=7),
            a.symlink("l", "/su"),
            a.fifo("pipe"),
            a.device("null", major=1, minor=3),
            a.device("white"),
            a.file("x/y", b"y", SCHILY__xattr__user__note="n"),
            a.file("odd" + os.fsdecode(b"\xe9"), b"o"),
        ),
        a.layer(a.hardlink("z/su2", "su"), a.file(".wh.l")),
    )
    path = await flat(tmp_path, *layers)
    with (
        open_archive(path) as image,
        image.open(image.layers[0]) as data,
        tarfile.open(fileobj=data, mode="r|") as tar,
    ):
        found = {member.name: member for member in tar}
    assert set(found) == {".", "tmp", "x", "z", "su", "pipe", "null", "x/y", "odd\udce9", "z/su2"}
    assert (found["su"].mode, found["su"].uid, found["tmp"].mode) == (0o4755, 7, 0o1777)
    assert (found["z/su2"].type, found["z/su2"].linkname) == (tarfile.LNKTYPE, "su")
    assert (found["null"].devmajor, found["null"].devminor) == (1, 3)
    assert found["x/y"].pax_headers == {"SCHILY.xattr.user.note": "n"}
    assert {member.mtime for name, member in found.items() if name not in (".", "x", "z")} == {1_700_000_000}


async def test_a_users_archive_of_layers_is_flattened_once_and_keeps_its_config(tmp_path: Path) -> None:
    layers = (a.layer(a.file("f", b"1"), a.file("g")), a.layer(a.file(".wh.g"), a.file("f", b"2")))
    archive = a.oci_archive(tmp_path / "x.tar", *layers, Env=["A=1"], Labels={"l": "x"}, User="7")
    first = await flat_archive(archive, tmp_path / "cache")
    second = await flat_archive(archive, tmp_path / "cache")
    assert first.path == second.path != archive
    with open_archive(first.path) as image:
        assert (len(image.layers), image.said) == (1, {"Env": ["A=1"], "Labels": {"l": "x"}, "User": "7"})
    unpack(first.path, tmp_path / "tree")
    assert listing(tmp_path / "tree") == {"f": "2"}
    assert not Cache(tmp_path / "cache/archives").remove(first.path.parent.name)


async def test_an_archive_of_one_layer_is_used_as_it_is(tmp_path: Path) -> None:
    archive = a.docker_archive(tmp_path / "x.tar", a.layer(a.file("f")))
    assert (await flat_archive(archive, tmp_path / "cache")).path == archive
    assert not (tmp_path / "cache").exists()


async def test_a_hostile_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="outside of the image"):
        await flat(tmp_path, a.layer(a.file("../x", b"evil")))


async def test_a_command_that_fails_is_said(tmp_path: Path) -> None:
    argv = ("sh", "-c", "echo some; echo tar: no room >&2; exit 2")
    with pytest.raises(ImageError, match="could not be exported: tar: no room"):
        await write_flat(partial(pour_from, argv), tmp_path / "flat.tar", {}, "amd64")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_a_full_disk_is_said(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
    try:
        zeros = partial(pour_from, ("head", "-c", "4M", "/dev/zero"))
        with pytest.raises(ImageError, match="no room left on the disk"):
            await write_flat(zeros, small / "flat.tar", {}, "amd64")
    finally:
        subprocess.run(["umount", small], check=True)


def test_the_result_is_layers_and_what_speaks_of_processes() -> None:
    key = result_key(["a", "b"], {"Env": ["X=1"], "Hostname": "h1", "Cmd": None})
    assert result_key(["a", "b"], {"Cmd": [], "Hostname": "h2", "Env": ["X=1"]}) == key
    assert result_key(["b", "a"], {"Env": ["X=1"]}) != key
    assert result_key(["a", "b"], {"Env": ["X=2"]}) != key
    assert result_key(["a", "b"], {"Env": ["X=1"], "User": "1"}) != key
