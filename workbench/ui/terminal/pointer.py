"""The mouse over a terminal: the program's where it asked for it, else for selecting and scrolling."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.events import MouseEvent
from textual.geometry import Offset

from workbench.ui.terminal.emulator import Emulator, MouseAction

_LEFT = 1
_WHEEL_UP, _WHEEL_DOWN = 4, 5
_WHEEL: dict[type[events.MouseEvent], int] = {
    events.MouseScrollUp: _WHEEL_UP,
    events.MouseScrollDown: _WHEEL_DOWN,
    events.MouseScrollLeft: 6,
    events.MouseScrollRight: 7,
}
_WHEEL_LINES = 3
_WHEEL_KEYS = {_WHEEL_UP: "up", _WHEEL_DOWN: "down"}


class Pointer:
    """Tells the program or the emulator what the mouse does. Shift keeps it from the program."""

    def __init__(self, emulator: Emulator, send: Callable[[bytes], None]) -> None:
        self._emulator = emulator
        self._send = send
        self._anchor: Offset | None = None
        self._selecting = False

    def press(self, event: MouseEvent, at: Offset) -> None:
        """A button went down."""
        if self._for_program(event):
            self._tell("press", event.button, event, at)
        elif event.button == _LEFT:
            self._emulator.select_none()
            self._anchor, self._selecting = at, False

    def move(self, event: MouseEvent, at: Offset) -> bool:
        """The mouse is elsewhere, perhaps beyond the edge while a button is held; whether that selects."""
        if self._anchor is None:
            if self._for_program(event):
                self._tell("move", event.button, event, at)
            return False
        if not self._selecting:
            if at == self._anchor:
                return False
            self._emulator.select(*self._anchor)
            self._selecting = True
        if beyond := min(at.y, 0) or max(at.y - self._emulator.rows + 1, 0):
            self._emulator.scroll_by(beyond)
        self._emulator.select_to(*at)
        return True

    def release(self, event: MouseEvent, at: Offset) -> bool:
        """A button went up; whether that ended a selection."""
        selected, self._anchor, self._selecting = self._selecting, None, False
        if not selected and self._for_program(event):
            self._tell("release", event.button, event, at)
        return selected

    def click(self, event: MouseEvent, at: Offset, times: int) -> bool:
        """So many clicks in the same place; whether they selected something."""
        if times not in {2, 3} or self._for_program(event):
            return False
        self._emulator.select(*at, "word" if times == 2 else "line")
        return True

    def wheel(self, event: MouseEvent, at: Offset) -> None:
        """The wheel turned by one notch. Full-screen programs without a use for the mouse get arrows."""
        button = _WHEEL[type(event)]
        if self._for_program(event):
            self._tell("press", button, event, at)
        elif button in _WHEEL_KEYS and self._emulator.alternate:
            self._send(self._emulator.encode_key(_WHEEL_KEYS[button], None) * _WHEEL_LINES)
        elif button in _WHEEL_KEYS:
            self._emulator.scroll_by(-_WHEEL_LINES if button == _WHEEL_UP else _WHEEL_LINES)

    def _for_program(self, event: MouseEvent) -> bool:
        return self._emulator.wants_mouse and not event.shift

    def _tell(self, action: MouseAction, button: int, event: MouseEvent, at: Offset) -> None:
        self._send(
            self._emulator.encode_mouse(
                action, button, at.x, at.y, shift=event.shift, alt=event.meta, ctrl=event.ctrl
            )
        )
