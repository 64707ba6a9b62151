"""What goes wrong with images, in words for the task's author."""

from __future__ import annotations

ROOM_HINT = "free some room, or remove images that are not in use: workbench images --prune"


class ImageError(Exception):
    """An image could not be read, built, kept or unpacked.

    Attributes:
        hint: What to do next, empty where nothing can be said.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
