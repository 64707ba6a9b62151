"""The images that are built for the task: their steps, what each cost, and what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench import wishes
from workbench.images.build_events import BaseImage
from workbench.images.dockerfile import is_pinned
from workbench.images.image_view import ImageStep, ImageView
from workbench.session import Session, TaskView
from workbench.ui import words
from workbench.ui.commands import is_offered, key_shown
from workbench.ui.figures import ago
from workbench.ui.image_facts import base_words, facts, steps_words
from workbench.ui.images import (
    dockerfile,
    failing_step,
    failure_words,
    image_mark,
    most_urgent,
    running_step,
    step_mark,
)
from workbench.ui.lines import LiveLines
from workbench.ui.messages import Wished
from workbench.ui.overlay_commands import IMAGES
from workbench.ui.screen_commands import MAIN
from workbench.ui.screens.live import LiveScreen
from workbench.ui.visible import one_line
from workbench.ui.widgets.choice_list import ChoiceList
from workbench.ui.widgets.log_pane import LogPane

_WORD = 10
_DOCKERFILE = "Dockerfile"
_WITHOUT_REGISTRIES = "bubblewrap"
"""The provider that boots no image by its name in a registry."""
_BUILDING = "harbor:"
"""Providers that build by themselves."""


@dataclass(frozen=True)
class _Row:
    id: str
    image: ImageView
    step: ImageStep | None
    """None for the row of the image itself."""
    prompt: Content


class Steps(ChoiceList):
    """Images, each over the steps of its newest build."""


class ImagesScreen(LiveScreen[None]):
    """An overlay that shows builds live."""

    CSS_PATH = "images.tcss"
    OFFER = IMAGES
    BINDINGS = IMAGES.bindings()

    def __init__(self, session: Session, task: str, clock: Callable[[], float]) -> None:
        """
        Args:
            task: The task's absolute directory.
            clock: Tells Unix seconds.
        """
        super().__init__()
        self._session = session
        self._path = task
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._live = ""
        """The row that something happens in, or that failed."""
        self._source: object = None
        """Whose output is shown."""
        self._lines = LiveLines()
        self._seen = 0

    def compose(self) -> ComposeResult:
        """The steps over the output of the selected one."""
        with Vertical(id="images"):
            yield Static(id="images-none")
            yield Steps(id="image-steps")
            yield Static(id="image-why")
            yield LogPane("image-output")

    def on_mount(self) -> None:
        """Begin at what happens."""
        self.query_one("#images").border_title = "Images"
        does = {"close": "closes", "cancel": "cancels a build", "ask": "asks registries"}
        foot = " · ".join(
            f"{key_shown(self.app, IMAGES[f'images.{one}'])} {what}"
            for one, what in does.items()
            if is_offered(self.app, f"images.{one}")
        )
        self.query_one("#images").border_subtitle = Content(foot)
        self.refresh_views()
        self.set_focus(self.query_one(Steps))

    def action_cancel_build(self) -> None:
        """End the build that runs."""
        self.post_message(Wished(wishes.CancelBuild(task=self._path)))

    def action_ask_registries(self, fetch: bool = False) -> None:
        """Ask what the names of images stand for now, and fetch those that moved."""
        self.post_message(Wished(wishes.AskRegistries(task=self._path, fetch=fetch)))

    @property
    def _view(self) -> TaskView:
        return self._session.task(self._path)

    def refresh_views(self) -> None:
        """Show the builds as they stand."""
        rows = {row.id: row for row in self._make_rows()}
        steps = self.query_one(Steps)
        self.query_one("#images").set_class(not rows, "-none")
        self.query_one("#images-none", Static).update(self._none())
        highlighted = steps.highlighted_option
        selected = highlighted.id if highlighted and highlighted.id else ""
        follows = selected == self._live
        self._live = self._find_live()
        with self.prevent(OptionList.OptionHighlighted):
            if list(rows) != list(self._rows):
                steps.set_options(Option(row.prompt, id=row.id) for row in rows.values())
            else:
                for row in rows.values():
                    if row.prompt != self._rows[row.id].prompt:
                        steps.rewrite(row.id, row.prompt)
            wanted = self._live if follows or selected not in rows else selected
            if wanted in rows:
                steps.highlighted = list(rows).index(wanted)
        self._rows = rows
        self._show_output()

    def _make_rows(self) -> Iterator[_Row]:
        now = self._clock()
        for image in self._view.images.values():
            mark = image_mark(image, now)
            yield _Row(image.directory, image, None, _image_line(image, mark, now))
            for number, step in image.steps.items():
                prompt = _step_line(step, number, step_mark(image, step, now))
                yield _Row(f"{image.directory}#{number}", image, step, prompt)

    def _find_live(self) -> str:
        image = most_urgent(self._view.images.values())
        if image is None:
            return ""
        step = failing_step(image) or running_step(image)
        return next(
            (f"{image.directory}#{number}" for number, other in image.steps.items() if other is step),
            image.directory,
        )

    def _none(self) -> Content:
        opened = self._view.opened
        if opened is None or not opened.image:
            return Content.styled("The task has not been read yet.", words.MUTED)
        if self._view.is_elsewhere:
            return Content.styled("Nothing is built here: these trials were made elsewhere.", words.MUTED)
        image = Content.styled(one_line(opened.image), "bold")
        provider = self._session.provider
        if PurePosixPath(opened.image).name == _DOCKERFILE:
            elsewhere = provider is not None and provider.name.startswith(_BUILDING)
            return Content.assemble(
                image, " is built by Harbor." if elsewhere else " has not been built yet."
            )
        registry: tuple[str | Content, ...] = ()
        boots: tuple[str | Content, ...] = ("its machines boot ", image)
        if opened.in_registry:
            base = BaseImage(opened.image, pinned=is_pinned(opened.image))
            registry = "\n\n", base_words(self.app, base, self._view.registries)
            if provider and provider.name == _WITHOUT_REGISTRIES:
                boots = ("its machines stand on this host's own tools, not on ", image)
        return Content.assemble(
            "Nothing is built for this task: ",
            *boots,
            ".",
            *registry,
            "\n\nWith a Dockerfile in environment/ and no docker_image in task.toml, "
            "the image is built here, and again whenever you save below environment/.",
        )

    @on(OptionList.OptionHighlighted)
    def _selected(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_output()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.set_focus(self.query_one(LogPane).log_view)

    def _show_output(self) -> None:
        option = self.query_one(Steps).highlighted_option
        row = self._rows.get(option.id or "") if option else None
        pane = self.query_one(LogPane)
        resume = "" if self._view.watching else key_shown(self.app, MAIN["watch.toggle"])
        why = _why(row.image, resume) if row else Content()
        self.query_one("#image-why", Static).update(why)
        if row is None or row.step is None:
            self._source = None
            said = facts(self.app, row.image, self._view.registries, self._clock()) if row else Content()
            pane.show(None, silence=said)
            return
        if row.step is not self._source:
            self._source, self._lines, self._seen = row.step, LiveLines(), 0
        step, before = row.step, self._seen
        new = min(step.output_seen - self._seen, len(step.output))
        for text in list(islice(reversed(step.output), new))[::-1]:
            self._lines.append(text)
        self._seen = step.output_seen
        lasting = step.done is None and row.image.building
        silence = "It has printed nothing so far." if lasting else "It printed nothing."
        if step.recalled:
            silence = "It was built earlier; what it printed then is not kept."
        pane.show(self._lines, silence=Content.styled(silence, words.MUTED), follow=True)
        if self._seen != before:
            pane.log_view.grown()


def _image_line(image: ImageView, mark: words.Mark, now: float) -> Content:
    newest = image.newest
    took = f" in {words.seconds(image.ready.seconds)}" if image.ready and image.ready.seconds else ""
    by = f" by {one_line(newest.builder)}" if newest else ""
    same = ", with the same content as before" if image.ready and image.ready.same else ""
    steps = f"; {steps_words(image.ready.steps)}" if image.ready and image.ready.steps else ""
    said = "" if image.building or image.failed else f"{took}{by}{same}{steps}"
    if image.stale and image.built_at is not None:
        said = f", built {ago(now - image.built_at)}"
    return Content.assemble(
        (f"{mark.sign} ", mark.color),
        (dockerfile(image), "bold"),
        (f"  {mark.word}", mark.color),
        (said or by, words.MUTED),
    )


def _step_line(step: ImageStep, number: int, mark: words.Mark) -> Content:
    line = f":{step.started.line}" if step.started.line else ""
    return Content.assemble(
        (f"  {mark.sign} {mark.word:>{_WORD}}", mark.color),
        (f"  {number:>2} {line:<4} ", words.MUTED),
        one_line(step.started.text),
    )


def _why(image: ImageView, resume: str) -> Content:
    """Why the newest build gave none, why it is stale, or why it was made.

    Args:
        resume: The key that watches again; empty while files are watched.
    """
    if image.failed:
        return Content.assemble(("✗ ", words.BAD), one_line(failure_words(image)))
    if image.stale and not image.building:
        then = (
            f"it is built when you run cases, or watch again: {resume} on the task"
            if resume
            else "the next save builds it"
        )
        return Content.styled(f"! stale: {one_line(image.stale)}; {then}", words.WARN)
    if image.newest and image.newest.why:
        meanwhile = "; the image before serves meanwhile" if image.building and image.ready else ""
        return Content.styled(f"built because {one_line(image.newest.why)}{meanwhile}", words.MUTED)
    return Content()
