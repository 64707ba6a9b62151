"""Text that does something when it is clicked."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style


def clickable(content: Content, action: str) -> Content:
    """The same, where a click does what an action does, such as `screen.images`."""
    return content.stylize(Style.from_meta({"@click": action}))
