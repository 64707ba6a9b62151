"""What a user must know before anything else: the engine is gone, the task cannot be read, no image came of
a build, or a whole trial contradicts a re-verification."""

from __future__ import annotations

from typing import cast

from textual.content import Content
from textual.widgets import Static

from workbench.session import Session, TaskView
from workbench.ui import words
from workbench.ui.base_app import BaseApp
from workbench.ui.clicks import clickable
from workbench.ui.commands import key_shown
from workbench.ui.drawing import put
from workbench.ui.images import failure_words
from workbench.ui.origin import DIFFERED, differed_words
from workbench.ui.screen_commands import APP, MAIN
from workbench.ui.visible import visible


class Banner(Static):
    """Shown only while there is something to say."""

    def show(self, session: Session, task: TaskView, lost: str) -> None:
        """Say what keeps the workbench from working.

        Args:
            lost: Why no engine could be started, empty when one was.
        """
        content = _content(cast(BaseApp, self.app), session, task, lost)
        self.set_class(content is not None, "-shown")
        put(self, content or Content())


def _content(app: BaseApp, session: Session, task: TaskView, lost: str) -> Content | None:
    again = Content.assemble(
        "   ", (key_shown(app, APP["engine.restart"]), "bold $accent"), f" {app.RESTART_DOES}"
    )
    if lost:
        return Content.assemble(_said("No engine", lost), again)
    if failed := session.failed:
        return Content.assemble(_said("The engine cannot go on", failed.message, failed.hint), again)
    if session.stopped:
        if app.ENDED_SAYS:
            return Content.assemble((f"■ {app.ENDED_SAYS}", "bold"), again)
        return Content.assemble(_said("The engine has ended", "what you see is how things stood then"), again)
    if task.unreadable:
        return _said("The task cannot be run", task.unreadable, "it is read again when you save")
    if unbuilt := [image for image in task.images.values() if image.failed and not image.building]:
        key = Content.assemble("   ", (key_shown(app, MAIN["images"]), "bold $accent"), " shows the build")
        shows = clickable(key, "screen.images")
        return Content.assemble(_said("The image was not built", failure_words(unbuilt[0])), shows)
    if task.differed:
        event = next(iter(task.differed.values()))
        more = f" (and {len(task.differed) - 1} more)" if len(task.differed) > 1 else ""
        return Content.assemble(
            (f"{DIFFERED.sign} {visible(event.case)}{more}: ", f"bold {DIFFERED.color}"),
            visible(differed_words(event)),
        )
    return None


def _said(title: str, what: str, hint: str = "") -> Content:
    return Content.assemble(
        (f"✗ {title}: ", f"bold {words.BAD}"),
        visible(what),
        (f"; {visible(hint)}" if hint else "", words.MUTED),
    )
