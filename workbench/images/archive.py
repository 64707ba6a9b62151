"""Image archives as `docker save`, `podman save`, `buildah push` and `skopeo copy` write them.

Both layouts are read: docker-archive (https://github.com/moby/moby/blob/v26.1.5/image/spec/v1.2.md) and the
OCI image layout in a tar (https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md). An
archive that carries both, as Docker 25 and newer write it, is read as the first.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec

from workbench.images.errors import ImageError
from workbench.images.oci import Descriptor, Manifest, host_architecture

JSON_LIMIT = 16 << 20
"""Bytes of one JSON document in an archive; real ones have some kilobytes."""
MEMBERS_LIMIT = 20_000
"""Files in the archive itself (layers and JSON), not in the image."""
SAVE_HINT = "save it with `docker save`, `podman save` or `buildah push NAME docker-archive:FILE`"


IDLE = ("sh", "-c", "sleep infinity")
"""What Harbor's Docker environment puts in the place of an image's own command."""


class ImageConfig(msgspec.Struct, frozen=True):
    """What an image says about the processes that run in it."""

    env: dict[str, str] = {}
    workdir: str = ""
    user: str = ""
    """`name`, `uid`, `name:group` or `uid:gid`; empty for root."""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()
    platform: str = ""
    """`os/architecture`, empty where the image does not say."""


class Layer(msgspec.Struct, frozen=True):
    """One layer of an archive."""

    member: str
    """Its name in the archive."""
    digest: str
    """`sha256:` of the uncompressed tar."""


class _Container(msgspec.Struct):
    env: list[str] | None = msgspec.field(name="Env", default=None)
    workdir: str | None = msgspec.field(name="WorkingDir", default=None)
    user: str | None = msgspec.field(name="User", default=None)
    entrypoint: list[str] | None = msgspec.field(name="Entrypoint", default=None)
    cmd: list[str] | None = msgspec.field(name="Cmd", default=None)
    volumes: dict[str, object] | None = msgspec.field(name="Volumes", default=None)
    shell: list[str] | None = msgspec.field(name="Shell", default=None)


class _RootFS(msgspec.Struct):
    diff_ids: list[str]


class _Image(msgspec.Struct):
    rootfs: _RootFS
    config: dict[str, object] | None = None
    architecture: str = ""
    os: str = ""


class _DockerManifest(msgspec.Struct, rename="pascal"):
    config: str
    layers: list[str]


class Archive:
    """An open archive of one image."""

    def __init__(self, path: Path, tar: tarfile.TarFile) -> None:
        self._path = path
        self._tar = tar
        self._members: dict[str, tarfile.TarInfo] = {}
        for member in tar:
            if len(self._members) >= MEMBERS_LIMIT:
                raise ImageError(
                    f"{path} holds more than {MEMBERS_LIMIT} files, so it is not an image archive", SAVE_HINT
                )
            self._members[member.name.removeprefix("./")] = member
        config, layers = self._find()
        image = self._json(config, _Image)
        if len(image.rootfs.diff_ids) != len(layers):
            raise ImageError(
                f"{path} has {len(layers)} layers but names {len(image.rootfs.diff_ids)}: it is damaged"
            )
        if image.os and image.os != "linux":
            raise ImageError(f"{path} is an image for {image.os}; only Linux images can be run")
        self.said = image.config or {}
        """The config as the image's JSON has it."""
        self.platform = f"{image.os}/{image.architecture}" if image.os and image.architecture else ""
        self.config = config_of(self.said, self.platform)
        self.layers = tuple(
            Layer(name, digest) for name, digest in zip(layers, image.rootfs.diff_ids, strict=True)
        )

    @contextmanager
    def open(self, layer: Layer, *, verify: bool = True) -> Iterator[IO[bytes]]:
        """The layer's uncompressed tar.

        Raises:
            ImageError: the layer's compression is not known here, or, on leaving: it is not what its digest
                says.
        """
        with self._member(layer.member) as raw, _uncompressed(raw, f"{self._path}: {layer.member}") as tar:
            if not verify:
                yield tar
                return
            reader = _Hashing(tar)
            yield cast("IO[bytes]", reader)
            while reader.read(1 << 20):
                pass
            if f"sha256:{reader.hash.hexdigest()}" != layer.digest:
                raise ImageError(
                    f"{self._path}: layer {layer.member} is not what its digest says: the archive is damaged"
                )

    def _find(self) -> tuple[str, list[str]]:
        """The names of the config and of the layers, bottom first."""
        if "manifest.json" in self._members:
            images = self._json("manifest.json", list[_DockerManifest])
            if len(images) != 1:
                raise ImageError(
                    f"{self._path} holds {len(images)} images", "save one image to an archive of its own"
                )
            return images[0].config, images[0].layers
        if "index.json" not in self._members:
            what = "a file system, not an image" if len(self._members) > 1 else "no image"
            raise ImageError(
                f"{self._path} holds {what}: it has no manifest.json and no index.json", SAVE_HINT
            )
        manifest = self._json("index.json", Manifest)
        for _ in range(4):
            if manifest.config is not None:
                return _blob(manifest.config), [_blob(layer) for layer in manifest.layers]
            manifest = self._json(_blob(self._choose(manifest.manifests)), Manifest)
        raise ImageError(f"{self._path} has an index that leads to no image: it is damaged")

    def _choose(self, manifests: list[Descriptor]) -> Descriptor:
        """The image for this machine, among those of an index."""
        images = [m for m in manifests if "vnd.docker.reference.type" not in (m.annotations or {})]
        if len(images) == 1:
            return images[0]
        mine = [image for image in images if image.is_for_here]
        if len(mine) != 1:
            here = host_architecture()
            raise ImageError(
                f"{self._path} holds {len(images)} images, {len(mine)} of them for linux/{here}",
                "save one image to an archive of its own",
            )
        return mine[0]

    def _json[T](self, name: str, kind: type[T]) -> T:
        with self._member(name) as file:
            text = file.read(JSON_LIMIT + 1)
        if len(text) > JSON_LIMIT:
            raise ImageError(f"{self._path}: {name} is larger than {JSON_LIMIT >> 20} MiB")
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ImageError(f"{self._path}: {name} cannot be read: {error}", SAVE_HINT) from None

    def _member(self, name: str) -> IO[bytes]:
        for _ in range(3):  # older `docker save` links a layer to the same layer of another image
            member = self._members.get(name)
            if member is not None and member.isreg():
                file = self._tar.extractfile(member)
                assert file is not None
                return file
            if member is None or not (member.islnk() or member.issym()):
                break
            base = name.rpartition("/")[0] if member.issym() else ""
            name = _joined(base, member.linkname)
        raise ImageError(f"{self._path}: {name} is missing: the archive is damaged or was cut short")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The archive at `path`, which may be compressed as a whole.

    Raises:
        ImageError: it cannot be opened, is not an image archive, has no image for this machine, or, while it
            is read, turns out to be damaged.
    """
    try:
        tar = tarfile.open(path)  # noqa: SIM115 (closed below; errors of the caller are not those of opening)
    except tarfile.ReadError as error:
        raise ImageError(f"{path} cannot be read as a tar archive ({error})", SAVE_HINT) from None
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ImageError(f"{path} is damaged or was cut short ({error})", "make it again") from None
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror or error}") from None
    with tar:
        try:
            yield Archive(path, tar)
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise ImageError(f"{path} is damaged or was cut short ({error})", "make it again") from None


def config_of(said: dict[str, object], platform: str) -> ImageConfig:
    """The config in an image's JSON, as builders give it, for `os/architecture`.

    Raises:
        ImageError: it is not one.
    """
    try:
        found = msgspec.convert(said, _Container)
    except msgspec.ValidationError as error:
        raise ImageError(f"the image's config cannot be read: {error}") from None
    return ImageConfig(
        env=dict(pair.partition("=")[::2] for pair in found.env or ()),
        workdir=found.workdir or "",
        user=found.user or "",
        entrypoint=tuple(found.entrypoint or ()),
        cmd=tuple(found.cmd or ()),
        volumes=tuple(found.volumes or ()),
        shell=tuple(found.shell or ()),
        platform=platform,
    )


def _blob(descriptor: Descriptor) -> str:
    return "blobs/" + descriptor.digest.replace(":", "/", 1)


def _joined(base: str, link: str) -> str:
    parts: list[str] = []
    for part in f"{base}/{link}".split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class _Hashing(io.RawIOBase):
    """A reader that keeps the hash of all that was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        return data


def _uncompressed(raw: IO[bytes], name: str) -> IO[bytes]:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(raw)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            zstd = importlib.import_module("compression.zstd")
        except ModuleNotFoundError:
            raise ImageError(
                f"{name} is compressed with zstd, which needs Python 3.14 or newer to be read here",
                "save the image with gzip (`skopeo copy --dest-compress-format gzip`) or uncompressed",
            ) from None
        return cast("IO[bytes]", zstd.ZstdFile(raw))
    return raw
