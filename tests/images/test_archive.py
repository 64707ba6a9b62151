"""Reading image archives."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import platform
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.images.archives import config, directory, docker_archive, file, layer, oci_archive
from workbench.images.archive import ImageConfig, open_archive
from workbench.images.errors import ImageError

ONE = layer(directory("etc"), file("etc/motd", b"hello\n"))


@pytest.fixture(autouse=True)
def _on_amd64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def first_layer(path: Path) -> bytes:
    with open_archive(path) as image, image.open(image.layers[0]) as data:
        return data.read()


def test_the_config_says_how_processes_run(tmp_path: Path) -> None:
    path = docker_archive(
        tmp_path / "x.tar",
        ONE,
        Env=["PATH=/opt/bin:/bin", "EMPTY=", "EQUALS=a=b"],
        WorkingDir="/srv",
        User="1000:1000",
        Entrypoint=["/init"],
        Cmd=["serve", "--port", "80"],
        Volumes={"/data": {}},
        Shell=["/bin/bash", "-c"],
    )
    with open_archive(path) as image:
        assert image.config == ImageConfig(
            env={"PATH": "/opt/bin:/bin", "EMPTY": "", "EQUALS": "a=b"},
            workdir="/srv",
            user="1000:1000",
            entrypoint=("/init",),
            cmd=("serve", "--port", "80"),
            volumes=("/data",),
            shell=("/bin/bash", "-c"),
            platform="linux/amd64",
        )


def test_a_config_with_nulls_says_nothing(tmp_path: Path) -> None:
    path = docker_archive(tmp_path / "x.tar", ONE, Env=None, Entrypoint=None, Cmd=None, Volumes=None, User="")
    with open_archive(path) as image:
        assert image.config == ImageConfig(platform="linux/amd64")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_layers_are_read_in_each_compression(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert first_layer(oci_archive(tmp_path / "x.tar", ONE, compress=compress)) == ONE


def test_an_archive_compressed_as_a_whole_is_read(tmp_path: Path) -> None:
    plain = docker_archive(tmp_path / "x.tar", ONE)
    packed = tmp_path / "x.tar.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert first_layer(packed) == ONE


def test_of_several_platforms_this_machines_is_taken(tmp_path: Path) -> None:
    others: list[dict[str, object]] = [
        {"digest": "sha256:00", "size": 1, "platform": {"os": "linux", "architecture": "arm64"}},
        {
            "digest": "sha256:01",
            "size": 1,
            "annotations": {"vnd.docker.reference.type": "attestation-manifest"},
        },
    ]
    assert first_layer(oci_archive(tmp_path / "x.tar", ONE, others=others)) == ONE


def test_a_layer_that_links_to_another_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    manifest = [{"Config": "c.json", "Layers": ["a/layer.tar", "b/layer.tar"]}]
    (tmp_path / "m").write_text(json.dumps(manifest))
    (tmp_path / "c").write_bytes(config([ONE, ONE]))
    (tmp_path / "l").write_bytes(ONE)
    with tarfile.open(path, "w") as tar:
        tar.add(tmp_path / "m", "manifest.json")
        tar.add(tmp_path / "c", "c.json")
        tar.add(tmp_path / "l", "a/layer.tar")
        link = tarfile.TarInfo("b/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../a/layer.tar"
        tar.addfile(link)
    with open_archive(path) as image, image.open(image.layers[1]) as data:
        assert data.read() == ONE


def refuse(path: Path) -> str:
    with pytest.raises(ImageError) as caught:
        first_layer(path)
    return str(caught.value)


def test_zstd_is_named_where_it_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    path = oci_archive(tmp_path / "x.tar", ONE, compress=lambda data: b"\x28\xb5\x2f\xfd" + data)
    assert "compressed with zstd, which needs Python 3.14" in refuse(path)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"etc/motd": b"x", "bin/sh": b"y"}, "holds a file system, not an image"),
        ({}, "holds no image"),
        ({"manifest.json": b"[]"}, "holds 0 images"),
        ({"manifest.json": b"{"}, "manifest.json cannot be read"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]'}, "c is missing"),
        ({"manifest.json": b'[{"Config": 3, "Layers": []}]'}, "manifest.json cannot be read"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": config([])}, "1 layers but names 0"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": config([ONE])}, "l is missing"),
        ({"index.json": b'{"manifests": []}'}, "holds 0 images"),
    ],
)
def test_what_is_no_image_is_refused_in_words(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(layer(*(file(name, data) for name, data in files.items())))
    assert words in refuse(path)


def test_a_file_that_is_no_tar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(b"#!/bin/sh\n" * 100)
    assert "cannot be read as a tar archive" in refuse(path)


def test_an_image_of_another_system_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    windows = config([ONE]).replace(b'"linux"', b'"windows"')
    manifest = b'[{"Config": "c", "Layers": ["l"]}]'
    path.write_bytes(layer(file("manifest.json", manifest), file("c", windows), file("l", ONE)))
    assert "an image for windows" in refuse(path)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_an_archive_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    whole = oci_archive(
        tmp_path / "x.tar", layer(file("blob", random.Random(0).randbytes(200_000)))
    ).read_bytes()
    path = tmp_path / "cut.tar"
    path.write_bytes(whole[: int(len(whole) * share)])
    refuse(path)


def test_a_changed_layer_is_found_out(tmp_path: Path) -> None:
    path = docker_archive(tmp_path / "x.tar", ONE)
    path.write_bytes(path.read_bytes().replace(b"hello", b"HELLO"))
    assert "is not what its digest says" in refuse(path)
