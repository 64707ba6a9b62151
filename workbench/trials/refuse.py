"""What no environment over our own machines can be made of."""

from __future__ import annotations

from pathlib import Path

from harbor.environments.definition import COMPOSE_FILE_NAME, DOCKERFILE_NAME

from workbench.images.errors import ImageError


def refuse_unbuilt(directory: Path, image: str | None) -> None:
    """Refuse what has to be built or composed.

    Args:
        directory: Defines the environment.
        image: What it starts from; empty or None where nothing is named.

    Raises:
        ImageError: it is several containers, or has a Dockerfile and no image.
    """
    compose, dockerfile = directory / COMPOSE_FILE_NAME, directory / DOCKERFILE_NAME
    if compose.exists():
        raise ImageError(f"{compose}: several containers cannot be had here", "use --provider harbor:docker")
    if not image and dockerfile.exists():
        raise ImageError(
            f"{dockerfile} was not built",
            "build it (docker build, then docker save) and name the archive as docker_image in task.toml",
        )
