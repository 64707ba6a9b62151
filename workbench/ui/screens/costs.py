"""What machines and states cost the host now."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from workbench.events import MachineCost
from workbench.machines.machine import GuestUsage
from workbench.session import Session
from workbench.ui import words
from workbench.ui.commands import is_offered, key_shown
from workbench.ui.figures import count, memory
from workbench.ui.overlay_commands import COSTS
from workbench.ui.screen_commands import MAIN
from workbench.ui.screens.live import LiveScreen
from workbench.ui.visible import one_line

_FIGURE = 11
_LEAST = 16
_WHOLE = 32
"""Columns from which on a name says also what the heading above it does."""


class CostsScreen(LiveScreen[None]):
    """An overlay with a line for each."""

    CSS_PATH = "costs.tcss"
    OFFER = COSTS
    BINDINGS = COSTS.bindings()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(id="costs"):
            yield Static(id="costs-text")

    def on_mount(self) -> None:
        """Name the overlay, and show what is known."""
        self.query_one("#costs").border_title = "What machines and states cost"
        self.query_one("#costs").border_subtitle = Content(
            f"{key_shown(self.app, COSTS['costs.close'])} closes"
        )
        self.refresh_views()

    def refresh_views(self) -> None:
        """Show the newest figures."""
        room = self.query_one("#costs-text").content_size.width
        text = _table(self._session, room) or Content.styled(self._none(), words.MUTED)
        self.query_one("#costs-text", Static).update(text)

    def _none(self) -> str:
        none = "No machine and no state is alive."
        if not is_offered(self.app, "shell.case"):
            return none
        return f"{none} Shells and runs make them; {key_shown(self.app, MAIN['shell.case'])} opens a shell."

    def on_resize(self) -> None:
        """Fit the columns again."""
        self.call_after_refresh(self.refresh_views)


def _table(session: Session, room: int) -> Content | None:
    """None where nothing is alive."""
    costs = None if session.stopped else session.costs
    if costs is None or not (costs.machines or costs.states):
        return None
    lines = [
        *_part("machine", "on", costs.machines, ("memory", "CPU", "processes"), room),
        Content(),
        *_part("state", "with", costs.states, ("memory",), room),
        Content(),
        Content.styled(
            "Memory is the host's: that of a machine's processes, and what keeping a state takes. "
            "States beyond the budget go, the least recently used first.",
            words.MUTED,
        ),
    ]
    return Content("\n").join(lines)


def _part(
    what: str, holds: str, alive: tuple[MachineCost, ...], figures: tuple[str, ...], room: int
) -> list[Content]:
    width = max(_LEAST, room - 3 * _FIGURE)
    total = sum(one.memory_bytes for one in alive)
    head = _cut(count(len(alive), what), width) + "".join(f"{name:>{_FIGURE}}" for name in figures)
    rows = [head.stylize(words.MUTED)]
    for one in sorted(alive, key=lambda one: -one.memory_bytes):
        cells = [memory(one.memory_bytes), words.seconds(one.cpu_seconds), str(one.processes)]
        name = f"{what} {holds} {one.stands_on}" if width >= _WHOLE else one.stands_on
        rows.append(_cut(name, width) + "".join(f"{cell:>{_FIGURE}}" for cell in cells[: len(figures)]))
        if one.guest:
            rows.append(Content.styled(f"  {_guest(one.guest)}", words.MUTED))
    rows.append(_cut("together", width).stylize("bold") + f"{memory(total):>{_FIGURE}}")
    return rows


def _guest(usage: GuestUsage) -> str:
    """What a guest says of itself."""
    taken = f"{memory(usage.memory_used_bytes)} of {memory(usage.memory_total_bytes)}"
    return f"inside: {taken}, {usage.cpu_percent:.0f} % of a core"


def _cut(text: str, width: int) -> Content:
    content = Content(one_line(text)).truncate(width - 2, ellipsis=True)
    return content.pad_right(width - content.cell_length)
