"""The shell pane: several shells as tabs, named by what they stand on."""

from __future__ import annotations

import asyncio

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import DescendantBlur, DescendantFocus
from textual.message import Message
from textual.widgets import Static, TabbedContent

from workbench.machines.machine import HostCommand
from workbench.ui.drawing import put
from workbench.ui.terminal.emulator import EmulatorMissingError
from workbench.ui.terminal.keys import SHELLS
from workbench.ui.terminal.load import load_emulator
from workbench.ui.terminal.shell import Shell
from workbench.ui.terminal.terminal import Terminal
from workbench.ui.terminal.transport import Transport
from workbench.ui.visible import one_line


class ShellPane(Vertical):
    """Shells on machines. Opens and shows them; whoever handles its messages makes the machines."""

    OFFER = SHELLS
    BINDINGS = SHELLS.bindings()
    DEFAULT_CSS = """
    ShellPane {
        border: round $primary 50%;
        background: $surface;

        &:focus-within { border: round $primary; }
        .hint { padding: 1 2; height: auto; display: none; }
        TabbedContent { height: 1fr; }
        Tabs { height: 1; display: none; }
        Tabs Underline { display: none; }
        Tab { padding: 0 1; }
        Tab.-active { text-style: bold reverse; }
        TabPane { height: 1fr; padding: 0; }
        &.-empty .hint { display: block; }
        &.-empty TabbedContent { display: none; }
        &.-several Tabs { display: block; }
    }
    """

    class Said(Message):
        """Something about a shell, by its key."""

        def __init__(self, pane: ShellPane, key: str) -> None:
            super().__init__()
            self.pane = pane
            self.key = key

        @property
        def control(self) -> ShellPane:
            """The pane."""
            return self.pane

    class AnotherWanted(Said):
        """The user wants another shell on what this one stands on."""

    class Ended(Said):
        """A shell ended by itself; it is still shown."""

    class Closed(Said):
        """A shell is no longer shown; what it ran on is of no more use to it."""

    class Left(Said):
        """The user wants out of the pane; nothing has the focus now."""

    def __init__(
        self,
        *,
        way_in: str = "a click",
        name: str | None = None,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        """
        Args:
            way_in: How the user gets in, as the border says it: "4 or a click".
        """
        super().__init__(name=name, id=id, classes=f"-empty {classes or ''}".strip())
        self._way_in = way_in
        self._awaited = False
        """Whether the user went to a shell before it was there; a focus elsewhere since then stays."""

    def compose(self) -> ComposeResult:
        """A word while there is no shell, and the shells."""
        yield Static(classes="hint")
        yield TabbedContent()

    def on_mount(self) -> None:
        """Begin empty."""
        self.say("No shell is open.")
        self._describe()

    @property
    def shells(self) -> list[Shell]:
        """All that are shown, in the order of their tabs."""
        return list(self.query(Shell))

    @property
    def active(self) -> Shell | None:
        """The one in front."""
        shown = self.query_one(TabbedContent).active_pane
        return shown if isinstance(shown, Shell) else None

    def say(self, text: str) -> None:
        """What to read where no shell is open: that a machine boots, or which key opens one."""
        put(self.query_one(".hint", Static), Content(text))

    async def open(
        self, key: str, title: str, program: HostCommand | Transport, *, focus: bool = False
    ) -> Shell:
        """Show another shell, in front.

        Args:
            key: Names it in messages, such as its machine's name. One that is open under that key is
                replaced.
            title: What it stands on, such as "what oracle left".
        """
        missing = ""
        try:
            await asyncio.to_thread(load_emulator)
        except EmulatorMissingError as error:
            missing = str(error)
        if old := self._find(key):
            await self._remove(old)
        shell = Shell(key, title, program, missing)
        tabs = self.query_one(TabbedContent)
        await tabs.add_pane(shell)
        tabs.active = shell.id or ""
        self._describe()
        if focus or (self._awaited and self.screen.focused is None):
            self.enter()
        self._awaited = False
        return shell

    async def close(self, key: str) -> None:
        """End a shell and show it no longer; none of that name is no fault. Posts nothing."""
        if shell := self._find(key):
            await self._remove(shell)

    def lose(self, key: str, reason: str) -> None:
        """Say in a shell that its machine is gone, and why."""
        if shell := self._find(key):
            shell.lose(reason)

    def rename(self, key: str, title: str) -> None:
        """Say what a shell stands on in other words, where that has changed under it."""
        if shell := self._find(key):
            shell.title = one_line(title)
            self.query_one(TabbedContent).get_tab(shell.id or "").label = Content(shell.title)
            self._describe()

    def enter(self) -> None:
        """Give the shell in front the focus; one that is just being shown gets it then."""
        if (shell := self.active) and shell.is_mounted:
            shell.enter()
        else:
            self._awaited = True
            self.screen.set_focus(None)

    def action_next_shell(self) -> None:
        """Go to the shell in the next tab, round about."""
        if (shells := self.shells) and (active := self.active):
            shell = shells[(shells.index(active) + 1) % len(shells)]
            self.query_one(TabbedContent).active = shell.id or ""
            shell.enter()

    def action_another(self) -> None:
        """Ask for another shell on what the one in front stands on."""
        self.post_message(self.AnotherWanted(self, self.active.key if self.active else ""))

    async def action_close(self) -> None:
        """End the shell in front."""
        if shell := self.active:
            await self._remove(shell)
            self.post_message(self.Closed(self, shell.key))
            if self.active:
                self.enter()
            else:
                self._leave(shell.key)

    def _find(self, key: str) -> Shell | None:
        return next((shell for shell in self.shells if shell.key == key), None)

    async def _remove(self, shell: Shell) -> None:
        await self.query_one(TabbedContent).remove_pane(shell.id or "")
        self._describe()

    def _leave(self, key: str) -> None:
        self.screen.set_focus(None)
        self.post_message(self.Left(self, key))

    @on(Terminal.Left)
    def _left(self, event: Terminal.Left) -> None:
        event.stop()
        self._leave(self.active.key if self.active else "")

    @on(Shell.AnotherWanted)
    def _another(self, event: Shell.AnotherWanted) -> None:
        event.stop()
        self.post_message(self.AnotherWanted(self, event.shell.key))

    @on(Shell.Changed)
    def _changed(self, event: Shell.Changed) -> None:
        event.stop()
        self._describe()

    @on(Shell.Ended)
    def _ended(self, event: Shell.Ended) -> None:
        event.stop()
        self.post_message(self.Ended(self, event.shell.key))

    @on(TabbedContent.TabActivated)
    def _activated(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        self._describe()

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _describe(self) -> None:
        """Say around the shells what they are and how to get in and out."""
        shell = self.active
        self.set_class(shell is None, "-empty")
        self.set_class(len(self.shells) > 1, "-several")
        title = ["Shell", *([shell.title, shell.program_title] if shell else [])]
        self.border_title = Content(" · ".join(part for part in title if part))
        inside = self.has_focus_within
        self.border_subtitle = Content(
            shell.subtitle if shell and inside else f"{self._way_in} to type" if shell else ""
        )
