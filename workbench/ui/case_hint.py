"""What is said below the list of cases, or in its place."""

from __future__ import annotations

from textual.content import Content

from workbench.session import Session, TaskView

_NO_NEGATIVES = Content.from_markup(
    "No wrong solution is tried yet. Write one: [bold]negatives/NAME/solve.sh[/], or "
    "[bold]negatives/NAME.sh[/]. A harness that cannot fail one is broken."
)


def case_hint(session: Session, task: TaskView, lost: str) -> Content:
    """What goes on before the cases are known, or what they lack; empty where all is well.

    Args:
        lost: Why no engine could be started, empty when one was.
    """
    if task.opened is None:
        return Content(_opening_words(session, task, lost))
    if not task.cases:
        return Content("This task has no cases yet.")
    kinds = {view.case.kind for view in task.cases.values()}
    if kinds <= {"oracle", "nop"} and not task.is_elsewhere:
        return _NO_NEGATIVES
    return Content()


def _opening_words(session: Session, task: TaskView, lost: str) -> str:
    if lost or session.stopped or session.failed or task.unreadable:
        return "No case is known."
    if session.engine is None:
        return "Starting the engine ..."
    # The first time, a microVM is booted for this, or tried to.
    return "Reading the task ..." if session.provider else "Finding out what makes machines here ..."
