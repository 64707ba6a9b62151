from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.images.archives import docker_archive, file, layer
from workbench.images.archive import IDLE, open_archive
from workbench.images.errors import ImageError
from workbench.machines.smol.image import Bootable, boot_image, bootable


def test_a_name_in_a_registry_is_passed_on() -> None:
    found = boot_image("python:3.12-slim")
    assert (found.reference, found.identity, found.notes) == ("python:3.12-slim", "python:3.12-slim", ())


def test_an_archive_is_named_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = docker_archive(tmp_path / "a.tar", layer(file("etc/hostname", b"x")))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    found = boot_image(str(path))
    assert (found.reference, found.identity, found.notes) == (str(path), digest, ())
    assert found.is_archive
    monkeypatch.chdir(tmp_path)
    assert boot_image("./a.tar") == found
    path.unlink()
    docker_archive(path, layer(file("etc/hostname", b"y")))
    assert boot_image(str(path)).identity == hashlib.sha256(path.read_bytes()).hexdigest() != digest


async def test_an_archive_of_several_layers_is_booted_as_one_layer(tmp_path: Path) -> None:
    path = docker_archive(tmp_path / "a.tar", layer(file("a")), layer(file("b")))
    image = boot_image(str(path))
    async with bootable(image, tmp_path / "cache") as found:
        assert found.reference != str(path)
        with open_archive(Path(found.reference)) as archive:
            assert len(archive.layers) == 1
    one = docker_archive(tmp_path / "one.tar", layer(file("a")))
    async with bootable(boot_image(str(one)), tmp_path / "cache") as found:
        assert found == Bootable(str(one))
    async with bootable(boot_image("python:3.12-slim")) as found:
        assert found == Bootable("python:3.12-slim")


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(
    ("said", "command"),
    [
        ({"Cmd": ["serve"]}, IDLE),
        ({"Entrypoint": ["/entry", "one"]}, ("/entry", "one", *IDLE)),
        ({"Entrypoint": ["/entry"], "Cmd": ["serve"]}, ("/entry", *IDLE)),
        ({}, ()),
    ],
)
async def test_an_archives_entrypoint_runs_and_its_command_does_not(
    tmp_path: Path, layers: int, said: dict[str, object], command: tuple[str, ...]
) -> None:
    archive = docker_archive(tmp_path / "a.tar", *(layer(file(str(i))) for i in range(layers)), **said)
    async with bootable(boot_image(str(archive)), tmp_path / "cache") as found:
        assert found.command == command


def test_a_packed_machine_says_what_it_keeps(tmp_path: Path) -> None:
    path = tmp_path / "m.smolmachine"
    path.write_bytes(b"packed")
    found = boot_image(str(path))
    assert found.identity == hashlib.sha256(b"packed").hexdigest()
    assert "keeps the network" in found.notes[0]


def test_a_root_directory_is_named_by_its_place(tmp_path: Path) -> None:
    found = boot_image(str(tmp_path))
    assert (found.reference, found.identity) == (str(tmp_path), str(tmp_path.resolve()))


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"missing\.tar: No such file"):
        boot_image(str(tmp_path / "missing.tar"))
    (tmp_path / "oci-layout").write_text("{}")
    with pytest.raises(ImageError, match="is an OCI layout") as raised:
        boot_image(str(tmp_path))
    assert raised.value.hint == f"pack it: tar -cf image.tar -C {tmp_path} ."
