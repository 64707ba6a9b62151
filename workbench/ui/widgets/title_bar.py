"""The lines at the top: which task, on which image, where it runs, what it costs, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget

from workbench.session import Session, TaskView
from workbench.ui import words
from workbench.ui.clicks import clickable
from workbench.ui.figures import count, memory
from workbench.ui.images import image_mark, most_urgent
from workbench.ui.origin import proof_origin
from workbench.ui.visible import one_line


class TitleBar(Widget):
    """Two lines; three where the screen is narrow, so that the provider's label is always whole."""

    NARROW = 80

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Content, ...] = (Content(),) * 7

    def show(self, session: Session, task: TaskView, now: float) -> None:
        """Show a task as it stands.

        Args:
            now: Unix seconds, for what lasts and for ages.
        """
        parts = (
            _name(task, now),
            _provider(session, task),
            _watching(session, task),
            _verdict(task),
            _origin(task, now),
            _activity(task),
            _costs(session),
        )
        if parts != self._parts:
            self._parts = parts
            self.refresh()

    def render(self) -> Content:
        """The lines for the width there is."""
        width = self.size.width - 2
        name, provider, watching, verdict, origin, activity, costs = self._parts
        if self.size.width < self.NARROW:
            proof = _most([verdict, origin], width, "  ")
            lines = [_spread(name, watching, width), _fit(provider, width), _fit(proof, width)]
        else:
            where = Content.assemble(provider, "   ", watching)
            proof = _most([verdict, origin], width - activity.cell_length - 2, "  ")
            doing = _most([activity, costs], width - proof.cell_length - 2, " · ")
            lines = [_spread(name, where, width), _spread(proof, doing, width)]
        return Content("\n").join(line.pad_left(1) for line in lines)


def _most(parts: Iterable[Content], width: int, between: str) -> Content:
    """As many parts as there is room for, the first of them in any case."""
    first, *more = [part for part in parts if part.cell_length] or [Content()]
    for part in more:
        longer = Content.assemble(first, (between, words.MUTED), part)
        first = longer if longer.cell_length <= width else first
    return first


def _spread(left: Content, right: Content, width: int) -> Content:
    """Left and right on one line; the left one gives way."""
    room = max(0, width - right.cell_length - 2)
    left = _fit(left, room)
    return _fit(Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right), width)


def _fit(content: Content, width: int) -> Content:
    return content.truncate(max(0, width), ellipsis=True)


def _name(task: TaskView, now: float) -> Content:
    """What is urgent of the image comes before what may be cut off."""
    name = one_line(task.name)
    directory = one_line(task.path.rstrip("/").rpartition("/")[2])
    parts: list[str | tuple[str, str] | Content] = [(directory, "bold $accent")]
    image = most_urgent(task.images.values())
    mark = image_mark(image, now) if image else None
    urgent = image and (image.building or image.failed or image.stale)
    if image and mark and urgent:
        why = f": {one_line(image.stale)}" if mark.word == "stale" else ""
        parts.append(_builds(f" · {mark.sign} {mark.word}{why}", mark.color))
    if name and name != directory:
        parts.append((f" · {name}", words.PLAIN))
    if task.opened and task.opened.image:
        parts.append((f" · {one_line(task.opened.image)}", words.MUTED))
    if mark and not urgent:
        parts.append(_builds(f" · {mark.word}", words.MUTED))
    return Content.assemble(*parts)


def _builds(text: str, color: str) -> Content:
    return clickable(Content.styled(text, color), "screen.images")


def _provider(session: Session, task: TaskView) -> Content:
    if session.provider is None:
        return Content.styled("no provider yet", words.MUTED)
    return Content(one_line(session.provider.label))


def _watching(session: Session, task: TaskView) -> Content:
    if session.engine is None or session.stopped:
        return Content.styled("○ no engine", words.MUTED)
    if task.watching:
        return Content.styled("● watching", words.OK)
    return Content.styled("○ not watching", words.WARN)


def _verdict(task: TaskView) -> Content:
    mark = words.verdict_mark(task.verdict)
    expected = [view for view in task.cases.values() if view.case.expect]
    open_ = sum(bool(view.stale) or view.decided is None for view in expected)
    if open_ and not task.settled and (task.verdict is None or task.verdict.kind in ("holds", "unproven")):
        was = f"  was {mark.word}" if task.verdict else ""
        return Content.assemble(
            (f"◌ VERIFYING {len(expected) - open_}/{len(expected)}", f"bold {words.BUSY}"), (was, words.MUTED)
        )
    parts: list[str | tuple[str, str]] = [(f"{mark.sign} {mark.word}", f"bold {mark.color}")]
    if verdict := task.verdict:
        if verdict.total:
            parts.append((f" {verdict.held}/{verdict.total}", f"bold {mark.color}"))
        parts.append(f"  {one_line(verdict.reason)}")
    return Content.assemble(*parts)


def _origin(task: TaskView, now: float) -> Content:
    said = proof_origin(task, now) if task.verdict else ""
    return Content.styled(said, words.MUTED)


def _costs(session: Session) -> Content:
    """What is alive of machines and states, with their memory."""
    costs = None if session.stopped else session.costs
    said = (
        [
            f"{count(len(alive), what)} {memory(sum(one.memory_bytes for one in alive))}"
            for alive, what in ((costs.machines, "machine"), (costs.states, "state"))
            if alive
        ]
        if costs
        else []
    )
    return clickable(Content.styled(", ".join(said), words.MUTED), "screen.costs")


def _activity(task: TaskView) -> Content:
    runs = [view.current for view in task.cases.values() if view.current]
    running = sum(run.state == "running" for run in runs)
    waiting = sum(run.state == "queued" for run in runs)
    words_ = [f"{count} {word}" for count, word in ((running, "running"), (waiting, "waiting")) if count]
    if words_:
        return Content.styled(" · ".join(words_), words.BUSY)
    if task.changed and task.changed.why:
        return Content.styled(one_line(task.changed.why), words.MUTED)
    return Content.styled("nothing runs" if task.settled else "", words.MUTED)
