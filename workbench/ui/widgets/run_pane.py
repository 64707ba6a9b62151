"""One run of a case: how it stands, and what it printed."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane

from workbench.session import CaseView, Run
from workbench.ui import words
from workbench.ui.run_output import RunOutput
from workbench.ui.visible import one_line, visible
from workbench.ui.widgets.log_view import LogView


class RunPane(Vertical):
    """The selected run."""

    def __init__(self) -> None:
        super().__init__()
        self._output: RunOutput | None = None

    def compose(self) -> ComposeResult:
        """The headline over the tabs."""
        yield Static(id="headline")
        with TabbedContent(id="run-tabs"), TabPane("verifier", id="tab-verifier"):
            yield Static(id="output-hint", classes="hint")
            yield LogView("output")

    def on_mount(self) -> None:
        """Name the pane."""
        self.border_title = "3 Run"

    def show(self, view: CaseView | None, run: Run | None, now: float) -> None:
        """Show a run as it stands.

        Args:
            now: Unix seconds, for one that lasts.
        """
        self.border_title = _title(view, run)
        self.query_one("#headline", Static).update(_headline(view, run, now))
        log = self.query_one("#output", LogView)
        if run is None:
            self._output = None
        elif self._output is None or self._output.run is not run:
            self._output = RunOutput(run, "verifier")
            log.follow = run.state != "ended"
            log.show(self._output.lines)
        if self._output:
            before = len(self._output.lines)
            if not self._output.take():
                self.call_later(self.show, view, run, now)
            if len(self._output.lines) != before or (run and run.state == "running"):
                log.grown()
        empty = self._output is None or not len(self._output.lines)
        self.set_class(empty, "-silent")
        self.query_one("#output-hint", Static).update(_silence(run) if empty else "")


def _title(view: CaseView | None, run: Run | None) -> str:
    if view is None or run is None:
        return "3 Run"
    name = one_line(view.case.name).replace("[", "\\[")
    if len(view.runs) > 1:
        return f"3 Run · {name} · {view.runs.index(run) + 1} of {len(view.runs)}"
    return f"3 Run · {name}"


def _headline(view: CaseView | None, run: Run | None, now: float) -> Content:
    if view is None:
        return Content.styled("no case is selected", words.MUTED)
    lines = [_standing(view, run, now)]
    if run and run.phases:
        lines.append(_phases(run, now))
    if view.case.why:
        lines.append(Content.styled(f"why it is wrong: {one_line(view.case.why)}", words.MUTED))
    if run and run.outcome:
        lines += [Content.styled(visible(detail), words.WARN) for detail in run.outcome.detail]
    return Content("\n").join(lines)


def _standing(view: CaseView, run: Run | None, now: float) -> Content:
    must = Content.styled(f"  {words.expectation(view)}", words.MUTED)
    if run is None:
        return Content.assemble(("not run yet", words.MUTED), must)
    if run.outcome:
        mark = words.outcome_mark(run.outcome)
        reward = f"  reward {words.reward(run.outcome.reward)}" if run.outcome.reward is not None else ""
        return Content.assemble(
            (f"{mark.sign} {mark.word}", f"bold {mark.color}".strip()),
            reward,
            must,
            f"  {words.reason(run.outcome)}",
        )
    mark = words.case_mark(view, now)
    why = f"  {one_line(run.why)}" if run.why else ""
    return Content.assemble((f"{mark.sign} {mark.word}", f"bold {mark.color}"), must, (why, words.MUTED))


def _phases(run: Run, now: float) -> Content:
    parts: list[str | tuple[str, str]] = []
    for phase in run.phases:
        mark = words.PHASES[phase.name]
        took = words.seconds(max(0.0, (phase.ended_at or now) - phase.started_at))
        step = f" {one_line(phase.step)}" if phase.step else ""
        parts += [(f"{mark.sign} {phase.name}{step} ", mark.color), f"{took}  "]
    return Content.assemble(*parts, (words.seconds(words.elapsed(run, now)), "bold"))


def _silence(run: Run | None) -> Content:
    """What stands where output will be."""
    if run is None:
        return Content.from_markup(
            "Nothing to show yet.\n\n"
            "Press [bold $accent]r[/] to run this case, [bold $accent]a[/] to run all."
        )
    if run.state == "queued":
        return Content("It waits for its turn.")
    if run.state == "ended":
        return Content("The verifier printed nothing.")
    if run.phase and run.phase.name == "verifier":
        return Content("The verifier has printed nothing so far.")
    phase = run.phase.name if run.phase else "start"
    return Content(f"The verifier has not begun; this is the {phase} phase.")
