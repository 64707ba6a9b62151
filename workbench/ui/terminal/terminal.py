"""The terminal widget: a program's screen, and the user's keys and mouse for it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial

from textual import events, on
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workbench.machines.machine import HostCommand
from workbench.ui.terminal.emulator import Effects, Emulator, Found
from workbench.ui.terminal.keys import TERMINAL, is_for_workbench
from workbench.ui.terminal.load import load_emulator
from workbench.ui.terminal.outside import Outside
from workbench.ui.terminal.pace import Pace
from workbench.ui.terminal.picture import Ink, Picture
from workbench.ui.terminal.pointer import Pointer
from workbench.ui.terminal.pty import HostPty
from workbench.ui.terminal.transport import Exit, Transport, TransportError

_DRAW_SECONDS = 0.01
"""After so long the rest of a picture waits for the next turn, so that keys are not held up."""


class Terminal(Widget, can_focus=True):
    """A terminal, and the one program in it.

    Every key goes to the program but those of `OFFER`, those that the shell pane offers, and function
    keys that something on the screen has a use for.
    """

    OFFER = TERMINAL
    BINDINGS = TERMINAL.bindings()
    ALLOW_SELECT = False  # it has a selection of its own, which knows lines that were wrapped
    COMPONENT_CLASSES = {  # noqa: RUF012
        "terminal--cursor",
        "terminal--selection",
        "terminal--match",
        "terminal--current",
    }
    DEFAULT_CSS = """
    Terminal {
        width: 1fr;
        height: 1fr;
        background: $surface;
        color: $foreground;

        .terminal--cursor { background: $foreground 50%; color: $surface; }
        &:focus .terminal--cursor { background: $foreground; }
        .terminal--selection { background: $primary; color: $background; }
        .terminal--match { background: $panel; color: $foreground; text-style: bold underline; }
        .terminal--current { background: $warning; color: $background; text-style: bold; }
    }
    """

    class Said(Message):
        """Something about a terminal."""

        def __init__(self, terminal: Terminal) -> None:
            super().__init__()
            self.terminal = terminal

        @property
        def control(self) -> Terminal:
            """The terminal."""
            return self.terminal

    class Exited(Said):
        """The program ended; `Terminal.ended` says how."""

    class TitleChanged(Said):
        """The program named what it does: `Terminal.title_of_program`."""

    class Scrolled(Said):
        """`Terminal.lines_below` changed."""

    class Left(Said):
        """The user wants out."""

    class SearchAsked(Said):
        """The user wants to search."""

    def __init__(
        self,
        shell: HostCommand | Transport,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        """
        Args:
            shell: The program; started when the widget is first laid out.
        """
        super().__init__(name=name, id=id, classes=classes)
        self.ended: Exit | None = None
        """How the program ended; None while it runs."""
        self.title_of_program = ""
        self.lines_below = 0
        """Newer lines than those that are shown."""
        self._transport: Transport = HostPty(shell) if isinstance(shell, HostCommand) else shell
        self._emulator: Emulator | None = None
        self._pointer: Pointer | None = None
        self._picture = Picture(0, 0)
        self._starting = False
        self._visible = True
        self._pace = Pace(self._draw)
        self._outside = Outside()
        self._ahead: list[events.Key | events.Paste] | None = []
        """What was typed before the program ran; None once it does."""

    # The program.

    @property
    def up_to_date(self) -> bool:
        """Whether the screen shows all that came in."""
        return not self._pace.is_due and self._picture.complete

    def text(self) -> str:
        """All that is kept, lines above the screen included."""
        return self._emulator.text() if self._emulator else ""

    def write(self, text: str) -> None:
        """Type `text` into the program."""
        self._send(text.encode("utf-8", "replace"))

    def _send(self, data: bytes) -> None:
        if data and self.ended is None:
            self._transport.write(data)

    async def _start(self) -> None:
        make = await asyncio.to_thread(load_emulator)
        columns, rows = self.size
        self._emulator = make(
            columns,
            rows,
            Effects(
                reply=self._send,
                bell=lambda: self._let_out("bell", self.app.bell),
                title=lambda title: self._let_out("title", partial(self._retitle, title)),
                copy=lambda text: self._let_out("copy", partial(self._copy, text, "The program")),
            ),
        )
        self._pointer = Pointer(self._emulator, self._send)
        self._picture = Picture(columns, rows)
        self.notify_style_update()
        try:
            await self._transport.start(columns, rows, self._receive, self._end)
        except TransportError as error:
            self._end(Exit(126, str(error)))
        self._fit()
        ahead, self._ahead = self._ahead or [], None
        for event in ahead:
            self._type(event)

    def _receive(self, data: bytes) -> None:
        if self._emulator:
            self._emulator.feed(data)
            self._pace.came(len(data))

    def _end(self, ended: Exit) -> None:
        self.ended = ended
        self.add_class("-ended")
        self.refresh()
        self.post_message(self.Exited(self))

    def hang_up(self) -> None:
        """End the program because what it runs on is gone."""
        if self.ended is None:
            self.ended = Exit(128 + signal.SIGHUP)
            self.add_class("-ended")
            self.run_worker(self._transport.close(), group="terminal")

    async def on_unmount(self) -> None:
        """Hang up."""
        emulator, self._emulator = self._emulator, None
        self._pace.stop()
        await self._transport.close()
        if emulator:
            emulator.close()

    def _let_out(self, kind: str, effect: Callable[[], None]) -> None:
        self._outside.put(kind, effect)
        self._draw_soon()

    def _retitle(self, title: str) -> None:
        if title != self.title_of_program:
            self.title_of_program = title
            self.post_message(self.TitleChanged(self))

    def _copy(self, text: str, who: str) -> None:
        if text:
            self.app.copy_to_clipboard(text)
            self.app.notify(f"{who} copied {len(text)} characters to the clipboard.", timeout=2)

    # The picture.

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # A widget whose place was asked for between its mounting and its layout gets neither Resize nor Show
        # from Textual 8.2 (Compositor.full_map forgets that it is new). This is called at every layout.
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed or not self._visible or not self._starting:
            self.call_later(self._laid_out)
        return changed

    def _laid_out(self) -> None:
        """Start, or tell the program its new size; and draw what came while it was out of sight."""
        self._visible = True
        if self._emulator:
            self._fit()
            self._draw_soon()
        elif self.size.area and not self._starting and self.is_attached:
            self._starting = True
            self.run_worker(self._start(), group="terminal")

    def _fit(self) -> None:
        emulator, (columns, rows) = self._emulator, self.size
        if emulator and self.size.area and (columns, rows) != (emulator.columns, emulator.rows):
            self._picture = Picture(columns, rows)
            emulator.resize(columns, rows)
            self._transport.resize(columns, rows)
            self._draw_soon()

    def on_hide(self) -> None:
        """Draw nothing more."""
        self._visible = False

    def notify_style_update(self) -> None:
        """Let programs that ask know what the colours are now."""
        super().notify_style_update()
        if self._emulator:
            *_, background, foreground = self.colors
            self._emulator.set_colors(foreground.rgb, background.rgb)
            self._draw_soon()

    def _draw_soon(self) -> None:
        if self._emulator:
            self._pace.soon()

    def _draw(self, now: float) -> bool:
        if not (emulator := self._emulator):
            return False
        self._outside.let_out(now)
        waits = self._visible and self._pace.waits(now, held=emulator.drawing)
        if self._visible and not waits:
            self._paint(emulator)
            self._pace.painted(now)
        return waits or self._outside.waits or not self._picture.complete

    def _paint(self, emulator: Emulator) -> None:
        width = self.size.width
        if touched := self._picture.take(emulator, _DRAW_SECONDS):
            self.refresh(*(Region(0, y, width, 1) for y in touched))
        if self.has_focus and (cursor := self._picture.cursor):
            # Where input methods show what is being composed.
            self.app.cursor_position = self.content_region.offset + Offset(cursor.x, cursor.y)
        if (below := emulator.scroll.below) != self.lines_below:
            self.lines_below = below
            self.post_message(self.Scrolled(self))

    def render_line(self, y: int) -> Strip:
        """One line of the picture."""
        style = self.get_component_rich_style
        ink = Ink(
            text=self.rich_style,
            cursor=None if self.ended else style("terminal--cursor"),
            selection=style("terminal--selection"),
            match=style("terminal--match"),
            current=style("terminal--current"),
        )
        return self._picture.line(y, ink)

    # Scrolling, searching, copying.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to the program where they would do nothing here."""
        if self._emulator is None or action not in {"scroll_page", "scroll_end", "copy"}:
            return True
        return self._emulator.selected if action == "copy" else not self._emulator.alternate

    def action_scroll_page(self, pages: int) -> None:
        """Show older lines (negative) or newer ones."""
        if self._emulator:
            self._emulator.scroll_by(pages * max(1, self.size.height - 1))
            self._draw_soon()

    def action_scroll_end(self) -> None:
        """Show what is written now."""
        if self._emulator:
            self._emulator.scroll_to_end()
            self._draw_soon()

    def action_search(self) -> None:
        """Ask for what to search."""
        self.post_message(self.SearchAsked(self))

    def search(self, text: str) -> Found:
        """Seek `text` in all that is kept and show the newest place; an empty text ends the search."""
        if self._emulator:
            self._emulator.search(text)
        return self.search_next()

    def search_next(self, *, newer: bool = False) -> Found:
        """Show the next older place, or newer."""
        if not self._emulator:
            return Found(0, 0)
        self._draw_soon()
        return self._emulator.search_next(newer=newer)

    def action_copy(self) -> None:
        """Put the selected text on the clipboard."""
        if self._emulator:
            self._copy(self._emulator.selection(), "You")

    # Keys and mouse.

    def action_leave(self) -> None:
        """Ask for the focus to go elsewhere."""
        self.post_message(self.Left(self))

    def on_key(self, event: events.Key) -> None:
        """Give the key to the program, unless the workbench has it."""
        if is_for_workbench(event.key, self.screen) or (self.ended and event.key in {"enter", "escape"}):
            return
        # Also of a program that ended: what was typed ahead for it must not reach the workbench.
        event.stop()
        event.prevent_default()
        self._type(event)

    def on_paste(self, event: events.Paste) -> None:
        """Give pasted text to the program."""
        event.stop()
        self._type(event)

    def _type(self, event: events.Key | events.Paste) -> None:
        if self._ahead is not None:
            self._ahead.append(event)
        elif emulator := self._emulator:
            if isinstance(event, events.Paste):
                data = emulator.encode_paste(event.text)
            else:
                data = emulator.encode_key(event.key, event.character)
            if data:
                emulator.scroll_to_end()
                self._send(data)

    def on_focus(self) -> None:
        """Tell the program, if it asked."""
        if self._emulator:
            self._send(self._emulator.encode_focus(True))

    def on_blur(self) -> None:
        """Tell the program, if it asked."""
        if self._emulator:
            self._send(self._emulator.encode_focus(False))

    def _cell(self, event: events.MouseEvent) -> Offset:
        return event.offset - self.gutter.top_left

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin a selection, or tell the program."""
        event.stop()
        if self._pointer:
            self.capture_mouse()
            self._pointer.press(event, self._cell(event))
            self._draw_soon()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection, or tell the program."""
        if self._pointer and self._pointer.move(event, self._cell(event)):
            self._draw_soon()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Copy what was selected, or tell the program."""
        self.release_mouse()
        if self._pointer and self._pointer.release(event, self._cell(event)):
            self.action_copy()

    def on_click(self, event: events.Click) -> None:
        """Select and copy a word by two clicks, a line by three."""
        if self._pointer and self._pointer.click(event, self._cell(event), event.chain):
            self.action_copy()
            self._draw_soon()

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    @on(events.MouseScrollLeft)
    @on(events.MouseScrollRight)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        if self._pointer:
            self._pointer.wheel(event, self._cell(event))
            self._draw_soon()
