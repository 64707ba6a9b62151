"""One run of a case: how it stands, and tabs with all there is to know of it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TabbedContent, TabPane, Tabs

from workbench.session import CaseView, Run, TaskView
from workbench.ui import words
from workbench.ui.run_output import RunOutput
from workbench.ui.visible import one_line, visible
from workbench.ui.widgets.log_pane import LogPane
from workbench.ui.widgets.log_view import LogView
from workbench.ui.widgets.problem_list import ProblemList
from workbench.ui.widgets.test_list import TestList
from workbench.ui.widgets.test_list import label as tests_label
from workbench.ui.widgets.timing_view import TimingView

_DETAIL_LINES = 6


class RunPane(Vertical):
    """The selected run."""

    def __init__(self) -> None:
        super().__init__()
        self._outputs: dict[str, RunOutput] = {}
        self._run: Run | None = None

    def compose(self) -> ComposeResult:
        """The headline over the tabs."""
        yield Static(id="headline")
        with TabbedContent(id="run-tabs"):
            with TabPane("verifier", id="verifier"):
                yield LogPane("verifier-output")
            with TabPane("agent", id="agent"):
                yield LogPane("agent-output")
            with TabPane("tests", id="tests"):
                yield TestList()
            with TabPane("timing", id="timing"):
                yield TimingView()
            with TabPane("problems", id="problems-tab"):
                yield ProblemList()

    def on_mount(self) -> None:
        """Name the pane."""
        self.border_title = "3 Run"

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self.query_one(TabbedContent).active

    def show_tab(self, name: str) -> None:
        """Show a tab, and go to what is in it."""
        self.query_one(TabbedContent).active = name
        self.focus_content()

    def step_tab(self, by: int) -> None:
        """Show the tab so many to the right, going round."""
        tabs = self.query_one(Tabs)
        (tabs.action_next_tab if by > 0 else tabs.action_previous_tab)()

    def focus_content(self) -> None:
        """Go to what the shown tab holds."""
        pane = self.query_one(TabbedContent).active_pane
        if pane is None:
            return
        target = next((w for w in pane.walk_children(Widget) if w.focusable and w.display), None)
        (target or self.query_one(Tabs)).focus()

    def show(self, task: TaskView, case: CaseView | None, run: Run | None, now: float) -> None:
        """Show a run as it stands.

        Args:
            now: Unix seconds, for one that lasts.
        """
        if run is not self._run:
            self._run = run
            self._outputs = {}
        self.border_title = _title(case, run)
        self.query_one("#headline", Static).update(_headline(case, run, now))
        tabs = self.query_one(TabbedContent)
        tabs.get_tab("tests").label = Content(tests_label(run))
        tabs.get_tab("problems-tab").label = Content(f"problems {len(task.problems)}")
        match tabs.active:
            case "verifier" | "agent" as source:
                self._show_output(source, run, now)
            case "tests":
                self.query_one(TestList).show(run)
            case "timing":
                self.query_one(TimingView).show(task, case, run, now)
            case "problems-tab":
                self.query_one(ProblemList).show(task.problems)

    def _show_output(self, source: str, run: Run | None, now: float) -> None:
        pane = self.query_one(f"#{source}", TabPane).query_one(LogPane)
        if run is None:
            pane.show(None, silence=_silence(source, run))
            return
        output = self._outputs.get(source)
        if output is None:
            output = self._outputs[source] = RunOutput(run, "agent" if source == "agent" else "verifier")
        before = output.seen
        if not output.take():
            self.call_later(self._show_output, source, run, now)
        pane.show(output.lines, silence=_silence(source, run), follow=run.state != "ended")
        if output.seen != before:
            pane.log_view.grown()

    def on_log_view_state_changed(self) -> None:
        """Say at the pane's foot how the output is looked at."""
        self._show_state()

    def on_tabbed_content_tab_activated(self) -> None:
        """Say at the pane's foot how the tab's output is looked at."""
        self._show_state()

    def _show_state(self) -> None:
        pane = self.query_one(TabbedContent).active_pane
        view = next(iter(pane.query(LogView)), None) if pane else None
        self.border_subtitle = view.state if view and view.lines else ""


def _title(case: CaseView | None, run: Run | None) -> str:
    if case is None:
        return "3 Run"
    title = f"3 Run · {one_line(case.case.name)}"
    if run and len(case.runs) > 1:
        title += f" · {case.runs.index(run) + 1} of {len(case.runs)}"
    return title.replace("[", "\\[")


def _headline(case: CaseView | None, run: Run | None, now: float) -> Content:
    if case is None:
        return Content.styled("no case is selected", words.MUTED)
    lines = [_standing(case, run, now)]
    if run and run.phases:
        lines.append(_phases(run, now))
    if case.case.why:
        lines.append(Content.styled(f"what is wrong with it: {one_line(case.case.why)}", words.MUTED))
    if case.stale:
        lines.append(Content.styled(f"stale: {one_line(case.stale)}", words.WARN))
    if run and run.outcome:
        lines += [Content.styled(visible(note), words.WARN) for note in run.outcome.notes]
        lines += [Content(visible(line)) for line in run.outcome.detail[-_DETAIL_LINES:]]
    return Content("\n").join(lines)


def _standing(case: CaseView, run: Run | None, now: float) -> Content:
    must = (f"  {words.expectation(case)}", words.MUTED)
    if run is None:
        return Content.assemble(("not run", words.MUTED), must)
    if run.outcome:
        mark = words.outcome_mark(run.outcome)
        rewards = "" if "reward" in run.outcome.reason else f"  {words.rewards(run.outcome)}"
        return Content.assemble(
            (f"{mark.sign} {mark.word}", f"bold {mark.color}".strip()),
            must,
            rewards,
            f"  {words.reason(run.outcome)}",
            ("" if run.outcome.whole else "  verified again, not a whole trial", words.MUTED),
        )
    mark = words.run_mark(run, now)
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


def _silence(source: str, run: Run | None) -> Content:
    """What stands where output will be."""
    if run is None:
        return Content.from_markup(
            "Nothing to show yet.\n\n"
            "Press [bold $accent]r[/] to run this case, [bold $accent]a[/] to run all."
        )
    if run.state == "queued":
        return Content("It waits for its turn.")
    if run.state == "ended":
        return Content(f"The {source} printed nothing.")
    if run.phase and run.phase.name == source:
        return Content(f"The {source} has printed nothing so far.")
    phase = run.phase.name if run.phase else "starting"
    return Content(f"The {source} prints nothing now: this is the {phase} phase.")
