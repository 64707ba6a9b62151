"""What can be done in what lies over a screen, and in lines to type in."""

from __future__ import annotations

from workbench.ui.commands import Command, Offer

EVERYWHERE = Offer(
    "Everywhere",
    (
        Command("overlay.help", "question_mark,f1", "app.help", "Help", "All keys, with what they do.", True),
        Command(
            "overlay.palette",
            "ctrl+p,f2",
            "app.command_palette",
            "Commands",
            "Find any command by its name.",
            True,
        ),
        Command("overlay.quit", "ctrl+q", "app.quit", "Quit", "Stop everything that runs and leave."),
    ),
)
"""In overlays, which take no keys from what is beneath."""

HELP = Offer(
    "Help",
    (
        Command("help.close", "escape,f1", "dismiss", "Close", "Close the help."),
        Command("help.down", "down", "scroll(1)", "Down", "Scroll down."),
        Command("help.up", "up", "scroll(-1)", "Up", "Scroll up."),
        Command("help.page-down", "pagedown", "scroll(10)", "Page down", "Scroll down by ten lines."),
        Command("help.page-up", "pageup", "scroll(-10)", "Page up", "Scroll up by ten lines."),
    ),
)
GOTO = Offer(
    "Go to",
    (
        Command("goto.close", "escape", "dismiss", "Close", "Go nowhere."),
        Command("goto.down", "down,ctrl+n", "move(1)", "Down", "Select the next one."),
        Command("goto.up", "up,ctrl+p", "move(-1)", "Up", "Select the one before."),
    ),
)
NOTICES = Offer(
    "Notices", (Command("notices.close", "escape,at", "dismiss", "Close", "Close the notices.", True),)
)
COSTS = Offer("Costs", (Command("costs.close", "escape,m", "dismiss", "Close", "Close the costs.", True),))
IMAGES = Offer(
    "Images",
    (
        Command("images.close", "escape,b", "dismiss", "Close", "Close the builds.", True),
        Command(
            "images.cancel",
            "x",
            "cancel_build",
            "Cancel",
            "End the build that runs; the image before goes on serving.",
        ),
        Command(
            "images.ask",
            "u",
            "ask_registries",
            "Ask registries",
            "Ask whether the names of images in registries have moved.",
        ),
        Command(
            "images.fetch",
            "U",
            "ask_registries(True)",
            "Fetch",
            "Fetch the images of registries whose names have moved, and build on them.",
        ),
    ),
)
DRAFT = Offer("Draft", (Command("draft.cancel", "escape", "dismiss", "Cancel", "Write nothing."),))
SEARCH_LINE = Offer(
    "Search", (Command("search.leave", "escape", "leave", "Leave", "Forget what was searched for.", True),)
)
OWN_TERMINAL = Offer(
    "Shell",
    (
        Command("shell.run", "enter", "run", "Open the shell", "Give the screen to the shell.", True),
        Command("shell.copy-command", "c", "copy", "Copy command", "Copy it, for another terminal.", True),
    ),
)

BOARD = Offer(
    "Trials",
    (
        Command("board.left", "left,h", "move(-1, 0)", "Left", "Select the trial to the left."),
        Command("board.right", "right,l", "move(1, 0)", "Right", "Select the trial to the right."),
        Command("board.up", "up,k", "move(0, -1)", "Up", "Select the trial above."),
        Command("board.down", "down,j", "move(0, 1)", "Down", "Select the trial below."),
        Command("board.choose", "enter", "choose", "Look", "Look at the selected trial.", True),
    ),
)

GRID = Offer(
    "Live trials",
    (
        Command("grid.repeat", "r", "repeat", "Repeat", "Run the case so many times more.", True),
        Command("grid.cancel", "x,X", "cancel", "Cancel", "Cancel every trial that runs or waits.", True),
        Command(
            "grid.present",
            "P",
            "present",
            "Present",
            "Show fewer words in larger letters, to be read from afar, or all.",
            True,
        ),
        Command("grid.close", "escape,D", "dismiss", "Back", "Go back to the task.", True),
    ),
)
