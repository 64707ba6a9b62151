"""Files in the user's editor, output in the user's pager: outside of this screen, which waits meanwhile."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from textual.app import App, SuspendNotSupported

from workbench.ui.lending import lend

_PLUS_LINE = {
    "vi",
    "vim",
    "nvim",
    "view",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "kak",
    "joe",
    "mg",
    "ne",
    "jed",
}
_COLON_LINE = {"hx", "helix", "micro", "subl", "zed"}
_GOTO_LINE = {"code", "codium", "cursor", "windsurf"}
_PLACE = re.compile(
    r"(?<![\w/.:-])(?P<path>(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+ -]*[\w.@+-])*)"
    r":(?: line )?(?P<line>\d+)(?::\d+)?(?!\w)"
    r'|(?<=File ")(?P<source>[^"]+)", line (?P<at>\d+)'
)
"""As compilers and test runners write it, as bash does, and as Python does in a traceback."""


def editor(set_: str) -> str:
    """The command that opens a file; empty where there is none."""
    return set_.strip() or os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()


def pager(set_: str) -> str:
    """The command that shows text page by page."""
    return set_.strip() or os.environ.get("PAGER", "").strip() or "less -R"


def editing(command: str, path: Path, line: int | None) -> list[str]:
    """A command line that opens a file, at a line where the editor is known to take one.

    Raises:
        ValueError: the command cannot be split into words.
    """
    words = shlex.split(command)
    name = Path(words[0]).name
    if line is None:
        return [*words, str(path)]
    if name in _PLUS_LINE:
        return [*words, f"+{line}", str(path)]
    if name in _COLON_LINE:
        return [*words, f"{path}:{line}"]
    if name in _GOTO_LINE:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, str(path)]


def edit(app: App[None], command: str, path: Path, line: int | None = None) -> None:
    """Open a file in the editor, and say why where that is not possible."""
    if not command:
        app.notify("No editor is set: set EDITOR, or `editor` in the settings.", severity="warning")
        return
    try:
        run(app, editing(command, path, line))
    except ValueError as error:
        app.notify(f"The editor's command {command!r} cannot be used: {error}.", severity="error")


def page(app: App[None], command: str, lines: Iterator[str]) -> None:
    """Show lines in the pager."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        app.notify(f"The pager's command {command!r} cannot be used: {error}.", severity="error")
        return
    try:
        with tempfile.NamedTemporaryFile("w", prefix="workbench-", suffix=".log", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            run(app, [*words, file.name])
    except OSError as error:
        app.notify(f"The output cannot be written for the pager: {error.strerror}.", severity="error")


def run(app: App[None], words: list[str]) -> None:
    """Run a program in the terminal, this screen out of its way."""
    try:
        code = lend(app, words)
    except SuspendNotSupported:
        app.notify("This terminal cannot be lent to another program.", severity="warning")
    except OSError as error:
        app.notify(f"{words[0]}: {error.strerror}.", severity="error")
    else:
        if code:
            app.notify(f"{words[0]} ended with exit code {code}.", severity="warning")
    app.refresh()


def places(text: str, task: Path) -> Iterator[tuple[int, int, Path, int]]:
    """Places in the task's files that a line of output names: start and end in the line, file, line number.

    A verifier names files as they are in the machine, such as `/tests/test_outputs.py:31`.
    """
    for match in _PLACE.finditer(text):
        if path := _file(match["path"] or match["source"], task):
            yield match.start(), match.end(), path, int(match["line"] or match["at"])


@lru_cache(maxsize=2048)
def _file(named: str, task: Path) -> Path | None:
    parts = [part for part in Path(named).parts if part not in ("/", "..", ".")]
    if not parts:
        return None
    tries = [task.joinpath(*parts)]
    if len(parts) == 1:
        tries += [task / folder / parts[0] for folder in ("tests", "solution", "environment")]
    if found := next((path for path in tries if _is_in(path, task)), None):
        return found
    # Output does not say of which step it is, so a step's file is known where one step alone has it.
    of_steps = [step.joinpath(*parts) for step in (task / "steps").glob("*")]
    of_steps = [path for path in of_steps if _is_in(path, task)]
    return of_steps[0] if len(of_steps) == 1 else None


def _is_in(path: Path, task: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(task.resolve())
    except OSError:
        return False
