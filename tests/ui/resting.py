"""When an app has nothing left to do.

Textual's own `wait_for_idle` takes a process that uses no processor for one that has nothing to do. On a busy
machine it has a lot to do, and no processor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from textual._context import active_app
from textual.app import App
from textual.message_pump import MessagePump

_ROUNDS = 3
"""Turns of the loop in a row in which there has to be nothing to do."""
_TURN = 0.001
_SOON = 1.0
"""Seconds. Notices stay longer."""


async def rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until there is nothing to do, but no longer than `max_sleep` seconds: some are never done."""
    app = active_app.get()
    until = time.monotonic() + max_sleep
    rounds = 0
    while rounds < _ROUNDS and time.monotonic() < until:
        await asyncio.sleep(_TURN)
        rounds = 0 if _is_busy(app) else rounds + 1


def is_about_to_change(app: App[Any]) -> bool:
    """Whether a timer strikes soon that draws something."""
    return any(
        timer._repeat == 0 and timer._interval < _SOON and timer._task is not None and not timer._task.done()
        for pump in _pumps(app)
        for timer in pump._timers
    )


def _pumps(app: App[Any]) -> Iterator[MessagePump]:
    yield app
    for stack in app._screen_stacks.values():
        for screen in stack:
            yield from screen.walk_children(with_self=True)


def _is_busy(app: App[Any]) -> bool:
    screen = app.screen
    return bool(
        screen._dirty_widgets
        or screen._layout_required
        or screen._callbacks
        or any(map(_has_messages, _pumps(app)))
    )


def _has_messages(pump: MessagePump) -> bool:
    queue = pump._message_queue
    return bool(pump._next_callbacks) or (queue is not None and not queue.empty())
