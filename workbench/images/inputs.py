"""All that an image is built from: its key, and what changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from workbench.images.context import Files

SCHEMA = 1
"""Raised when the same inputs would be built differently than before."""
_NAMED = 3
"""Changes told by name; the rest is counted."""


class Inputs(msgspec.Struct, frozen=True):
    """What a build depends on."""

    builder: str
    """Name and version."""
    platform: str
    files: Files
    bases: dict[str, str]
    """Images it starts or copies from, to their digests; empty for one that is not on this machine yet."""
    args: dict[str, str] = {}
    schema: int = SCHEMA

    @property
    def key(self) -> str:
        """Names the image that these give."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:32]


def changes(before: Inputs, now: Inputs, label: str = "") -> str:
    """Why an image built from `before` is stale, in one line; empty when it is not.

    Args:
        label: The context's name in the task, such as `environment`.
    """
    prefix = f"{label}/" if label else ""
    told = [f"{prefix}{name} {verb}" for name, verb in _differences(before.files, now.files)]
    told.sort(key=lambda change: not change.startswith(f"{prefix}Dockerfile "))
    told += [
        f"{name} is now {digest.removeprefix('sha256:')[:12]}"
        for name, digest in now.bases.items()
        if digest and before.bases.get(name, digest) != digest
    ]
    told += [f"build argument {name} {verb}" for name, verb in _differences(before.args, now.args)]
    if before.builder != now.builder:
        told.append(f"{now.builder} builds now, it was {before.builder}")
    if before.platform != now.platform:
        told.append(f"the platform is now {now.platform}")
    if not told and before.key != now.key:
        told.append("the workbench builds images differently now")
    rest = len(told) - _NAMED
    return ", ".join(told[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    found = [(name, "is gone") for name in before.keys() - now.keys()]
    for name, what in now.items():
        if name not in before:
            found.append((name, "is new"))
        elif before[name] != what:
            found.append((name, "changed"))
    return sorted(found)
