"""Harbor's own log of a trial, after what it raised."""

from __future__ import annotations

from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.content import Content

from workbench.session import Run
from workbench.ui import trial_files, words
from workbench.ui.lines import LiveLines
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.widgets.log_pane import LogPane

_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[1;31m", "\x1b[0m"


class LogTab(RunTab):
    """The exception in plain words, Harbor's own words, and the log."""

    def __init__(self) -> None:
        super().__init__()
        self._told: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """The text."""
        yield LogPane("trial-log")

    @property
    def state(self) -> str:
        """How many lines, and how they are looked at."""
        view = self.query_one(LogPane).log_view
        return view.state if view.lines else ""

    def show(self, shown: Shown) -> None:
        """Show the log, read anew when the run has moved on."""
        run = shown.run
        told = (run and run.id, run and run.state, run and len(run.phases))
        if run is None:
            self.query_one(LogPane).show(None, silence=Content("Nothing to show yet."))
        elif told != self._told:
            self._load(run)
        self._told = told

    @work(thread=True, exclusive=True)
    def _load(self, run: Run) -> None:
        lines = LiveLines()
        lines.append(_text(run))
        self.app.call_from_thread(self._put, run, lines)

    def _put(self, run: Run, lines: LiveLines) -> None:
        if self.is_attached and self._told[:1] == (run.id,):
            said = trial_files.gone(run) or "Harbor has logged nothing for this run."
            self.query_one(LogPane).show(lines, silence=Content(said))


def _text(run: Run) -> str:
    trial = Path(run.trial_dir)
    parts = []
    if run.outcome and run.outcome.exception:
        said = words.raised(run.outcome.exception, run.outcome.reason)
        parts.append(f"{_RED}{said}{_PLAIN}\n{'\n'.join(run.outcome.detail)}".rstrip() + "\n\n")
    elif run.outcome and len(run.outcome.reason) > words.LONGEST_SENTENCE:
        parts.append(f"{_BOLD}what it came to{_PLAIN}\n{run.outcome.reason}\n\n")
    if environment := run.text("environment"):
        parts.append(f"{_BOLD}the environment printed{_PLAIN}\n{environment}\n")
    for step, text in trial_files.step_tracebacks(trial) if run.trial_dir else ():
        parts.append(f"{_BOLD}step {step} raised{_PLAIN}\n{text}\n")
    for name in ("exception.txt", "trial.log") if run.trial_dir else ():
        if text := trial_files.read(trial / name):
            parts.append(f"{_BOLD}{name}{_PLAIN}\n{text}\n")
    return "".join(parts)
