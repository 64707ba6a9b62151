"""One shell: its terminal, a line to search by, and what became of it."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static, TabPane

from workbench.machines.machine import HostCommand
from workbench.ui.terminal.emulator import Found
from workbench.ui.terminal.fallback import OwnTerminal
from workbench.ui.terminal.keys import way_out
from workbench.ui.terminal.terminal import Terminal
from workbench.ui.terminal.transport import Exit, Transport
from workbench.ui.visible import one_line


class Shell(TabPane):
    """A shell on something, named by what it stands on.

    Attributes:
        key: Names it among all shells.
        title: What it stands on.
        ended: How it ended; None while it runs.
        lost: Why its machine is gone; empty while it is there.
    """

    DEFAULT_CSS = """
    Shell {
        height: 1fr;

        .find { display: none; height: 1; }
        .find Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $panel; }
        .find Static { width: auto; padding: 0 1; background: $panel; }
        .end { display: none; height: auto; padding: 0 1; background: $panel; color: $foreground; }
        &.-searching .find { display: block; }
        &.-ended .end { display: block; }
    }
    """

    class Said(Message):
        """Something about a shell."""

        def __init__(self, shell: Shell) -> None:
            super().__init__()
            self.shell = shell

    class AnotherWanted(Said):
        """The user wants another in its place."""

    class Changed(Said):
        """What there is to say of it changed."""

    class Ended(Said):
        """It ended by itself."""

    def __init__(self, key: str, title: str, program: HostCommand | Transport, missing: str = "") -> None:
        """
        Args:
            missing: Why there is no emulator; empty where there is one.
        """
        self.key = key
        self.title = one_line(title)
        super().__init__(Content(self.title))
        self.ended: Exit | None = None
        self.lost = ""
        if missing and isinstance(program, HostCommand):
            self._view: Terminal | OwnTerminal = OwnTerminal(program, missing)
        else:
            self._view = Terminal(program)

    @property
    def terminal(self) -> Terminal | None:
        """None where there is no emulator."""
        return self._view if isinstance(self._view, Terminal) else None

    def compose(self) -> ComposeResult:
        """The terminal over its two lines."""
        yield self._view
        with Horizontal(classes="find"):
            yield Input(placeholder="search; Enter or ↑ older, ↓ newer, Escape ends", select_on_focus=True)
            yield Static()
        yield Static(classes="end")

    def enter(self) -> None:
        """Give it the focus, at once: what is typed next is for it."""
        self.screen.set_focus(self._view)

    def lose(self, reason: str) -> None:
        """Say that the machine is gone."""
        self.lost = one_line(reason)
        if self.terminal:
            self.terminal.hang_up()
        self._say_end()

    @property
    def program_title(self) -> str:
        """What the program in it calls itself."""
        return self.terminal.title_of_program if self.terminal else ""

    @property
    def subtitle(self) -> str:
        """What a border may say of it while it has the focus."""
        if self.has_class("-searching"):
            return "escape ends the search"
        if self.terminal is None:
            return ""
        if self.ended or self.lost:
            return f"{way_out(self.app)} leaves"
        below = self.terminal.lines_below
        older = f"{below} newer lines below · " if below else ""
        return f"{older}{way_out(self.app)} leaves · F-keys stay the workbench's"

    @on(Terminal.Exited)
    def _exited(self, event: Terminal.Exited) -> None:
        event.stop()
        self._end(event.terminal.ended)

    @on(OwnTerminal.Exited)
    def _returned(self, event: OwnTerminal.Exited) -> None:
        event.stop()
        self._end(event.ended)

    def _end(self, ended: Exit | None) -> None:
        self.ended = ended
        self._say_end()
        self.post_message(self.Ended(self))

    def _say_end(self) -> None:
        lines = [f"✗ The machine of this shell is gone: {self.lost}."] if self.lost else []
        if self.ended and not self.lost:
            lines = [f"{'✗' if self.ended.code else '○'} The shell ended with exit code {self.ended.code}."]
            lines += [one_line(line) for line in self.ended.notes.splitlines()[-3:]]
        keys = f"enter opens another · escape or {way_out(self.app)} leaves"
        self.query_one(".end", Static).update(Content("\n".join([*lines, keys])))
        self.add_class("-ended")
        self.post_message(self.Changed(self))

    @on(Terminal.TitleChanged)
    @on(Terminal.Scrolled)
    def _changed(self, event: Terminal.Said) -> None:
        event.stop()
        self.post_message(self.Changed(self))

    def on_key(self, event: Key) -> None:
        """Keys of a shell that ended, and arrows while searching."""
        if self.has_class("-searching") and event.key in {"up", "down", "escape"}:
            event.stop()
            if event.key == "escape":
                self._end_search()
            else:
                self._step(newer=event.key == "down")
        elif self.ended or self.lost:
            if event.key == "enter":
                event.stop()
                self.post_message(self.AnotherWanted(self))
            elif event.key == "escape" and self.terminal:
                event.stop()
                # Not by the terminal: what it posts during this, Textual stops at this, its parent.
                self.post_message(Terminal.Left(self.terminal))

    @on(Terminal.SearchAsked)
    def _ask(self, event: Terminal.SearchAsked) -> None:
        event.stop()
        self.add_class("-searching")
        self.screen.set_focus(self.query_one(Input))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.terminal:
            self._found(self.terminal.search(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._step(newer=False)

    def _step(self, *, newer: bool) -> None:
        if self.terminal:
            self._found(self.terminal.search_next(newer=newer))

    def _found(self, found: Found) -> None:
        self.query_one(".find Static", Static).update(f"{found.current} of {found.total}")

    def _end_search(self) -> None:
        self.remove_class("-searching")
        if self.terminal:
            self.terminal.search("")
            self.terminal.action_scroll_end()
            self.screen.set_focus(self.terminal)
