"""The steps of a multi-step task, each with its own reward."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from workbench.trials.outcome import StepOutcome
from workbench.ui import words
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.visible import one_line
from workbench.ui.widgets.text_view import TextView


class StepsTab(RunTab):
    """Steps."""

    def compose(self) -> ComposeResult:
        """The text."""
        yield TextView()

    def show(self, shown: Shown) -> None:
        """Show what each step came to."""
        self.query_one(TextView).put(Content("\n").join(_lines(shown)))


def _lines(shown: Shown) -> list[Content]:
    outcome = shown.run.outcome if shown.run else None
    told = {step.name: step for step in outcome.steps} if outcome else {}
    names = [*(shown.task.opened.steps if shown.task.opened else ()), *told]
    lines = []
    for number, name in enumerate(dict.fromkeys(names), 1):
        lines += _step(number, name, told.get(name), shown.ended)
    return lines


def _step(number: int, name: str, step: StepOutcome | None, ended: bool) -> list[Content]:
    title = Content.assemble((f"{number}  {one_line(name)}", "bold"))
    if step is None or step.reward is None:
        said = "no result: Harbor leaves it out of the mean" if ended else "not there yet"
        lines = [
            Content.assemble(
                title, "  ", (f"? {said}" if ended else said, words.WARN if ended else words.MUTED)
            )
        ]
    else:
        lines = [Content.assemble(title, f"  reward {words.reward(step.reward)}")]
    if step:
        if len(step.rewards) > 1:
            keys = "  ".join(f"{one_line(key)} {words.reward(value)}" for key, value in step.rewards.items())
            lines.append(Content.styled(f"   {keys}", words.MUTED))
        if step.exception or step.reason:
            said = words.raised(step.exception, step.reason) if step.exception else step.reason
            lines.append(Content.styled(f"   {one_line(said)}", words.BAD if step.exception else words.MUTED))
    return lines
