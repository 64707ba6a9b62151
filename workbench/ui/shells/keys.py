"""What can be done from a shell: by function keys, for all others go to the shell."""

from __future__ import annotations

from workbench.ui.commands import Command, Offer
from workbench.ui.terminal.keys import SHELLS

DRAFT = Command(
    "shells.draft",
    "f9",
    "draft",
    "Draft",
    "Write what was typed in this shell as a solution or a new negative, for you to edit.",
    True,
)
EDIT_DRAFT = Command(
    "shells.edit-draft",
    "shift+f9",
    "edit_draft",
    "Edit draft",
    "Open what was drafted last in your editor.",
)
OWN = (
    Command(
        "shells.try",
        "f7",
        "try_here",
        "Try here",
        "Run the task's verifier on a branch of this shell's machine as it stands now.",
        True,
    ),
    DRAFT,
    EDIT_DRAFT,
    Command(
        "shells.bring-in",
        "f10",
        "bring_in",
        "Bring in tests",
        "Copy the task's tests and solution into this shell's machine.",
        True,
    ),
    Command(
        "shells.maximise",
        "f12",
        "maximise",
        "Maximise shell",
        "Let the shells fill the screen, or undo it.",
    ),
)

TASK_SHELLS = Offer("Shells", (*OWN, *SHELLS.commands))
