"""Drawing no more than what changed: a layout of the whole screen costs more than all else together."""

from __future__ import annotations

from typing import cast
from weakref import WeakKeyDictionary

from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

_titles: WeakKeyDictionary[Widget, tuple[str, str]] = WeakKeyDictionary()


def put(static: Static, content: Content) -> None:
    """Show content, unless it is shown already; the screen is laid out anew only when its height changes."""
    before = static.content
    if isinstance(before, Content) and before.is_same(content):
        return
    width = static.content_size.width
    height = content.get_height(cast(RulesMap, static.styles), width) if width else -1
    static.update(content, layout=height != static.content_size.height)


def draw_now(screen: Screen[object]) -> None:
    """Draw what changed at once.

    Textual has every widget wait until it is idle, and then for the next frame, so that what else there is to
    do comes in between.
    """
    changed = {widget for widget in screen._compositor.visible_widgets if widget._repaint_required}
    for widget in changed:
        widget._repaint_required = False
    screen._dirty_widgets |= changed
    screen._on_timer_update()


def entitle(widget: Widget, title: str, subtitle: str = "") -> None:
    """Write plain text on a widget's border, unless it stands there already."""
    before = _titles.get(widget, ("", ""))
    _titles[widget] = title, subtitle
    # Textual's own setters draw all of the widget anew, where two lines of it will do. Content, not text,
    # so that brackets are no markup.
    width, height = widget.outer_size
    if before[0] != title:
        widget._border_title = Content(title)
        widget.refresh(Region(-1, -1, width, 1))
    if before[1] != subtitle:
        widget._border_subtitle = Content(subtitle)
        widget.refresh(Region(-1, height - 2, width, 1))
