"""What is known of an image: when and how it was built, from what, and whether that still is what it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from textual.app import App
from textual.content import Content

from workbench.images.build_events import BaseImage, RegistryAnswer, StepRecord
from workbench.images.image_view import ImageView
from workbench.ui import words
from workbench.ui.commands import is_offered, key_shown
from workbench.ui.figures import ago, count
from workbench.ui.overlay_commands import IMAGES
from workbench.ui.visible import one_line

_NAME = 12
_DIGEST = 12
"""Characters of a digest that are enough to tell it from others."""

type Answers = Mapping[str, RegistryAnswer]


def facts(app: App[Any], image: ImageView, answers: Answers, now: float) -> Content:
    """Everything about the image that serves, a line each.

    Args:
        answers: By an image's name: what its registry said.
        now: Unix seconds.
    """
    ready = image.ready
    if ready is None:
        return Content.styled("No image has been built from this directory yet.", words.MUTED)
    lines: list[tuple[str, Content]] = []
    if image.built_at is not None:
        took = f" in {words.seconds(ready.took)}" if ready.took else ""
        by = f" by {one_line(ready.builder)}" if ready.builder else ""
        lines.append(("built", Content(f"{ago(now - image.built_at)}{took}{by}")))
    if ready.steps:
        lines.append(("steps", Content(steps_words(ready.steps))))
    lines += [("from", base_words(app, base, answers)) for base in ready.bases]
    lines += [("note", Content.styled(one_line(warning), words.WARN)) for warning in ready.warnings]
    lines += [
        (name, Content(one_line(value)))
        for name, value in (("built from", ready.key), ("holds", ready.result), ("kept at", ready.archive))
    ]
    return Content("\n").join(
        Content.assemble((f"{name:<{_NAME}}", words.MUTED), text) for name, text in lines
    )


def steps_words(steps: Iterable[StepRecord]) -> str:
    """How many steps were reused and what the others cost. FROM makes no layer, so it does not count."""
    own = [step for step in steps if not step.text.upper().startswith("FROM ")]
    made = [step for step in own if not step.cached]
    said = f"{len(own) - len(made)} of {count(len(own), 'step')} reused"
    return f"{said}, the rest took {words.seconds(sum(step.seconds for step in made))}" if made else said


def base_words(app: App[Any], base: BaseImage, answers: Answers) -> Content:
    """An image of a registry: whether it is pinned, what is in use, and whether its name has moved."""
    used = f", in use is {_short(base.digest)}" if base.digest and not base.pinned else ""
    pinned = "pinned" if base.pinned else "not pinned"
    return Content.assemble(
        (one_line(base.name), "bold"), f"  {pinned}{used}", *_moved(app, base, answers.get(base.name))
    )


def _moved(app: App[Any], base: BaseImage, answer: RegistryAnswer | None) -> Iterator[tuple[str, str]]:
    if base.pinned:
        return
    if answer is None:
        if is_offered(app, "images.ask"):
            yield f"; {key_shown(app, IMAGES['images.ask'])} asks its registry", words.MUTED
    elif answer.error:
        yield f"; {one_line(answer.error)}", words.WARN
    elif answer.moved and answer.used == base.digest:
        fetch = f": {key_shown(app, IMAGES['images.fetch'])} fetches that"
        how = fetch if is_offered(app, "images.fetch") else ""
        yield f"; its name has moved to {_short(answer.now)}{how}", words.WARN
    elif base.digest:
        yield "; its name has not moved", words.OK
    else:
        yield f"; its name stands for {_short(answer.now)} now", words.OK


def _short(digest: str) -> str:
    return one_line(digest.removeprefix("sha256:"))[:_DIGEST]
