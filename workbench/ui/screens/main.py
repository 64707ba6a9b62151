"""The main screen: a task's cases and problems, and the selected run."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from workbench import wishes
from workbench.session import CaseView, Run, Session, TaskView
from workbench.ui.commands import MAIN
from workbench.ui.messages import Wished
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.remembered import TaskLook
from workbench.ui.screens.live import LiveScreen
from workbench.ui.shells.task_shells import TaskShells
from workbench.ui.tabs.tab import Shown
from workbench.ui.widgets.banner import Banner
from workbench.ui.widgets.case_list import CaseList, Cases
from workbench.ui.widgets.key_bar import KeyBar
from workbench.ui.widgets.problem_list import ProblemList
from workbench.ui.widgets.title_bar import TitleBar

_LOOK_SECONDS = 0.3
"""How long the user stays at a case before the engine hears of it."""


class MainScreen(Screen[None]):
    """One task."""

    CSS_PATH = ["main.tcss", "shells.tcss"]  # noqa: RUF012
    OFFER = MAIN
    BINDINGS = MAIN.bindings()
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (80, "-narrow"),
        (120, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-low"),
        (24, "-high"),
    ]

    def __init__(
        self,
        task: str,
        session: Session,
        clock: Callable[[], float],
        *,
        look: TaskLook,
        shell: bool = False,
    ) -> None:
        """
        Args:
            clock: Tells Unix seconds.
            look: How the task was looked at last time.
            shell: Whether to open a shell on the task's image at once.
        """
        super().__init__()
        self._path = task
        self._session = session
        self._clock = clock
        self._shell = shell
        self._lost = ""
        self._looking: Timer | None = None
        self._run = ""
        """The run that was chosen to be looked at; empty for the newest."""
        self._before = look
        self._to_select = look.case
        """The case to go to as soon as it is there."""
        self._marked = look.marked
        """The run that was marked, to be compared with another."""

    def compose(self) -> ComposeResult:
        """Title, banner, panes and keys."""
        yield TitleBar()
        yield Banner()
        with Container(id="body"):
            with Vertical(id="left"):
                yield CaseList()
                yield ProblemList()
            yield RunPane(self._before.tab)
        yield TaskShells(self._path, first=self._shell)
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with what is known, at the cases."""
        self.refresh_views()
        self.query_one(Cases).focus()

    @property
    def view(self) -> TaskView:
        """The task."""
        return self._session.task(self._path)

    @property
    def case(self) -> CaseView | None:
        """The selected case."""
        return self.view.cases.get(self.query_one(CaseList).selected or "")

    @property
    def run_shown(self) -> Run | None:
        """The run being looked at."""
        case = self.case
        chosen = next((run for run in case.runs if run.id == self._run), None) if case else None
        return chosen or (case.current if case else None)

    def refresh_views(self, engine_lost: str | None = None) -> None:
        """Show what the session says now.

        Args:
            engine_lost: Why no engine could be started, empty when one was; None when that is as before.
        """
        self._lost = self._lost if engine_lost is None else engine_lost
        session, view, now = self._session, self.view, self._clock()
        self.query_one(TitleBar).show(session, view, now)
        self.query_one(Banner).show(session, view, self._lost)
        self.query_one(CaseList).show(view, self._hint(), now, self._marked)
        if self._to_select in view.cases:
            self.query_one(CaseList).select(self._to_select)
            self._to_select = ""
        self.query_one("#left ProblemList", ProblemList).show(view.problems)
        self.query_one(RunPane).show(Shown(view, self.case, self.run_shown, now))
        self.query_one(TaskShells).show(session, view)
        if isinstance(above := self.app.screen, LiveScreen) and above.is_mounted:
            above.refresh_views()

    @property
    def look(self) -> TaskLook:
        """How the task is looked at."""
        case = self.query_one(CaseList).selected or self._to_select
        return TaskLook(case=case, tab=self.query_one(RunPane).tab, marked=self._marked)

    def _hint(self) -> Content:
        if self._session.engine is None:
            return Content("Starting the engine ...")
        if self.view.opened is None:
            return Content("Reading the task ...")
        return Content("This task has no cases yet.")

    def on_case_list_selected(self) -> None:
        """Show the newest run of another case, and let its runs go first once the user stays there."""
        self._run = ""
        if self._looking:
            self._looking.stop()
        self._looking = self.set_timer(_LOOK_SECONDS, self._look)
        self._show_run()
        self.refresh_bindings()

    def _look(self) -> None:
        if case := self.case:
            self._wish(wishes.LookAt(task=self._path, case=case.case.name))

    def _show_run(self) -> None:
        self.query_one(RunPane).show(Shown(self.view, self.case, self.run_shown, self._clock()))

    @on(Cases.OptionSelected, "#case-rows")
    def _case_chosen(self) -> None:
        self.action_focus_pane("run")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Actions that make no sense now are shown dim."""
        if action in ("run_case", "deciding", "older", "newer"):
            return bool(self.is_mounted and self.case) or None
        return True

    def _wish(self, wish: wishes.Wish) -> None:
        self.post_message(Wished(wish))

    def action_run_case(self) -> None:
        """Run the selected case; what was tried in a shell is tried again there."""
        case = self.case
        if case and case.case.kind == "shell":
            self.query_one(TaskShells).action_try_here()
        elif case:
            self._run = ""
            self._wish(wishes.Replay(task=self._path, cases=(case.case.name,)))

    def action_run_all(self) -> None:
        """Run every case."""
        self._wish(wishes.Replay(task=self._path))

    def action_run_unmet(self) -> None:
        """Run the cases that did not come out as they must."""
        names = tuple(
            view.case.name
            for view in self.view.cases.values()
            if view.case.expect and not (view.decided and view.decided.outcome and view.decided.outcome.met)
        )
        if names:
            self._wish(wishes.Replay(task=self._path, cases=names))
        else:
            self.app.notify("Every case came out as it must.")

    def action_cancel(self) -> None:
        """Cancel what the selected case runs or waits for."""
        run = self.run_shown
        if run is None or run.state == "ended":
            run = self.case.current if self.case else None
        if run and run.state != "ended":
            self._wish(wishes.Cancel(task=self._path, run=run.id))
        else:
            self.app.notify("This case does not run.")

    def action_cancel_all(self) -> None:
        """Cancel everything."""
        self._wish(wishes.Cancel(task=self._path))

    def action_toggle_watching(self) -> None:
        """Pause or resume watching."""
        self._wish(wishes.SetWatching(task=self._path, watching=not self.view.watching))

    def action_deciding(self) -> None:
        """Go to the case that the verdict speaks of."""
        verdict = self.view.verdict
        if verdict and verdict.cases:
            self.query_one(CaseList).select(verdict.cases[0])

    def action_older(self) -> None:
        """Show the run before."""
        self._step(-1)

    def action_newer(self) -> None:
        """Show the run after."""
        self._step(1)

    def _step(self, by: int) -> None:
        case, run = self.case, self.run_shown
        if case and run:
            at = min(max(0, case.runs.index(run) + by), len(case.runs) - 1)
            self._run = case.runs[at].id if at < len(case.runs) - 1 else ""
            self.refresh_views()

    def action_mark(self) -> None:
        """Mark the shown run, or unmark it."""
        if run := self.run_shown:
            self._marked = "" if run.id == self._marked else run.id
            self.refresh_views()

    def action_compare(self) -> None:
        """Put the shown run beside another."""
        from workbench.ui.screens.compare import CompareScreen

        case, run = self.case, self.run_shown
        other = self._baseline(case, run) if case and run else None
        if case is None or run is None or other is None:
            self.app.notify("There are no two runs to compare yet.")
            return
        sides = (self.view, *other), (self.view, case, run)
        self.app.push_screen(CompareScreen(*sides, self._clock))

    def _baseline(self, case: CaseView, run: Run) -> tuple[CaseView, Run] | None:
        """What a run is held against: the marked one, else the one before, else the oracle's."""
        views = self.view.cases.values()
        marked = [(view, other) for view in views for other in view.runs if other.id == self._marked]
        before = [(case, other) for other in case.runs[: case.runs.index(run)]][-1:]
        oracle = [(view, view.current) for view in views if view.case.kind == "oracle" and view.current]
        found = [*marked, *before, *oracle]
        return next(((view, other) for view, other in found if other is not run), None)

    def action_shell(self, on_image: bool = False) -> None:
        """Open another shell, on what the selected case left or on the image."""
        case = self.case
        if case and case.case.kind == "shell" and not on_image:
            self.app.notify("Only what a case left can be stood on. S opens a shell on the image.")
            return
        self.query_one(TaskShells).ask("" if on_image or case is None else case.case.name)
        self.add_class("-shell")

    def action_images(self) -> None:
        """Show the images that are built for the task."""
        from workbench.ui.screens.images import ImagesScreen

        self.app.push_screen(ImagesScreen(self._session, self._path, self._clock))

    def action_costs(self) -> None:
        """Show what machines and states cost."""
        from workbench.ui.screens.costs import CostsScreen

        self.app.push_screen(CostsScreen(self._session))

    @on(TaskShells.Left)
    def _shells_left(self) -> None:
        self.action_focus_pane("cases")

    @on(TaskShells.Tried)
    def _tried(self, event: TaskShells.Tried) -> None:
        self.query_one(CaseList).select(event.case)

    def action_focus_pane(self, name: str) -> None:
        """Go to a pane."""
        shells = self.query_one(TaskShells)
        if name == "shells" and not shells.shells:
            self.app.notify("No shell is open. s opens one on what the case left, S one on the image.")
            return
        self.set_class(name == "shells", "-shell")
        if name == "shells":
            self.call_after_refresh(shells.enter)
            return
        if name == "cases":
            self.remove_class("-reading")
            self.query_one(Cases).focus()
            return
        self.add_class("-reading")
        problems = self.query_one("#left ProblemList")
        if name == "problems" and problems.display:
            problems.focus()
        elif name == "problems":
            self.query_one(RunPane).show_tab("problems")
        else:
            self.query_one(RunPane).focus_content()

    def action_tab(self, by: int) -> None:
        """Show another tab of the run."""
        self.query_one(RunPane).step_tab(by)

    def action_back(self) -> None:
        """Undo a maximised pane, else go to the cases."""
        if self.maximized:
            self.minimize()
        else:
            self.action_focus_pane("cases")

    def action_maximise(self) -> None:
        """Let the focused pane fill the screen, or undo it."""
        if self.maximized:
            self.minimize()
        elif isinstance(self.focused, Widget):
            self.maximize(self.focused)
