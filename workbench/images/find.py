"""Which builder is used: the first that works, in an order of likely comfort, or the one asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from workbench.images.buildah import find_buildah
from workbench.images.builder import Builder
from workbench.images.engines import find_apple, find_docker, find_podman
from workbench.images.errors import ImageError

BUILDERS = ("docker", "podman", "buildah", "container", "smol")
"""In the order they are looked for; the last is buildah in a microVM."""

GUEST_HINT = "with the provider smol, set builder_image in settings.toml to an image that has buildah"


class NoBuilderError(ImageError):
    """No program here builds Dockerfiles.

    Attributes:
        reasons: Each builder to why it cannot be used.
    """

    def __init__(self, message: str, hint: str, reasons: dict[str, str]) -> None:
        super().__init__(message, hint)
        self.reasons = reasons


async def find_builder(
    store: Path, name: str | None = None, options: Sequence[str] = (), guest: Builder | None = None
) -> Builder:
    """The builder to use.

    Args:
        store: The image store's directory; buildah keeps its layers below it.
        name: One of `BUILDERS`; the first that works when None.
        options: More arguments for every build of docker and podman, such as `--network host`.
        guest: What builds in a microVM, where one is to be had.

    Raises:
        NoBuilderError: none works, or the one asked for does not; with what to install.
        ImageError: there is no builder of that name.
    """

    async def find_guest() -> Builder:
        if guest is None:
            raise ImageError("no microVM builds here", GUEST_HINT)
        return guest

    finders: dict[str, Callable[[], Awaitable[Builder]]] = {
        "docker": lambda: find_docker(options),
        "podman": lambda: find_podman(options),
        "buildah": lambda: find_buildah(store / "buildah"),
        "container": find_apple,
        "smol": find_guest,
    }
    if name is not None and name not in finders:
        raise ImageError(f"there is no builder {name!r}", f"it is one of {', '.join(BUILDERS)}")
    reasons: dict[str, str] = {}
    hints: dict[str, str] = {}
    for candidate in BUILDERS if name is None else (name,):
        try:
            builder = await finders[candidate]()
            await builder.sweep()
            return builder
        except ImageError as error:
            reasons[candidate], hints[candidate] = str(error), error.hint
    if name is not None:
        raise NoBuilderError(reasons[name], hints[name], reasons)
    raise NoBuilderError(
        "no program here builds Dockerfiles: " + "; ".join(reasons.values()),
        "install one of docker with buildx, podman or buildah; on Debian: apt-get install buildah; "
        f"or, where microVMs boot, {GUEST_HINT}",
        reasons,
    )
