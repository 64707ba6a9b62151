"""What buildah is told and what it answers, wherever it runs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from workbench.images.build_events import StepRecord
from workbench.images.builder import BuildRequest, BuiltLayers

_BIND = re.compile(r"--mount=\S*type=bind")
_BESIDE = """
set -e
container=$({buildah} from --pull=false {image})
trap '{buildah} rm "$container" >/dev/null' EXIT
cd "$({buildah} mount "$container")"
"$@"
"""
TAR = (
    *("tar", "--create", "--sort=name", "--numeric-owner"),
    *("--format=posix", "--pax-option=delete=atime,delete=ctime,delete=mtime"),
    *("--xattrs", "--xattrs-include=user.*", "--xattrs-include=security.capability", "."),
)
"""Prints the working directory as a tar, the same for the same files."""


def bud_flags(request: BuildRequest) -> tuple[list[str], tuple[str, ...]]:
    """The options of `buildah bud`, and what a person should know of them."""
    flags = ["--isolation", "chroot", "--layers", "--force-rm", "--pull=false", "--tag", request.tag]
    flags += ["--format", "docker"]  # the OCI format drops SHELL and HEALTHCHECK
    flags += [f"--build-arg={name}={value}" for name, value in request.args.items()]
    if not request.use_layers:
        return [*flags, "--no-cache"], ()
    binds = [i for i in request.dockerfile.instructions if _BIND.search(i.text)]
    if not binds:
        return flags, ()
    # https://github.com/containers/buildah/issues/5400: its key lacks what is mounted.
    what = "buildah cannot tell when a bind mount changed, so no layer is reused"
    return [*flags, "--no-cache"], (f"Dockerfile:{binds[0].line}: {what}",)


def built_layers(
    image: str, inspected: str, steps: Sequence[StepRecord], warnings: tuple[str, ...]
) -> BuiltLayers:
    """The image that `buildah inspect` speaks of."""
    said = json.loads(json.loads(inspected)["Config"])
    return BuiltLayers(
        id=image,
        diff_ids=tuple(said["rootfs"]["diff_ids"]),
        config=said.get("config") or {},
        architecture=said["architecture"],
        steps=tuple(steps),
        warnings=warnings,
    )


def beside(buildah: Sequence[str], image: str) -> str:
    """A shell script that runs its arguments in the root of an image's file system."""
    return _BESIDE.format(buildah=shlex.join(buildah), image=shlex.quote(image))
