"""A screen on a task: what is selected in it, and what can be wished for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench import wishes
from workbench.cases.case import Trace
from workbench.session import CaseView, Run, Session, TaskView
from workbench.ui import opening
from workbench.ui.base_app import BaseApp
from workbench.ui.commands import key_shown
from workbench.ui.full_layout import FullLayout
from workbench.ui.messages import Wished
from workbench.ui.screen_commands import COMPARE_WITH, MAIN
from workbench.ui.targets import Target
from workbench.ui.visible import visible

if TYPE_CHECKING:
    from workbench.ui.compare.others import Seen


_MOST_MARKED = 2


class TaskScreen(FullLayout[None]):
    """Selection and wishes, whatever they are shown by."""

    def __init__(
        self, task: str, session: Session, clock: Callable[[], float], marked: tuple[str, ...]
    ) -> None:
        """
        Args:
            clock: Tells Unix seconds.
            marked: The runs that were marked to be compared, by `id` or `lasting_id`, the first one first.
        """
        super().__init__()
        self._path = task
        self._session = session
        self._clock = clock
        self._marked = marked[-_MOST_MARKED:]
        self._run = ""
        """The run that was chosen to be looked at; empty for the newest."""
        self._trace_asked: Trace | None = None
        """Whose scripts the engine was asked to trace, until it does."""

    @property
    @abstractmethod
    def selected(self) -> str:
        """The name of the selected case, empty for none."""

    @abstractmethod
    def select(self, case: str) -> None:
        """Make a case the selected one."""

    @abstractmethod
    def refresh_views(self, engine_lost: str | None = None) -> None:
        """Show what the session says now.

        Args:
            engine_lost: Why no engine could be started, empty when one was; None when that is as before.
        """

    @property
    def view(self) -> TaskView:
        """The task."""
        return self._session.task(self._path)

    @property
    def case(self) -> CaseView | None:
        """The selected case."""
        return self.view.cases.get(self.selected)

    @property
    def run_shown(self) -> Run | None:
        """The run being looked at."""
        case = self.case
        chosen = next((run for run in case.runs if run.id == self._run), None) if case else None
        return chosen or (case.current if case else None)

    def wish(self, wish: wishes.Wish) -> None:
        """Ask the engine for something."""
        self.post_message(Wished(wish))

    def edit(self, path: Path, line: int | None = None) -> None:
        """Open a file in the user's editor."""
        app = cast(BaseApp, self.app)
        if not app.can_run and not path.is_file():
            # Where a task is worked on, an editor may well make a file that is missing.
            app.notify(f"There is no file {visible(str(path))} here.", severity="warning")
            return
        opening.edit(app, opening.editor(app.settings.editor), path, line)

    def action_run_all(self) -> None:
        """Run every case."""
        self.wish(wishes.Replay(task=self._path))

    def action_run_unmet(self) -> None:
        """Run the cases that did not come out as they must."""
        names = tuple(
            view.case.name
            for view in self.view.cases.values()
            if view.case.expect and not (view.decided and view.decided.outcome and view.decided.outcome.met)
        )
        if names or not cast(BaseApp, self.app).can_run:
            self.wish(wishes.Replay(task=self._path, cases=names))
        else:
            self.app.notify("Every case came out as it must.")

    def action_cancel(self) -> None:
        """Cancel what the selected case runs or waits for."""
        run = self.run_shown
        if run is None or run.state == "ended":
            run = self.case.current if self.case else None
        if run and run.state != "ended":
            self.wish(wishes.Cancel(task=self._path, run=run.id))
        else:
            self.app.notify("This case does not run.")

    def action_cancel_all(self) -> None:
        """Cancel everything."""
        self.wish(wishes.Cancel(task=self._path))

    def action_toggle_watching(self) -> None:
        """Pause or resume watching."""
        self.wish(wishes.SetWatching(task=self._path, watching=not self.view.watching))

    def action_toggle_tracing(self) -> None:
        """Trace all scripts from their next run on, or the negatives' alone."""
        trace: Trace = "negatives" if self.view.trace == "all" else "all"
        self._trace_asked = trace if cast(BaseApp, self.app).is_heard else None
        self.wish(wishes.SetTracing(task=self._path, trace=trace))

    def tell_tracing(self) -> None:
        """Say whose scripts are traced once the engine does what it was asked for: not all that serve do."""
        if self._trace_asked and self.view.trace == self._trace_asked:
            whose = "All scripts leave" if self._trace_asked == "all" else "Only negatives leave"
            key = key_shown(self.app, MAIN["run.case"])
            self.app.notify(f"{whose} a trajectory from their next run on. {key} runs the selected case.")
            self._trace_asked = None

    def action_deciding(self) -> None:
        """Go to the case that the verdict speaks of."""
        verdict = self.view.verdict
        if verdict and verdict.cases:
            self.select(verdict.cases[0])

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
        """Mark the shown run, or unmark it. Of three, the one marked first no longer is."""
        case, run = self.case, self.run_shown
        if case is None or run is None:
            return
        before = self._marked_runs()
        marked = [one for one in before if one[1] is not run]
        if len(marked) == len(before):
            marked.append((case, run))
        if len(marked) > _MOST_MARKED:
            from workbench.ui.compare.others import run_name

            self.app.notify(f"Two runs at most are marked: {run_name(*marked.pop(0))} no longer is.")
        # Not by `lasting_id`, which a run shares with the same one recalled.
        self._marked = tuple(one.id for _, one in marked)
        self.refresh_views()

    @property
    def marked_cases(self) -> frozenset[str]:
        """The cases that have a marked run."""
        return frozenset(case.case.name for case, _ in self._marked_runs())

    @property
    def marks(self) -> tuple[str, ...]:
        """What to know the marked runs by next time, those too that are not here now."""
        lasting = {run.id: run.lasting_id for _, run in self._marked_runs()}
        return tuple(dict.fromkeys(lasting.get(name, name) for name in self._marked))

    def _marked_runs(self) -> list[tuple[CaseView, Run]]:
        """The marked runs that are here, the one marked first before the other."""
        if not self._marked:
            return []  # asked at each drawing, of as many runs as there are
        pairs = [(view, run) for view in self.view.cases.values() for run in view.runs]
        found: list[tuple[CaseView, Run]] = []
        for name in self._marked:
            known = [pair for pair in pairs if pair[1].is_known_as(name)]
            found += [pair for pair in known if pair[1].id == name] or known[-1:]
        return found

    def action_compare(self) -> None:
        """Put the two marked runs beside each other, else the shown one beside another."""
        if (sides := self._sides()) is None:
            mark, choose = (key_shown(self.app, command) for command in (MAIN["run.mark"], COMPARE_WITH))
            ways = f"select another case, mark a run by {mark}, or choose one by {choose}"
            self.app.notify(f"Nothing to compare this run with: {ways}.")
        else:
            self._show_beside(*sides)

    def action_compare_with(self) -> None:
        """Ask which run to put the shown one beside: any of this session, of another day, of another task."""
        from workbench.ui.compare import others
        from workbench.ui.screens.goto import GotoScreen

        case, run = self.case, self.run_shown
        if case is None or run is None:
            self.app.notify("No run is shown that could be compared.")
            return

        def compare(target: Target | None) -> None:
            if target and (side := others.side(self.view, target)):
                self._show_beside(side, (self.view, case, run))

        self.wish(wishes.TellEarlierRuns(task=self._path))
        title = "Compare with"
        find = partial(others.targets, self.view, run, self._clock())
        self.app.push_screen(GotoScreen(find, title, "a case, or a task and a case"), compare)

    def _show_beside(self, left: Seen, right: Seen) -> None:
        from workbench.ui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(left, right, self._clock))

    def _sides(self) -> tuple[Seen, Seen] | None:
        """The two marked runs, else the shown one beside the marked, the one before, or the oracle's."""
        from workbench.ui.compare.others import baselines

        marked = self._marked_runs()
        if len(marked) == _MOST_MARKED:
            first, then = marked
            return (self.view, *first), (self.view, *then)
        case, run = self.case, self.run_shown
        if case is None or run is None:
            return None
        others = (one for one in marked if one[1] is not run)
        baseline = next(chain(others, baselines(self.view, case, run)), None)
        return baseline and ((self.view, *baseline), (self.view, case, run))

    def action_copy_path(self) -> None:
        """Copy where the run's trial directory is."""
        run = self.run_shown
        if run and run.trial_dir:
            self.app.copy_to_clipboard(run.trial_dir)
            self.app.notify(f"Copied {run.trial_dir}")
        else:
            self.app.notify("This run has no trial directory yet.")
