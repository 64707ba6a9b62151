"""How an image that is built for the task stands, in words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from workbench.images.image_view import ImageStep, ImageView
from workbench.ui.figures import ago
from workbench.ui.words import BAD, BUSY, MUTED, OK, WARN, Mark, seconds, spinner


def image_mark(image: ImageView, now: float) -> Mark:
    """How an image stands."""
    if image.building:
        return Mark(spinner(now), f"building {place(image)}".rstrip(), BUSY)
    if image.failed:
        return Mark("✗", "build failed", BAD)
    if image.stale:
        return Mark("!", "stale", WARN)
    if image.built_at is not None:
        return Mark("✓", f"built {ago(now - image.built_at)}", OK)
    return Mark(" ", "not built", MUTED)


def most_urgent(images: Iterable[ImageView]) -> ImageView | None:
    """Of several images the one to speak of: what is being built, failed, is stale, or is newest."""
    return max(
        images,
        key=lambda image: (image.building, image.failed is not None, image.stale, image.built_at or 0.0),
        default=None,
    )


def place(image: ImageView) -> str:
    """How far the newest build is: `3/8`; without the second where that is unknown, empty at its start."""
    if not image.steps:
        return ""
    lines = image.newest.lines if image.newest else ()
    reached = max((step.started.line or 0 for step in image.steps.values()), default=0)
    if lines and reached:
        return f"{bisect_right(lines, reached)}/{len(lines)}"
    return str(len(image.steps))


def running_step(image: ImageView) -> ImageStep | None:
    """The newest step that is not over, while the image is being built."""
    lasting = [step for step in image.steps.values() if step.done is None]
    return lasting[-1] if image.building and lasting else None


def failing_step(image: ImageView) -> ImageStep | None:
    """The step that the newest build failed of."""
    if image.failed is None:
        return None
    steps = list(image.steps.values())
    at_line = [step for step in steps if step.started.line == image.failed.line and image.failed.line]
    found = at_line or [step for step in steps if step.done is None]
    return found[-1] if found else None


def step_mark(image: ImageView, step: ImageStep, now: float) -> Mark:
    """How a step stands: its word is what it took, or that its layer was used again."""
    if step is failing_step(image):
        return Mark("✗", "failed", BAD)
    if step.done is None:
        if image.building:
            return Mark(spinner(now), seconds(max(0.0, now - step.started_at)), BUSY)
        return Mark("–", "ended", MUTED)
    if step.done.cached:
        return Mark("=", "cached", MUTED)
    return Mark("✓", seconds(step.done.seconds), OK)


def dockerfile(image: ImageView, line: int | None = None) -> str:
    """Where its Dockerfile is, relative to the task, with a line."""
    return f"{image.directory}/Dockerfile{f':{line}' if line else ''}"


def failure_words(image: ImageView) -> str:
    """Why the newest build gave no image, and what serves meanwhile."""
    failed = image.failed
    if failed is None:
        return ""
    repeated = failed.instruction in failed.message
    what = "" if repeated else f"{failed.instruction}: "
    hint = f"; {failed.hint}" if failed.hint else ""
    serves = "; the image before still serves" if image.ready else ""
    return f"{dockerfile(image, failed.line)}: {what}{failed.message}{hint}{serves}"
