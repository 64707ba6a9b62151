"""What can be done everywhere, on the screens of tasks and runs, and in their panes."""

from __future__ import annotations

from workbench.ui.commands import Command, Offer

APP = Offer(
    "Everywhere",
    (
        Command(
            "help", "question_mark,f1", "help", "Help", "All keys of this screen, with what they do.", True
        ),
        Command("palette", "ctrl+p,f2", "command_palette", "Commands", "Find any command by its name.", True),
        Command("notices", "at", "notices", "Notices", "Show everything that notices have said."),
        Command(
            "suspend", "ctrl+z", "suspend_process", "Suspend", "Go back to the shell; `fg` brings this back."
        ),
        Command("theme", "f3", "change_theme", "Theme", "Choose among the shipped themes and your own."),
        Command(
            "engine.restart",
            "R",
            "restart_engine",
            "Restart engine",
            "Start another engine after one ended.",
        ),
        Command("quit", "q,ctrl+q", "quit", "Quit", "Stop everything that runs and leave.", True),
    ),
)

COMPARE_WITH = Command(
    "run.compare-with",
    "C",
    "compare_with",
    "Compare with",
    "See the shown run beside any other: of this session, of another day, of another task.",
)
MAIN = Offer(
    "Task",
    (
        Command("run.case", "r", "run_case", "Run", "Run the selected case as a whole trial.", True),
        Command("run.all", "a,f5", "run_all", "Run all", "Run every case of the task.", True),
        Command(
            "run.unmet", "f", "run_unmet", "Run unmet", "Run the cases that did not come out as they must."
        ),
        Command(
            "run.cancel", "x", "cancel", "Cancel", "Cancel what the selected case runs or waits for.", True
        ),
        Command("run.cancel-all", "X", "cancel_all", "Cancel all", "Cancel everything that runs or waits."),
        Command("shell.case", "s", "shell", "Shell", "Open a shell on what the selected case left.", True),
        Command("shell.image", "S", "shell(True)", "Shell on the image", "Open a shell on the task's image."),
        Command("images", "b", "images", "Builds", "Show the images that are built, step by step."),
        Command("costs", "m", "costs", "Costs", "Show what machines and states take of memory and CPU."),
        Command("watch.toggle", "p", "toggle_watching", "Pause", "Pause or resume watching the files.", True),
        Command(
            "trace.toggle",
            "t",
            "toggle_tracing",
            "Trace",
            "Let the oracle's script leave a trajectory too, from its next run on, or only the negatives'.",
        ),
        Command(
            "case.deciding", "d", "deciding", "Deciding case", "Go to the case that decides the verdict."
        ),
        Command(
            "trials",
            "D",
            "trials",
            "Live trials",
            "See all trials of the case at once, and run more.",
        ),
        Command(
            "run.older", "comma,H", "older", "Older run", "Show the run of this case before the shown one."
        ),
        Command(
            "run.newer", "full_stop,L", "newer", "Newer run", "Show the run of this case after the shown one."
        ),
        Command(
            "goto", "colon", "goto", "Go to", "Go to a case, a run, a tab, a task, or a line by its number."
        ),
        Command(
            "case.find",
            "slash",
            "find_case",
            "Find case",
            "Find a case, or another task, by a part of its name.",
        ),
        Command(
            "edit",
            "e",
            "edit",
            "Edit",
            "Open the selected problem's file, or the case's script, in the editor.",
        ),
        Command(
            "run.copy-path", "Y", "copy_path", "Copy path", "Copy the path of the run's trial directory."
        ),
        Command(
            "layout.narrower",
            "less_than_sign,ctrl+left",
            "resize(0, -1)",
            "Narrower",
            "Make the left column narrower.",
        ),
        Command(
            "layout.wider",
            "greater_than_sign,ctrl+right",
            "resize(0, 1)",
            "Wider",
            "Make the left column wider.",
        ),
        Command("layout.higher", "ctrl+up", "resize(1, 1)", "Higher shells", "Give the shells more lines."),
        Command("layout.lower", "ctrl+down", "resize(1, -1)", "Lower shells", "Give the shells fewer lines."),
        Command("run.mark", "space,M", "mark", "Mark", "Mark the shown run, to compare it with another."),
        Command(
            "run.compare",
            "c",
            "compare",
            "Compare",
            "See the two marked runs, else the shown one beside the marked, the one before, or the oracle's.",
            True,
        ),
        COMPARE_WITH,
        Command("pane.cases", "1", "focus_pane('cases')", "Go to cases", "Go to the cases."),
        Command("pane.problems", "2", "focus_pane('problems')", "Go to problems", "Go to the problems."),
        Command("pane.run", "3", "focus_pane('run')", "Go to the run", "Go to the selected run."),
        Command("pane.shells", "4", "focus_pane('shells')", "Go to the shells", "Go to the shells."),
        Command(
            "tab.previous", "left_square_bracket", "tab(-1)", "Previous tab", "Show the tab to the left."
        ),
        Command("tab.next", "right_square_bracket", "tab(1)", "Next tab", "Show the tab to the right."),
        Command(
            "pane.maximise", "z", "maximise", "Maximise", "Let the focused pane fill the screen, or undo it."
        ),
        Command("back", "escape", "back", "Back", "Go back to the cases.", True),
    ),
)

LIST = Offer(
    "Lists",
    (
        Command("list.down", "down,j", "cursor_down", "Down", "Go to the next line."),
        Command("list.up", "up,k", "cursor_up", "Up", "Go to the line before."),
        Command("list.choose", "enter", "select", "Choose", "Go on to what the line stands for."),
        Command("list.copy", "y", "copy", "Copy", "Copy the selected line."),
        Command("list.page-down", "pagedown", "page_down", "Page down", "Go a page down."),
        Command("list.page-up", "pageup", "page_up", "Page up", "Go a page up."),
        Command("list.first", "home,g", "first", "First", "Go to the first line."),
        Command("list.last", "end,G", "last", "Last", "Go to the last line."),
    ),
)

CASES = Offer(
    "Cases",
    (
        Command(
            "cases.order",
            "o",
            "order",
            "Order",
            "List the cases as found, the worst first, the slowest first, or by name.",
        ),
        Command(
            "cases.only",
            "i",
            "only",
            "List only",
            "List only cases that are not as they must be, only those that run, or all.",
        ),
    ),
)

TESTS = Offer(
    "Tests",
    (
        Command(
            "tests.edit",
            "e",
            "edit",
            "Open place",
            "Open the file that the test's message names in the editor.",
        ),
    ),
)

READING = Offer(
    "Text beside a list",
    (
        Command(
            "reading.leave",
            "escape",
            "leave",
            "To the list",
            "Go back from the text of a test, a step or a file to the list.",
            True,
        ),
    ),
)

TRAJECTORY = Offer(
    "Trajectory",
    (
        Command("trajectory.next", "down,j,l", "cursor_down", "Next step", "Show the next step."),
        Command("trajectory.previous", "up,k,h", "cursor_up", "Previous step", "Show the step before."),
        Command("trajectory.first", "home,g", "first", "First step", "Show the first step."),
        Command("trajectory.last", "end,G", "last", "Last step", "Show the last step."),
        Command("trajectory.page-down", "pagedown", "page_down", "Page down", "Go on by a page of steps."),
        Command("trajectory.page-up", "pageup", "page_up", "Page up", "Go back by a page of steps."),
        Command(
            "trajectory.read",
            "enter",
            "select",
            "Read the step",
            "Go to the step's text, to scroll and search it.",
        ),
        Command(
            "trajectory.filter",
            "slash",
            "filter",
            "Filter steps",
            "Show only steps that say something.",
            True,
        ),
    ),
)

OUTPUT = Offer(
    "Output",
    (
        Command("output.search", "slash", "search", "Search", "Search in the output.", True),
        Command("output.next", "n", "next_match", "Next match", "Go to the next match."),
        Command("output.previous", "N", "next_match(-1)", "Previous match", "Go to the match before."),
        Command(
            "output.failure",
            "exclamation_mark",
            "first_failure",
            "First failure",
            "Go to the first line that speaks of a failure.",
            True,
        ),
        Command("output.follow", "F,end,G", "follow", "Follow", "Go to the end and stay there.", True),
        Command("output.top", "g,home", "top", "Top", "Go to the first line."),
        Command("output.down", "j", "scroll_down", "Down", "Scroll down by a line."),
        Command("output.up", "k", "scroll_up", "Up", "Scroll up by a line."),
        Command("output.wrap", "w", "toggle_wrap", "Wrap", "Break long lines, or let them run out of sight."),
        Command("output.copy", "y", "copy", "Copy", "Copy what is selected, else all of the output."),
        Command("output.edit", "e", "edit", "Open place", "Open the file that is named here in the editor."),
        Command("output.pager", "v", "pager", "Pager", "Show all of the output in the pager."),
        Command("output.raw", "u", "toggle_raw", "Raw", "Show colour sequences instead of colours."),
    ),
)

ALIGNED = Offer(
    "Side by side",
    (
        Command(
            "aligned.next", "n", "difference", "Next difference", "Go to the next place that differs.", True
        ),
        Command(
            "aligned.previous",
            "N",
            "difference(-1)",
            "Previous difference",
            "Go to the place before that differs.",
        ),
        Command(
            "aligned.switch",
            "o",
            "switch",
            "Other side",
            "Show the other run, where only one has room.",
            True,
        ),
        Command("aligned.down", "down,j", "scroll_down", "Down", "Scroll down by a line."),
        Command("aligned.up", "up,k", "scroll_up", "Up", "Scroll up by a line."),
        Command("aligned.left", "left", "scroll_left", "Left", "Scroll both to the left."),
        Command("aligned.right", "right", "scroll_right", "Right", "Scroll both to the right."),
        Command("aligned.top", "home,g", "scroll_home", "Top", "Go to the top."),
        Command("aligned.end", "end,G", "scroll_end", "End", "Go to the end."),
    ),
)

COMPARE = Offer(
    "Two runs",
    (
        Command("compare.swap", "x", "swap", "Swap", "Make the right one the baseline on the left.", True),
        Command(
            "compare.previous-tab",
            "left_square_bracket",
            "tab(-1)",
            "Previous tab",
            "Show the tab to the left.",
        ),
        Command(
            "compare.next-tab",
            "right_square_bracket",
            "tab(1)",
            "Next tab",
            "Show the tab to the right.",
            True,
        ),
        Command("compare.close", "escape,c", "close", "Back", "Go back to the task.", True),
    ),
)

TEXT = Offer(
    "Text",
    (
        Command("text.down", "j", "scroll_down", "Down", "Scroll down by a line."),
        Command("text.up", "k", "scroll_up", "Up", "Scroll up by a line."),
        Command("text.top", "g", "scroll_home", "Top", "Go to the top."),
        Command("text.end", "G", "scroll_end", "End", "Go to the end."),
    ),
)

PLAYER_STEP, PLAYER_LEAP = 5, 60
"""Seconds that one key goes forth or back in a recording, and another."""

PLAYER = Offer(
    "Player",
    (
        Command("play.pause", "space", "pause", "Pause", "Pause the recording, or play on.", priority=True),
        Command(
            "play.back",
            "left",
            f"skip(-{PLAYER_STEP})",
            "Back",
            f"Go back by {PLAYER_STEP} seconds.",
            priority=True,
        ),
        Command(
            "play.forth",
            "right",
            f"skip({PLAYER_STEP})",
            "Forth",
            f"Go on by {PLAYER_STEP} seconds.",
            priority=True,
        ),
        Command(
            "play.far-back",
            "shift+left",
            f"skip(-{PLAYER_LEAP})",
            "Far back",
            f"Go back by {PLAYER_LEAP} seconds.",
            priority=True,
        ),
        Command(
            "play.far-forth",
            "shift+right",
            f"skip({PLAYER_LEAP})",
            "Far forth",
            f"Go on by {PLAYER_LEAP} seconds.",
            priority=True,
        ),
        Command("play.faster", "plus,equals_sign", "faster(1)", "Faster", "Play faster.", priority=True),
        Command("play.slower", "minus", "faster(-1)", "Slower", "Play slower.", priority=True),
    ),
)
