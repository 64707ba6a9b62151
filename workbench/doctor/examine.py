"""Looks this host over. What can only be known by trying is tried."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

from workbench import places
from workbench.doctor.report import Place, Report, Tool
from workbench.images.buildah import find_buildah
from workbench.images.builder import Builder
from workbench.images.engines import find_apple, find_docker, find_podman
from workbench.images.errors import ImageError
from workbench.images.process import ask
from workbench.machines.bubblewrap import probe as bubblewrap
from workbench.machines.provider import Probe
from workbench.machines.smol import probe as smol

_ENGINES = ("docker", "podman")
"""Of Harbor's environments, those that are programs of this host."""


async def examine(*, again: bool = False) -> Report:
    """The state of this host. Takes up to half a minute where a microVM has not been tried yet.

    Args:
        again: Boot a microVM even when it is remembered how that went.
    """
    probes, tools = await asyncio.gather(
        asyncio.gather(_smol(again), _bubblewrap(), *map(_engine, _ENGINES)),
        asyncio.gather(*(_builder(name, find) for name, find in _builders().items())),
    )
    return Report(
        versions={
            "harbor-workbench": version("harbor-workbench"),
            "harbor": version("harbor"),
            "smolmachines": version("smolmachines"),
            "python": platform.python_version(),
            platform.system().lower(): f"{platform.release()} {platform.machine()}",
        },
        chosen=next((probe.provider for probe in probes if probe.usable and ":" not in probe.provider), ""),
        providers=tuple(probes),
        builders=tuple(tools),
        places=tuple(
            Place(what, str(path), shutil.disk_usage(_existing(path)).free)
            for what, path in (
                ("trials and receipts", places.state_dir()),
                ("images and machines", places.cache_dir()),
            )
        ),
    )


async def _smol(again: bool) -> Probe:
    known = None if again else await asyncio.to_thread(smol.remembered)
    return known or await smol.probe()


async def _bubblewrap() -> Probe:
    if sys.platform != "linux":
        why = "namespaces are a thing of Linux"
        return Probe("bubblewrap", False, "bubblewrap: namespaces, not a VM", why)
    return await bubblewrap.probe()


async def _engine(name: str) -> Probe:
    provider = f"harbor:{name}"
    try:
        if not shutil.which(name):
            raise ImageError(f"{name} is not installed")
        await ask([name, "info"], timeout=20)
        await ask([name, "compose", "version"], timeout=20)
    except ImageError as error:
        return Probe(provider, False, provider, str(error), error.hint)
    limits = ("whole trials only: no states, no branches",)
    return Probe(provider, True, provider, f"{name} and its compose answer", limits=limits)


def _builders() -> dict[str, Callable[[], Awaitable[Builder]]]:
    builders: dict[str, Callable[[], Awaitable[Builder]]] = {
        "docker": find_docker,
        "podman": find_podman,
        "buildah": lambda: find_buildah(places.cache_dir() / "images" / "buildah"),
    }
    return builders | ({"container": find_apple} if sys.platform == "darwin" else {})


async def _builder(name: str, find: Callable[[], Awaitable[Builder]]) -> Tool:
    try:
        found = await find()
    except ImageError as error:
        return Tool(name, False, str(error), error.hint)
    return Tool(name, True, found.version)


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())
