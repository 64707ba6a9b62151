"""The lines at the top: which task, where it runs, whether it is watched, and the verdict."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from workbench.session import Session, TaskView
from workbench.ui import words
from workbench.ui.visible import one_line


class TitleBar(Widget):
    """Two lines; three where the screen is narrow, so that the provider's label is always whole."""

    NARROW = 80

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Content, ...] = (Content(),) * 5

    def show(self, session: Session, task: TaskView) -> None:
        """Show a task as it stands."""
        parts = (
            _name(task),
            _provider(session, task),
            _watching(session, task),
            _verdict(task),
            _activity(task),
        )
        if parts != self._parts:
            self._parts = parts
            self.refresh()

    def render(self) -> Content:
        """The lines for the width there is."""
        width = self.size.width - 2
        name, provider, watching, verdict, activity = self._parts
        if self.size.width < self.NARROW:
            lines = [_spread(name, watching, width), _fit(provider, width), _fit(verdict, width)]
        else:
            where = Content.assemble(provider, "   ", watching)
            lines = [_spread(name, where, width), _spread(verdict, activity, width)]
        return Content("\n").join(line.pad_left(1) for line in lines)


def _spread(left: Content, right: Content, width: int) -> Content:
    """Left and right on one line; the left one gives way."""
    room = max(0, width - right.cell_length - 2)
    left = _fit(left, room)
    return _fit(Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right), width)


def _fit(content: Content, width: int) -> Content:
    return content.truncate(max(0, width), ellipsis=True)


def _name(task: TaskView) -> Content:
    name = one_line(task.name)
    directory = one_line(task.path.rstrip("/").rpartition("/")[2])
    parts: list[str | tuple[str, str]] = [(directory, "bold $accent")]
    if name and name != directory:
        parts.append((f" · {name}", words.PLAIN))
    if task.opened and task.opened.image:
        parts.append((f" · {one_line(task.opened.image)}", words.MUTED))
    return Content.assemble(*parts)


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
    parts: list[str | tuple[str, str]] = [(f"{mark.sign} {mark.word}", f"bold {mark.color}")]
    if verdict := task.verdict:
        if verdict.total:
            parts.append((f" {verdict.held}/{verdict.total}", f"bold {mark.color}"))
        parts.append(f"  {one_line(verdict.reason)}")
    return Content.assemble(*parts)


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
