"""What registries say of names, from a registry on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from workbench.images.errors import ImageError
from workbench.images.oci import host_architecture
from workbench.images.registry import Name, ask_registry, parse_name

CONFIG = "sha256:" + "c" * 64
TOKEN = "for everyone"


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


class Registry(ThreadingHTTPServer):
    """Gives manifests by path, to those who have asked for a token first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.manifests: dict[str, bytes] = {}
        self.asked: list[str] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def put(self, tag: str, content: dict[str, object]) -> str:
        body = json.dumps(content).encode()
        for reference in (tag, digest(body)):
            self.manifests[f"/v2/team/base/manifests/{reference}"] = body
        return digest(body)


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path.startswith("/token"):
            self._answer(200, json.dumps({"token": TOKEN}).encode())
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, b"{}")
        elif (body := self.server.manifests.get(self.path)) is not None:
            self._answer(200, body)
        else:
            self._answer(404, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            realm = f"http://{self.server.host}/token"
            self.send_header("WWW-Authenticate", f'Bearer realm="{realm}",service="here"')
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("python", Name("docker.io", "library/python", "latest")),
        ("python:3.12-slim", Name("docker.io", "library/python", "3.12-slim")),
        ("team/base:1", Name("docker.io", "team/base", "1")),
        ("ghcr.io/team/base", Name("ghcr.io", "team/base", "latest")),
        ("localhost:5000/base:1", Name("localhost:5000", "base", "1")),
        ("ghcr.io/a/b:1@sha256:ab", Name("ghcr.io", "a/b", "sha256:ab")),
    ],
)
def test_names_are_read_as_docker_reads_them(image: str, name: Name) -> None:
    assert parse_name(image) == name


async def test_an_image_of_one_platform_is_its_manifest_and_its_config(registry: Registry) -> None:
    manifest = registry.put("1", {"schemaVersion": 2, "config": {"digest": CONFIG}})
    found = await ask_registry(f"{registry.host}/team/base:1")
    assert (found.digest, found.same) == (manifest, frozenset({manifest, CONFIG}))


async def test_of_an_index_the_image_for_this_machine_counts(registry: Registry) -> None:
    mine = registry.put("mine", {"config": {"digest": CONFIG}})
    other = registry.put("other", {"config": {"digest": CONFIG.replace("c", "d")}})
    manifests = [
        {"digest": other, "platform": {"os": "linux", "architecture": "s390x"}},
        {"digest": mine, "platform": {"os": "linux", "architecture": host_architecture()}},
    ]
    index = registry.put("1", {"manifests": manifests})
    found = await ask_registry(f"{registry.host}/team/base:1")
    assert (found.digest, found.same) == (index, frozenset({index, mine, CONFIG}))


async def test_an_image_there_is_not_is_said(registry: Registry) -> None:
    with pytest.raises(ImageError, match=rf"team/base:2: {registry.host} has no such image"):
        await ask_registry(f"{registry.host}/team/base:2")


async def test_what_is_no_manifest_is_said(registry: Registry) -> None:
    registry.manifests["/v2/team/base/manifests/1"] = b"<html>"
    with pytest.raises(ImageError, match="does not answer"):
        await ask_registry(f"{registry.host}/team/base:1")


async def test_a_registry_that_is_not_there_is_said() -> None:
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:9 does not answer: .*refused"):
        await ask_registry("127.0.0.1:9/team/base:1")
