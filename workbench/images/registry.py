"""What an image's name stands for in its registry, without fetching the image.

Asked over https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md, with the anonymous tokens
that public registries give out. Registries on this very machine are asked without TLS, as Docker does.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import NamedTuple

import msgspec

from workbench.images.errors import ImageError
from workbench.images.oci import Manifest

_DOCKER = "docker.io"
_HOSTS = {_DOCKER: "registry-1.docker.io"}
_TIMEOUT = 20.0
_LIMIT = 4 << 20
"""Bytes of one answer; real manifests have some kilobytes."""
_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class Name(NamedTuple):
    """An image's name, taken apart."""

    host: str
    repository: str
    reference: str
    """A tag or a digest."""


class Standing(msgspec.Struct, frozen=True):
    """What a name stands for now."""

    digest: str
    """The one that a pin would have."""
    same: frozenset[str]
    """All digests that mean this image here: the index's, its manifest's for this machine, the config's."""


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


def parse_name(image: str) -> Name:
    """An image's name as Docker reads it: `python:3.12` is `docker.io/library/python:3.12`."""
    name, _, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, path = first, rest
    else:
        host, path = _DOCKER, name
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, "latest"
    if host == _DOCKER and "/" not in repository:
        repository = f"library/{repository}"
    return Name(host, repository, digest or tag)


async def ask_registry(image: str) -> Standing:
    """What `image` stands for now.

    Raises:
        ImageError: the registry does not answer, or has no such image.
    """
    return await asyncio.to_thread(_ask, image)


def _ask(image: str) -> Standing:
    name = parse_name(image)
    token = ""
    try:
        try:
            body = _get(name, name.reference, token)
        except urllib.error.HTTPError as error:
            if error.code != 401:
                raise
            token = _token(error.headers.get("WWW-Authenticate", ""), name)
            body = _get(name, name.reference, token)
        digest, manifest = _digest(body), _read(body)
        same = {digest}
        if manifest.manifests:
            here = [one for one in manifest.manifests if one.is_for_here]
            if here:
                same.add(here[0].digest)
                manifest = _read(_get(name, here[0].digest, token))
        if manifest.config:
            same.add(manifest.config.digest)
        return Standing(digest, frozenset(same))
    except urllib.error.HTTPError as error:
        what = {
            401: "needs an account",
            403: "needs an account",
            404: "has no such image",
            429: "is too busy",
        }
        said = what.get(error.code, f"answered with status {error.code}")
        raise ImageError(f"{image}: {name.host} {said}") from None
    except (OSError, ValueError, msgspec.DecodeError) as error:
        cause = getattr(error, "reason", None) or error
        reason = getattr(cause, "strerror", None) or cause
        raise ImageError(f"{image}: {name.host} does not answer: {reason}") from None


def _get(name: Name, reference: str, token: str) -> bytes:
    host = _HOSTS.get(name.host, name.host)
    local = host.rpartition(":")[0] in ("localhost", "127.0.0.1") or host == "localhost"
    url = f"{'http' if local else 'https'}://{host}/v2/{name.repository}/manifests/{reference}"
    headers = {"Accept": _ACCEPT} | ({"Authorization": f"Bearer {token}"} if token else {})
    return _fetch(url, headers)


def _token(challenge: str, name: Name) -> str:
    said = dict(_CHALLENGE.findall(challenge))
    realm = said.get("realm", "")
    if not realm.startswith(("https://", "http://")):
        raise ValueError("it asks for an account in a way that is not known here")
    query = {"service": said.get("service", ""), "scope": f"repository:{name.repository}:pull"}
    found = msgspec.json.decode(_fetch(f"{realm}?{urllib.parse.urlencode(query)}", {}), type=_Token)
    return found.token or found.access_token


def _fetch(url: str, headers: dict[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        body: bytes = answer.read(_LIMIT + 1)
    if len(body) > _LIMIT:
        raise ValueError("its answer is too long for a manifest")
    return body


def _read(body: bytes) -> Manifest:
    return msgspec.json.decode(body, type=Manifest)


def _digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
