"""The main screen: a task's cases and problems, and the selected run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.timer import Timer
from textual.widget import Widget

from workbench import wishes
from workbench.session import Session
from workbench.task.marked import CONFIG
from workbench.ui import opening, words
from workbench.ui.base_app import BaseApp
from workbench.ui.case_hint import case_hint
from workbench.ui.commands import key_shown
from workbench.ui.once import once
from workbench.ui.panes.run_pane import RunPane
from workbench.ui.remembered import TaskLook
from workbench.ui.resizing import COLUMN_STEP, SHELLS_STEP, Borders
from workbench.ui.screen_commands import MAIN
from workbench.ui.screens.live import LiveScreen
from workbench.ui.screens.task_screen import TaskScreen
from workbench.ui.shells.task_shells import TaskShells
from workbench.ui.tabs.tab import Shown
from workbench.ui.targets import Target
from workbench.ui.visible import one_line
from workbench.ui.widgets.banner import Banner
from workbench.ui.widgets.case_list import CaseList, Cases
from workbench.ui.widgets.key_bar import KeyBar
from workbench.ui.widgets.log_view import LogView
from workbench.ui.widgets.problem_list import ProblemList
from workbench.ui.widgets.title_bar import TitleBar

_LOOK_SECONDS = 0.3
"""How long the user stays at a case before the engine hears of it."""


class MainScreen(TaskScreen):
    """One task."""

    CSS_PATH = ["main.tcss", "shells.tcss"]  # noqa: RUF012
    OFFER = MAIN
    BINDINGS = MAIN.bindings()
    ESCAPE_TO_MINIMIZE = False  # a program in a maximised shell has a use for that key; `back` does it
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
        super().__init__(task, session, clock, look.marks)
        self._shell = shell
        self._lost = ""
        self._offered = False, True
        """What the key bar was made for."""
        self._looking: Timer | None = None
        self._before = look
        self._borders = Borders(self, "#left", "TaskShells", (look.left, look.shells))
        self._others: list[Path] | None = None
        """Other tasks that can be gone to; None before one looks for them."""
        self._to_select = look.case
        """The case to go to as soon as it is there."""

    def compose(self) -> ComposeResult:
        """Title, banner, panes and keys."""
        yield TitleBar()
        yield Banner()
        with Container(id="body"):
            with Vertical(id="left"):
                yield CaseList(self._case_selected, self._before.order, self._before.only)
                yield ProblemList()
            yield RunPane(self._before.tab)
        yield TaskShells(self._path, first=self._shell)
        yield from cast(BaseApp, self.app).bars()
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with what is known, at the cases."""
        self.refresh_views()
        self.query_one(CaseList).enter()

    @property
    def selected(self) -> str:
        """The name of the selected case, empty for none."""
        return self.query_one(CaseList).selected or ""

    def select(self, case: str) -> None:
        """Make a case the selected one."""
        self.query_one(CaseList).select(case)

    def refresh_views(self, engine_lost: str | None = None) -> None:
        """Show what the session says now.

        Args:
            engine_lost: Why no engine could be started, empty when one was; None when that is as before.
        """
        self._lost = self._lost if engine_lost is None else engine_lost
        session, view, now = self._session, self.view, self._clock()
        self.query_one(TitleBar).show(session, view, now)
        self.query_one(Banner).show(session, view, self._lost)
        self.query_one(CaseList).show(view, case_hint(session, view, self._lost), now, self.marked_cases)
        if self._to_select in view.cases and self.query_one(CaseList).select_listed(self._to_select):
            self._to_select = ""
        self.query_one("#left ProblemList", ProblemList).show(view)
        self.query_one(RunPane).show(Shown(view, self.case, self.run_shown, now))
        self.query_one(TaskShells).show(session, view)
        self.tell_tracing()
        self._offer()
        for above in self.app.screen_stack:
            # Also those under help or the palette, which leave them to be seen.
            if isinstance(above, LiveScreen) and above.is_mounted:
                above.refresh_views()

    @property
    def up_to_date(self) -> bool:
        """Whether all that is known is shown."""
        return all(pane.up_to_date for pane in self.query(RunPane))

    @property
    def look(self) -> TaskLook:
        """How the task is looked at."""
        cases = self.query_one(CaseList)
        order, only = cases.arrangement
        left, shells = self._borders.sizes
        return TaskLook(
            case=cases.selected or self._to_select,
            tab=self.query_one(RunPane).tab,
            marked=self.marks,
            order=order,
            only=only,
            left=left,
            shells=shells,
        )

    def _case_selected(self) -> None:
        """Show the newest run of another case, and let its runs go first once the user stays there."""
        self._run = ""
        if self._looking:
            self._looking.stop()
        self._looking = once(self, _LOOK_SECONDS, self._look)
        self._show_run()
        self._offer()

    def _offer(self) -> None:
        """Offer other keys where others make sense. The footer is made anew for this, which takes long."""
        offered = bool(self.case), cast(BaseApp, self.app).can_run
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _look(self) -> None:
        if case := self.case:
            self.wish(wishes.LookAt(task=self._path, case=case.case.name))

    def _show_run(self) -> None:
        self.query_one(RunPane).show(Shown(self.view, self.case, self.run_shown, self._clock()))

    @on(Cases.OptionSelected, "#case-rows")
    def _case_chosen(self) -> None:
        self.action_focus_pane("run")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Actions that make no sense now are shown dim."""
        if action in ("run_case", "deciding", "older", "newer", "trials"):
            return bool(self.is_mounted and self.case) or None
        if action == "back":
            return bool(self.maximized) or not isinstance(self.focused, (Cases, CaseList))
        return True

    def action_run_case(self) -> None:
        """Run the selected case; what was tried in a shell is tried again there."""
        case = self.case
        if case and case.case.kind == "shell":
            self.query_one(TaskShells).action_try_here()
        elif case:
            self._run = ""
            self.wish(wishes.Replay(task=self._path, cases=(case.case.name,)))

    def action_goto(self) -> None:
        """Ask where to go: a case, a run, a tab, or a line of the output."""
        self._others = None
        placeholder = "a case, a run, a tab, a task, or the number of a line"
        self._ask_target(self._targets, "Go to", placeholder, lines=True)

    def action_find_case(self) -> None:
        """Ask which case to go to."""

        def found() -> list[Target]:
            return [target for target in self._targets() if target.kind in ("case", "task")]

        self._others = None
        self._ask_target(found, "Find a case or a task", "a part of its name")

    def _ask_target(
        self, find: Callable[[], list[Target]], title: str, placeholder: str, *, lines: bool = False
    ) -> None:
        from workbench.ui.screens.goto import GotoScreen

        self.app.push_screen(GotoScreen(find, title, placeholder, lines=lines), self._go_to)

    def _targets(self) -> list[Target]:
        now = self._clock()
        targets = [
            Target(one_line(name), "case", name, words.case_mark(view, now).word)
            for name, view in self.view.cases.items()
        ]
        if case := self.case:
            targets += [
                Target(f"{one_line(case.case.name)} · {number}", "run", run.id, words.run_mark(run, now).word)
                for number, run in enumerate(case.runs, 1)
            ]
        targets += [Target(name, "tab", name) for name in self.query_one(RunPane).tabs]
        if self._others is None:
            self._others = cast(BaseApp, self.app).other_tasks()
        return targets + [
            Target(one_line(path.name), "task", str(path), one_line(str(path.parent)))
            for path in self._others
        ]

    def _go_to(self, target: Target | None) -> None:
        if target is None:
            return
        match target.kind:
            case "case":
                self.select(target.key)
            case "run":
                self._run = target.key
                self.refresh_views()
            case "tab":
                self._show_tab(target.key)
            case "task":
                cast(BaseApp, self.app).open_instead(Path(target.key))
            case "line":
                self.query_one(RunPane).go_to_line(int(target.key) - 1)

    def action_edit(self) -> None:
        """Open the selected problem's file, else the case's script."""
        task = Path(self._path)
        if isinstance(self.focused, ProblemList) and (problem := self.focused.problem):
            self.edit(task / problem.path, problem.line)
        else:
            script = self.case.case.script if self.case else ""
            self.edit(task / (script or CONFIG), None)

    @on(LogView.PlaceWanted)
    def _place_wanted(self, event: LogView.PlaceWanted) -> None:
        self.edit(event.path, event.line)

    @on(LogView.PagerWanted)
    def _pager_wanted(self, event: LogView.PagerWanted) -> None:
        app = cast(BaseApp, self.app)
        opening.page(app, opening.pager(app.settings.pager), event.view.texts())

    def action_resize(self, which: int, by: int) -> None:
        """Move a border between panes."""
        if not self._borders.move(which, by * (SHELLS_STEP if which else COLUMN_STEP)):
            where = "panes stand side by side from 120 columns on, shells below them once one is open"
            self.app.notify(f"No border to move here: {where}.")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Grab a border between panes."""
        if self._borders.grab(event):
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag it."""
        self._borders.drag(event)

    def on_mouse_up(self) -> None:
        """Let go of it."""
        self._borders.let_go()

    def on_resize(self) -> None:
        """Give the panes their sizes, where there is room."""
        self.call_after_refresh(self._borders.lay_out)

    def action_shell(self, on_image: bool = False) -> None:
        """Open another shell, on what the selected case left or on the image."""
        case = self.case
        if case and case.case.kind == "shell" and not on_image:
            key = key_shown(self.app, MAIN["shell.image"])
            self.app.notify(f"Only what a case left can be stood on. {key} opens a shell on the image.")
            return
        if self.query_one(TaskShells).ask("" if on_image or case is None else case.case.name):
            self.add_class("-shell")

    def action_images(self) -> None:
        """Show the images that are built for the task."""
        from workbench.ui.screens.images import ImagesScreen

        self.app.push_screen(ImagesScreen(self._session, self._path, self._clock))

    def action_trials(self) -> None:
        """Show the trials of the selected case, many at once."""
        if case := self.case:
            self.show_trials(case.case.name)

    def show_trials(self, case: str, times: int = 0, *, large: bool = False) -> None:
        """Show the trials of a case.

        Args:
            times: How many more a key starts; 0 for the usual number.
            large: Larger letters and fewer words.
        """
        from workbench.ui.screens.grid import TIMES, GridScreen

        self._to_select = case  # before the cases are known, too
        grid = GridScreen(self._session, self._path, case, self._clock, self.look_at, times=times or TIMES)
        grid.presenting = large
        self.app.push_screen(grid)

    def look_at(self, case: str, run: str) -> None:
        """Select a run."""
        self.select(case)
        self._run = run
        self.refresh_views()
        self.action_focus_pane("run")

    def action_costs(self) -> None:
        """Show what machines and states cost."""
        from workbench.ui.screens.costs import CostsScreen

        self.app.push_screen(CostsScreen(self._session))

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _focus_moved(self) -> None:
        self.set_class(self.query_one(TaskShells).has_focus_within, "-typing")

    @on(TaskShells.Left)
    def _shells_left(self) -> None:
        self.action_focus_pane("cases")
        # What was selected while there was no room for the list.
        self.call_after_refresh(self.query_one(Cases).scroll_to_highlight)

    @on(TaskShells.EditWanted)
    def _edit_wanted(self, event: TaskShells.EditWanted) -> None:
        self.edit(Path(self._path) / event.path)

    @on(TaskShells.Tried)
    def _tried(self, event: TaskShells.Tried) -> None:
        self.query_one(CaseList).select(event.case)

    def action_focus_pane(self, name: str) -> None:
        """Go to a pane."""
        shells = self.query_one(TaskShells)
        if name == "shells" and not shells.shells:
            left, image = (key_shown(self.app, MAIN[name]) for name in ("shell.case", "shell.image"))
            ways = f" {left} opens one on what the case left, {image} one on the image."
            self.app.notify(f"No shell is open.{ways if cast(BaseApp, self.app).can_run else ''}")
            return
        self.set_class(name == "shells", "-shell")
        if name == "shells":
            shells.enter()
            return
        if name == "cases":
            self.remove_class("-reading")
            self.query_one(CaseList).enter()
            return
        self.add_class("-reading")
        problems = self.query_one("#left ProblemList")
        if name == "problems" and problems.display:
            self.set_focus(problems)
        elif name == "problems":
            self._show_tab("problems")
        else:
            self.query_one(RunPane).focus_content()

    def _show_tab(self, name: str) -> None:
        """Go to a tab of the run; not by way of the shown one, which focus in it would show again."""
        self.remove_class("-shell")
        self.add_class("-reading")
        self.query_one(RunPane).show_tab(name)

    def action_tab(self, by: int) -> None:
        """Show another tab of the run."""
        self.query_one(RunPane).step_tab(by)

    def action_back(self) -> None:
        """Undo a maximised pane, else go to the cases."""
        if self.maximized:
            self.minimize()
            self.refresh_bindings()
        else:
            self.action_focus_pane("cases")

    def action_maximise(self) -> None:
        """Let the focused pane fill the screen, or undo it."""
        if self.maximized:
            self.minimize()
        elif isinstance(self.focused, Widget):
            self.maximize(self.focused)
        self.refresh_bindings()
