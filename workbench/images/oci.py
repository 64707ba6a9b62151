"""What OCI says of images: indexes, manifests and platforms.

Read by https://github.com/opencontainers/image-spec/blob/v1.1.0/manifest.md and image-index.md beside it.
"""

from __future__ import annotations

import platform

import msgspec

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def host_architecture() -> str:
    """This machine's architecture in the words of images, such as `amd64`."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


class Platform(msgspec.Struct):
    """What an image runs on."""

    architecture: str = ""
    os: str = ""


class Descriptor(msgspec.Struct):
    """Names a manifest, a config or a layer by its content."""

    digest: str
    platform: Platform | None = None
    annotations: dict[str, str] | None = None

    @property
    def is_for_here(self) -> bool:
        """Whether it says that it runs on this machine."""
        said = self.platform
        return said is not None and (said.os, said.architecture) == ("linux", host_architecture())


class Manifest(msgspec.Struct):
    """An index or a manifest; which one shows in what it has."""

    manifests: list[Descriptor] = []
    config: Descriptor | None = None
    layers: list[Descriptor] = []
