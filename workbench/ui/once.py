"""What is done once, later, on a widget's own loop."""

from __future__ import annotations

from textual.message_pump import MessagePump
from textual.timer import Timer, TimerCallback


def once(pump: MessagePump, seconds: float, callback: TimerCallback) -> Timer:
    """Call something after so many seconds, whatever holds the process up meanwhile.

    Textual's own `set_timer` takes a timer that begins after it should have ended for a missed tick, and
    skips it: the callback is then never called. With what is left of a frame, a moment is enough for that.
    """
    timer = pump.set_timer(seconds, callback)
    timer._skip = False
    return timer
