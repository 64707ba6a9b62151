"""When an app has nothing left to do.

Textual's own `wait_for_idle` takes a process that uses no processor for one that has nothing to do. On a busy
machine it has a lot to do, and no processor.
"""

from __future__ import annotations

import asyncio
import time

from textual._context import active_app
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen

_ROUNDS = 3
"""Turns of the loop in a row in which there has to be nothing to do."""
_TURN = 0.001


async def rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until there is nothing to do, but no longer than `max_sleep` seconds: some are never done."""
    app = active_app.get()
    until = time.monotonic() + max_sleep
    rounds = 0
    while rounds < _ROUNDS and time.monotonic() < until:
        await asyncio.sleep(_TURN)
        rounds = 0 if _is_busy(app) else rounds + 1


def _is_busy(app: App[object]) -> bool:
    screens = [screen for stack in app._screen_stacks.values() for screen in stack]
    if app.screen._dirty_widgets or app.screen._layout_required or any(map(_is_waited_for, screens)):
        return True
    return _has_messages(app) or any(
        _has_messages(node) for s in screens for node in s.walk_children(with_self=True)
    )


def _is_waited_for(screen: Screen[object]) -> bool:
    return bool(screen._callbacks) and screen.is_current


def _has_messages(pump: MessagePump) -> bool:
    queue = pump._message_queue
    return bool(pump._next_callbacks) or (queue is not None and not queue.empty())
