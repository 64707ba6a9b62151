"""What the verifier or the agent's script printed, live while it prints."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from textual import work
from textual.app import App, ComposeResult
from textual.content import Content

from workbench.events import OutputSource
from workbench.session import Run
from workbench.ui import words
from workbench.ui.commands import is_offered, key_shown
from workbench.ui.lines import FileLines, Lines
from workbench.ui.run_output import RunOutput
from workbench.ui.screen_commands import MAIN
from workbench.ui.slices import in_slices
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.trial_files import gone, is_complete, output_files, unreadable
from workbench.ui.widgets.log_pane import LogPane
from workbench.ui.widgets.log_view import LogView

_KEPT = 4
"""Runs whose lines are kept, so that going back to one of them takes no time."""


class OutputTab(RunTab):
    """Output of one source."""

    def __init__(self, source: OutputSource) -> None:
        super().__init__()
        self._source = source
        self._shown: Shown | None = None
        self._output: RunOutput | None = None
        self._kept: list[RunOutput] = []
        self._file: FileLines | None = None
        self._said: Content | None = None
        """What stands in place of a file that was looked for and brought nothing."""

    def compose(self) -> ComposeResult:
        """The output."""
        yield LogPane(f"{self._source}-output")

    @property
    def state(self) -> str:
        """How many lines, and how they are looked at."""
        view = self.query_one(LogView)
        return view.state if view.lines else ""

    @property
    def lines(self) -> Lines | None:
        """What is shown."""
        return self._file or (self._output.lines if self._output else None)

    def show(self, shown: Shown) -> None:
        """Show what the run has printed so far."""
        self._shown = shown
        pane, run = self.query_one(LogPane), shown.run
        pane.log_view.home = Path(shown.task.path)
        if self._output is None or self._output.run is not run:
            self._forget()
            self._output = self._taken(run) if run else None
        silence = self._said or _silence(self.app, self._source, shown)
        if run is None or self._output is None:
            pane.show(None, silence=silence)
            return
        before = self._output.seen
        if not self._output.take():
            self._show_rest()
        if run.state == "ended" and not (self._file or self._said or self._output.whole):
            self._read_file(run, silence)
            silence = Content()
        pane.show(
            self.lines,
            silence=silence,
            follow=run.state != "ended",
            live=not shown.ended,
        )
        if self._output.seen != before:
            pane.log_view.grown()

    def _taken(self, run: Run) -> RunOutput:
        """What was taken of a run's output, kept for the runs looked at last."""
        output = next((kept for kept in self._kept if kept.run is run), None) or RunOutput(run, self._source)
        self._kept = [*[kept for kept in self._kept if kept is not output][1 - _KEPT :], output]
        return output

    @work(exclusive=True, group="rest")
    async def _show_rest(self) -> None:
        if output := self._output:
            await in_slices(iter(output.take, True))
            if self.is_attached and self._shown and self._output is output:
                self.show(self._shown)

    @work(exclusive=True)
    async def _read_file(self, run: Run, silence: Content) -> None:
        """Show what the trial directory kept, where the stream did not bring all of it."""
        paths = output_files(Path(run.trial_dir), self._source) if run.trial_dir else []
        try:
            lines = FileLines(*paths)
        except OSError as error:
            self._said = self.query_one(LogView).silence = Content(unreadable(error))
            return
        with ExitStack() as unless_shown:
            unless_shown.callback(lines.close)
            await in_slices(lines.scan())
            if self._output is None or self._output.run is not run:
                return
            if len(lines):
                unless_shown.pop_all()
                self._file = lines
                self.query_one(LogPane).show(lines, silence=Content())
            else:
                self._said = self.query_one(LogView).silence = silence

    def _forget(self) -> None:
        if self._file:
            self._file.close()
        self._file = self._said = None

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._forget()


def _silence(app: App[Any], source: OutputSource, shown: Shown) -> Content:
    """What stands where output will be."""
    run = shown.run
    if shown.case is None:
        return Content("Nothing to show yet.")
    if run is None and not is_offered(app, "run.case"):
        return Content("It has not run.")
    if run is None:
        case, every = (key_shown(app, MAIN[name]) for name in ("run.case", "run.all"))
        return Content.assemble(
            "Nothing to show yet.\n\nPress ",
            (case, "bold $accent"),
            " to run this case, ",
            (every, "bold $accent"),
            " to run all.",
        )
    if run.state == "queued":
        return Content(words.WAITS)
    installed = source == "agent" and shown.case is not None and shown.case.case.kind == "agent"
    if run.state == "ended":
        if run.did_without(source):
            return Content(f"The {source} did not run.")
        if not is_complete(run) and (said := gone(run)):
            return Content(said)
        if installed:
            return Content("No file alone has what the agent printed; the files tab lists what it left.")
        return Content(f"The {source} printed nothing.")
    if run.phase and run.phase.name == source:
        if installed:
            return Content("What an agent prints is shown when it has ended; its trajectory may grow before.")
        return Content(f"The {source} has printed nothing so far.")
    phase = run.phase.name if run.phase else "starting"
    return Content(f"The {source} prints nothing now: this is the {phase} phase.")
