"""Image archives made by hand, hostile ones included."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

type Member = tuple[tarfile.TarInfo, bytes]


def member(
    name: str, kind: bytes, *, mode: int = 0o644, link: str = "", uid: int = 0, gid: int = 0
) -> tarfile.TarInfo:
    """A header as it stands, unchecked."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.uid, info.gid, info.mtime = (
        kind,
        mode,
        link,
        uid,
        gid,
        1_700_000_000,
    )
    return info


def file(name: str, data: bytes = b"", *, mode: int = 0o644, uid: int = 0, **pax: str) -> Member:
    info = member(name, tarfile.REGTYPE, mode=mode, uid=uid, gid=uid)
    info.size = len(data)
    info.pax_headers = {key.replace("__", "."): value for key, value in pax.items()}
    return info, data


def directory(name: str, *, mode: int = 0o755, uid: int = 0) -> Member:
    return member(name, tarfile.DIRTYPE, mode=mode, uid=uid, gid=uid), b""


def symlink(name: str, target: str) -> Member:
    return member(name, tarfile.SYMTYPE, mode=0o777, link=target), b""


def hardlink(name: str, target: str) -> Member:
    return member(name, tarfile.LNKTYPE, link=target), b""


def device(name: str, kind: bytes = tarfile.CHRTYPE, major: int = 0, minor: int = 0) -> Member:
    info = member(name, kind, mode=0o666)
    info.devmajor, info.devminor = major, minor
    return info, b""


def fifo(name: str) -> Member:
    return member(name, tarfile.FIFOTYPE, mode=0o622), b""


def layer(*members: Member) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def config(layers: Sequence[bytes], **said: object) -> bytes:
    """The JSON of an image's config; `layers` are uncompressed."""
    ids = [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in layers]
    image = {
        "architecture": "amd64",
        "os": "linux",
        "config": said,
        "rootfs": {"type": "layers", "diff_ids": ids},
    }
    return json.dumps(image).encode()


def _tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def docker_archive(path: Path, *layers: bytes, **said: object) -> Path:
    """What `docker save` writes."""
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": "config.json", "RepoTags": ["x:latest"], "Layers": names}]
    files = {"config.json": config(layers, **said), **dict(zip(names, layers, strict=True))}
    return _tar(path, {**files, "manifest.json": json.dumps(manifest).encode()})


def oci_archive(
    path: Path,
    *layers: bytes,
    compress: Callable[[bytes], bytes] = gzip.compress,
    others: Sequence[dict[str, object]] = (),
    **said: object,
) -> Path:
    """An OCI image layout in a tar, by way of an index for several platforms when there are `others`."""
    files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}

    def blob(data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{digest}"] = data
        return {"digest": f"sha256:{digest}", "size": len(data)}

    descriptors = [blob(compress(data)) for data in layers]
    image = blob(json.dumps({"config": blob(config(layers, **said)), "layers": descriptors}).encode())
    manifests = [{**image, "platform": {"os": "linux", "architecture": "amd64"}}, *others]
    index = {"manifests": manifests if not others else [blob(json.dumps({"manifests": manifests}).encode())]}
    return _tar(path, {**files, "index.json": json.dumps(index).encode()})
