"""Everything a user can do, said once: keys, palette and help are all made from here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True)
class Command:
    """One thing to do."""

    id: str
    """Names it in a keymap."""
    keys: str
    """Keys, separated by commas."""
    action: str
    """The action that does it, on the node that the command belongs to."""
    title: str
    """What the footer, the palette and the help call it."""
    help: str
    """One sentence more."""
    show: bool = False
    """Whether the footer has it."""
    priority: bool = False
    """Whether it works wherever the focus is, also in a shell; only for function keys."""

    def binding(self) -> Binding:
        """The command as Textual binds it."""
        return Binding(
            self.keys,
            self.action,
            self.title,
            show=self.show,
            priority=self.priority,
            tooltip=self.help,
            id=self.id,
        )


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    """Commands as a node's bindings."""
    return [command.binding() for command in commands]


APP = (
    Command("help", "question_mark,f1", "help", "Help", "All keys of this screen, with what they do.", True),
    Command("palette", "ctrl+p,f2", "command_palette", "Commands", "Find any command by its name.", True),
    Command(
        "theme", "f3", "change_theme", "Theme", "Choose a theme; yours are read from your configuration."
    ),
    Command(
        "engine.restart", "R", "restart_engine", "Restart the engine", "Start another engine after one ended."
    ),
    Command("quit", "q,ctrl+q", "quit", "Quit", "Stop everything that runs and leave.", True),
)

MAIN = (
    Command("run.case", "r", "run_case", "Run", "Run the selected case as a whole trial.", True),
    Command("run.all", "a,f5", "run_all", "Run all", "Run every case of the task.", True),
    Command("run.failing", "f", "run_failing", "Run unmet", "Run the cases whose expectation is not met."),
    Command("run.cancel", "x", "cancel", "Cancel", "Cancel what the selected case runs or waits for.", True),
    Command("run.cancel-all", "X", "cancel_all", "Cancel all", "Cancel everything that runs or waits."),
    Command("watch.toggle", "p", "toggle_watching", "Pause", "Pause or resume watching the files.", True),
    Command("case.deciding", "exclamation_mark", "deciding", "Deciding case", "Go to the case that decides."),
    Command("run.older", "left_square_bracket", "older", "Older run", "Show the run of this case before."),
    Command("run.newer", "right_square_bracket", "newer", "Newer run", "Show the run of this case after."),
    Command("pane.cases", "1", "focus_pane('cases')", "Cases", "Go to the cases."),
    Command("pane.problems", "2", "focus_pane('problems')", "Problems", "Go to the problems."),
    Command("pane.run", "3", "focus_pane('run')", "Run pane", "Go to the selected run."),
    Command(
        "pane.maximise", "z", "maximise", "Maximise", "Let the focused pane fill the screen, or undo it."
    ),
)

LIST = (
    Command("list.down", "j", "cursor_down", "Down", "Go to the next line."),
    Command("list.up", "k", "cursor_up", "Up", "Go to the line before."),
    Command("list.first", "g", "first", "First", "Go to the first line."),
    Command("list.last", "G", "last", "Last", "Go to the last line."),
)

OUTPUT = (
    Command("output.follow", "F,end,G", "follow", "Follow", "Go to the end and stay there as output comes."),
    Command("output.top", "g,home", "top", "Top", "Go to the first line."),
    Command("output.down", "j", "scroll_down", "Down", "Scroll down by a line."),
    Command("output.up", "k", "scroll_up", "Up", "Scroll up by a line."),
    Command("output.raw", "u", "toggle_raw", "Raw", "Show colour sequences instead of colours."),
)
