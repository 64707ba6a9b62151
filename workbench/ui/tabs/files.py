"""What a run changed in its file system, its artifacts, and all that its trial left on the host."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from workbench.session import Run
from workbench.ui import trial_files, words
from workbench.ui.change_rows import NOTHING, Changed, ChangeRow, find_changes, row_line, row_text
from workbench.ui.figures import memory
from workbench.ui.highlighting import LARGEST, highlighted
from workbench.ui.lines import FileLines, Lines, LiveLines
from workbench.ui.slices import in_slices
from workbench.ui.tabs.reading import ReadingTab, TextPane
from workbench.ui.tabs.tab import Shown
from workbench.ui.trial_files import Artifact, TrialFile
from workbench.ui.visible import one_line
from workbench.ui.widgets.line_list import LineList

_STATUS = {
    "ok": words.Mark("✓", "collected", words.OK),
    "empty": words.Mark("!", "empty", words.WARN),
    "skipped": words.Mark("-", "skipped", words.MUTED),
    "failed": words.Mark("✗", "missing", words.BAD),
}


@dataclass(frozen=True)
class _Found:
    changed: Changed = NOTHING
    artifacts: tuple[Artifact, ...] = ()
    files: tuple[TrialFile, ...] = ()

    @property
    def rows(self) -> tuple[ChangeRow | Artifact | TrialFile, ...]:
        return (*self.changed.rows, *self.artifacts, *self.files)


class FilesTab(ReadingTab):
    """A list over the selected file."""

    def __init__(self) -> None:
        super().__init__()
        self._of: tuple[object, ...] = ()
        self._trial = Path()
        self._found = _Found()
        self._where = ""
        self._file: FileLines | None = None

    def compose(self) -> ComposeResult:
        """Where they are, the list, and the selected file."""
        yield Static(classes="summary")
        yield LineList("trial-files")
        yield TextPane("trial-file")

    def show(self, shown: Shown) -> None:
        """Show the files of the run's trial directory, looked for anew when the run has moved on."""
        run = shown.run
        of = (run and run.id, run and run.state, run and len(run.phases))
        if of != self._of:
            self._of = of
            self._look(run)

    @work(thread=True, exclusive=True, group="look")
    def _look(self, run: Run | None) -> None:
        found = _Found()
        if run and run.trial_dir:
            trial = Path(run.trial_dir)
            changed, artifacts = find_changes(trial), tuple(trial_files.artifacts(trial))
            found = _Found(changed, artifacts, tuple(trial_files.files(trial)))
        self.app.call_from_thread(self._put, run, found)

    def _put(self, run: Run | None, found: _Found) -> None:
        if not self.is_attached or self._of[0] != (run and run.id):
            return
        if found == self._found and run and self._trial == Path(run.trial_dir):
            return
        self._found, self._trial = found, Path(run.trial_dir) if run else Path()
        self._where = one_line(run.trial_dir) if run and run.trial_dir else "no trial directory yet"
        self._summarise()
        self.query_one(LineList).show(len(found.rows), self._line)
        if not found.rows:
            said = trial_files.gone(run) or "The run has left no files so far."
            self.query_one(TextPane).show(None, silence=Content(said))

    def on_resize(self) -> None:
        """Fit the path again."""
        self.call_after_refresh(self._summarise)

    def _summarise(self) -> None:
        summary = self.query_one(".summary", Static)
        said = [self._found.changed.summary] if self._found.changed.summary else []
        if len(self._found.files) >= trial_files.FILES_LIMIT:
            said.append(f"the first {trial_files.FILES_LIMIT:,} files")
        # Of a path that has no room in a line, the end tells it from others.
        room = max(1, summary.content_size.width)
        over = cell_len(self._where) - room
        where = f"…{self._where[over + 1 :]}" if over > 0 else self._where
        summary.update(Content.styled(" · ".join([*said, where]), words.MUTED))

    def _line(self, index: int) -> Content:
        row = self._found.rows[index]
        if isinstance(row, ChangeRow):
            return row_line(row)
        if isinstance(row, Artifact):
            mark = _STATUS.get(row.status, words.Mark("?", one_line(row.status), words.WARN))
            return Content.assemble(
                (f"{mark.sign} {mark.word:<10}", mark.color),
                (f"{one_line(row.step)}: " if row.step else "", words.MUTED),
                ("artifact ", words.MUTED),
                one_line(row.source),
            )
        size = memory(row.size) if row.kind != "link" else ""
        what = "" if row.kind == "text" else f"  {one_line(row.what)}"
        link = " →" if row.kind == "link" else ""
        return Content.assemble(
            (f"{size:>10}  ", words.MUTED), one_line(row.path), (f"{link}{what}", words.MUTED)
        )

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        if event.index < len(self._found.rows):
            self._preview(self._found.rows[event.index])

    @work(exclusive=True, group="preview")
    async def _preview(self, row: ChangeRow | Artifact | TrialFile) -> None:
        pane = self.query_one(TextPane)
        self._close()
        if isinstance(row, ChangeRow):
            difference = LiveLines()
            difference.append(await asyncio.to_thread(highlighted, row_text(row), "it.diff"))
            pane.show(difference, silence=Content())
            return
        if isinstance(row, Artifact):
            told = f"{one_line(row.source)} → {one_line(row.destination)}: {one_line(row.status)}"
            pane.show(None, silence=Content(told))
            return
        path = self._trial / row.path
        if row.kind != "text" or not trial_files.is_plain(path):
            pane.show(
                None, silence=Content(f"{one_line(row.path)}: {one_line(row.what)}, {memory(row.size)}")
            )
            return
        lines: Lines
        if row.size <= LARGEST:
            lines = LiveLines()
            # A large file takes a second.
            lines.append(await asyncio.to_thread(lambda: highlighted(trial_files.read(path), row.path)))
        else:
            try:
                lines = self._file = FileLines(path)
            except OSError as error:
                pane.show(None, silence=Content(trial_files.unreadable(error)))
                return
            await in_slices(self._file.scan())
        pane.show(lines, silence=Content("The file is empty."))

    def _close(self) -> None:
        if self._file:
            self._file.close()
        self._file = None

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._close()
