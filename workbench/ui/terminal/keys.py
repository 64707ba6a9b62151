"""What can be done in a shell besides typing: few keys, for all others go to the shell."""

from __future__ import annotations

import re

from textual.app import App
from textual.screen import Screen

from workbench.ui.commands import Command, Offer, key_shown

_FUNCTION_KEY = re.compile(r"(?:.*\+)?f\d+")

TERMINAL = Offer(
    "Terminal",
    (
        Command(
            "terminal.leave",
            "ctrl+right_square_bracket",
            "leave",
            "Leave",
            "Leave the shell, which goes on, for the rest of the screen.",
            True,
        ),
        Command("terminal.search", "f4", "search", "Search", "Search in all that the shell has shown.", True),
        Command("terminal.copy", "ctrl+shift+c", "copy", "Copy", "Copy the selected text again."),
        Command("terminal.page-up", "shift+pageup", "scroll_page(-1)", "Older", "Show older lines."),
        Command("terminal.page-down", "shift+pagedown", "scroll_page(1)", "Newer", "Show newer lines."),
        Command("terminal.top", "shift+home", "scroll_page(-10000)", "Oldest", "Show the oldest line kept."),
        Command("terminal.end", "shift+end", "scroll_end", "Newest", "Show what the shell shows now."),
    ),
)

SHELLS = Offer(
    "Shells",
    (
        Command("shells.next", "f6", "next_shell", "Next shell", "Go to the next shell."),
        Command("shells.another", "f8", "another", "Another shell", "Open another shell on the same state."),
        Command("shells.close", "shift+f8", "close", "Close shell", "End this shell."),
    ),
)


def way_out(app: App[object]) -> str:
    """The key that leaves a shell, as it is called."""
    return key_shown(app, TERMINAL["terminal.leave"])


def is_for_workbench(key: str, screen: Screen[object]) -> bool:
    """Whether a key pressed in a shell is the workbench's.

    Those are the shell's own commands, by whatever keys the user gave them, and function keys that
    anything on the screen has a use for.
    """
    bound = screen.active_bindings.get(key)
    if bound is None:
        return False
    own = {command.id for offer in (TERMINAL, SHELLS) for command in offer.commands}
    return bound.binding.id in own or _FUNCTION_KEY.fullmatch(key) is not None
