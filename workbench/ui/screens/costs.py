"""What machines and states cost the host now."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from workbench.events import MachineCost
from workbench.session import Session
from workbench.ui import words
from workbench.ui.figures import count, memory
from workbench.ui.screens.live import LiveScreen
from workbench.ui.visible import one_line

_NAME, _STANDS, _FIGURE = 26, 34, 12


class CostsScreen(LiveScreen):
    """An overlay with a line for each."""

    CSS_PATH = "costs.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape,m", "dismiss", "Close", id="costs.close", tooltip="Close the costs."),
    ]

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
        self.query_one("#costs").border_subtitle = "escape closes"
        self.refresh_views()

    def refresh_views(self) -> None:
        """Show the newest figures."""
        self.query_one("#costs-text", Static).update(_table(self._session))


def _table(session: Session) -> Content:
    costs = None if session.stopped else session.costs
    if costs is None or not (costs.machines or costs.states):
        said = "No machine and no state is alive."
        return Content.styled(said + " A shell or a run makes them; s opens a shell.", words.MUTED)
    lines = [
        *_part("machine", costs.machines, ("stands on", "memory", "CPU", "processes")),
        Content(),
        *_part("state", costs.states, ("holds", "memory")),
        Content(),
        Content.styled(
            "Memory is the host's: of all processes of a machine, and of what a state keeps. "
            "States over the budget go, the least recently used first.",
            words.MUTED,
        ),
    ]
    return Content("\n").join(lines)


def _part(what: str, alive: tuple[MachineCost, ...], headings: Iterable[str]) -> list[Content]:
    stands, *figures = headings
    head = f"{what:<{_NAME}}{stands:<{_STANDS}}" + "".join(f"{name:>{_FIGURE}}" for name in figures)
    total = sum(one.memory_bytes for one in alive)
    rows = [Content.styled(head, words.MUTED)]
    for one in sorted(alive, key=lambda one: -one.memory_bytes):
        cells = [memory(one.memory_bytes), words.seconds(one.cpu_seconds), str(one.processes)]
        rows.append(
            Content.assemble(
                _cut(one.name, _NAME),
                _cut(one.stands_on, _STANDS),
                *(f"{cell:>{_FIGURE}}" for cell in cells[: len(figures)]),
            )
        )
    rows.append(
        Content.styled(f"{count(len(alive), what):<{_NAME + _STANDS}}{memory(total):>{_FIGURE}}", "bold")
    )
    return rows


def _cut(text: str, width: int) -> Content:
    content = Content(one_line(text)).truncate(width - 2, ellipsis=True)
    return content.pad_right(width - content.cell_length)
