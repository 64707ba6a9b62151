"""What the shell pane offers where there is no emulator: the user's own terminal.

pyghostty has wheels for glibc Linux and macOS only. Of what could stand in for it, pyte crashes on
vim 9 and has no alternate screen, bittty keeps no lines and stalls the window for a fifth of a second,
and an emulator of our own would be a poor one. The terminal that the workbench itself runs in is a full
one, so there the workbench steps aside until the shell ends, one shell at a time, or the user pastes
the command into another window.
"""

from __future__ import annotations

import os
import shlex

from textual.app import SuspendNotSupported
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from workbench.machines.machine import HostCommand
from workbench.ui.commands import key_shown
from workbench.ui.lending import lend
from workbench.ui.overlay_commands import OWN_TERMINAL
from workbench.ui.terminal.transport import Exit


class OwnTerminal(Static, can_focus=True):
    """Offers to run a shell in the terminal around the workbench."""

    OFFER = OWN_TERMINAL
    BINDINGS = OWN_TERMINAL.bindings()
    DEFAULT_CSS = "OwnTerminal { height: 1fr; padding: 1 2; }"

    class Exited(Message):
        """The shell ended."""

        def __init__(self, ended: Exit) -> None:
            super().__init__()
            self.ended = ended

    def __init__(self, shell: HostCommand, reason: str) -> None:
        """
        Args:
            reason: Why there is no emulator.
        """
        self._shell = shell
        self._reason = reason
        super().__init__()

    def on_mount(self) -> None:
        """Say why, and what can be done."""
        self.update(
            Content.assemble(
                f"This shell cannot be shown in the window: {self._reason}.\n\n",
                (key_shown(self.app, OWN_TERMINAL["shell.run"]), "bold"),
                " opens it over the whole screen; leave it with exit or Ctrl-D to come back. "
                "The workbench waits meanwhile.\n",
                (key_shown(self.app, OWN_TERMINAL["shell.copy-command"]), "bold"),
                " copies its command, to be pasted into another terminal:\n\n",
                command_line(self._shell),
            )
        )

    def action_run(self) -> None:
        """Give the screen to the shell until it ends."""
        try:
            code = lend(self.app, self._shell.argv, self._shell.env)
        except SuspendNotSupported:
            key = key_shown(self.app, OWN_TERMINAL["shell.copy-command"])
            self.notify(f"This terminal cannot be lent out. Press {key} and paste the command into another.")
        except OSError as error:
            self.post_message(self.Exited(Exit(126, f"{self._shell.argv[0]}: {error.strerror}")))
        else:
            self.post_message(self.Exited(Exit(code)))

    def action_copy(self) -> None:
        """Put the command on the clipboard."""
        self.app.copy_to_clipboard(command_line(self._shell))
        self.notify("Copied the command.")


def command_line(shell: HostCommand) -> str:
    """The command as one line for a shell, with those variables that it does not inherit."""
    own = {name: value for name, value in shell.env.items() if os.environ.get(name) != value}
    words = [f"{name}={value}" for name, value in own.items()]
    return shlex.join(["env", *words, *shell.argv] if words else shell.argv)
