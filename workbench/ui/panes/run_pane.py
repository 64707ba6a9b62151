"""One run of a case: how it stands, and tabs with all there is to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, Tab, TabbedContent, TabPane, Tabs

from workbench.ui.commands import key_shown
from workbench.ui.drawing import entitle, put
from workbench.ui.once import once
from workbench.ui.panes.headline import headline
from workbench.ui.screen_commands import MAIN
from workbench.ui.tabs import labels
from workbench.ui.tabs.load import load
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.visible import one_line
from workbench.ui.widgets.lines_view import LinesView
from workbench.ui.widgets.log_view import LogView

_STATE_SECONDS = 0.5
_HEADLINE = 5
"""Lines kept for the headline, which are more than most have."""
_HEADLINE_SHARE = 5
"""But no more than this part of the pane."""
_HEADLINE_MOST = 0.4
"""The part of the pane beyond which lines of the headline are cut, so that output has room too."""


@dataclass(frozen=True)
class _Tab:
    name: str
    label: Callable[[Shown], str] | None = None
    """What it is called instead of its name."""
    applies: Callable[[Shown], bool] | None = None
    """Whether there is anything in it; always where that is None."""


_TABS = (
    _Tab("verifier"),
    _Tab("agent"),
    _Tab("tests", labels.tests),
    _Tab("steps", applies=labels.has_steps),
    _Tab("trajectory"),
    _Tab("timing"),
    _Tab("files"),
    _Tab("log", labels.log),
    _Tab("problems", labels.problems),
)


class RunPane(Vertical):
    """The selected run."""

    def __init__(self, tab: str = "") -> None:
        """
        Args:
            tab: The tab to begin with; the first one where there is none of that name.
        """
        super().__init__()
        self._first = tab if any(tab == one.name for one in _TABS) else _TABS[0].name
        self._shown: Shown | None = None
        self._title = ""
        self._state_due: Timer | None = None
        self._labels: dict[str, tuple[str, bool]] = {}
        self._tallest = _HEADLINE
        self._fitted = Size(-1, -1)
        """The room that the headline was fitted to."""
        self._entered_early = False
        """Whether the user went into the shown tab before its content was there."""

    def compose(self) -> ComposeResult:
        """The headline over the tabs, whose content is loaded when they are first shown."""
        yield Static(id="headline")
        with TabbedContent(id="run-tabs", initial=f"tab-{self._first}"):
            for tab in _TABS:
                yield TabPane(tab.name, id=f"tab-{tab.name}")

    def on_mount(self) -> None:
        """Name the pane."""
        self._title = self._title or _name(self.app)
        entitle(self, self._title)

    @property
    def tab(self) -> str:
        """The name of the tab that is shown."""
        return self.query_one(TabbedContent).active.removeprefix("tab-")

    def show_tab(self, name: str) -> None:
        """Show a tab, and go to what is in it."""
        self.query_one(TabbedContent).active = f"tab-{name}"
        self.call_after_refresh(self.focus_content)

    def step_tab(self, by: int) -> None:
        """Show the tab so many to the right, going round."""
        names = self.tabs
        beside = 0 if by > 0 else -1
        at = names.index(self.tab) + by if self.tab in names else beside
        # At once, where the bar of tabs would send a message: the next key may go into the tab.
        self.query_one(TabbedContent).active = f"tab-{names[at % len(names)]}"

    @property
    def tabs(self) -> list[str]:
        """The names of the tabs that there are for this run, and that have not a pane of their own."""
        bar = self.query_one(TabbedContent)
        applying = [tab.name for tab in _TABS if self._labels.get(tab.name, ("", True))[1]]
        return [name for name in applying if bar.get_tab(f"tab-{name}").display]

    def go_to_line(self, line: int) -> None:
        """Show a line of the output that is in sight, from 0."""
        pane = self.query_one(TabbedContent).active_pane
        view = next(iter(pane.query(LogView)), None) if pane else None
        if view and view.lines:
            self.screen.set_focus(view)
            view.go_to(min(line, len(view.lines) - 1))

    def focus_content(self) -> None:
        """Go to what the shown tab holds, or as soon as it holds something."""
        pane = self.query_one(TabbedContent).active_pane
        found = [widget for widget in pane.walk_children(Widget) if _can_be_entered(widget)] if pane else []
        self._entered_early = pane is not None and _content(pane) is None
        self.screen.set_focus(found[0] if found else self.query_one(Tabs))

    def show(self, shown: Shown) -> None:
        """Show a run as it stands."""
        self._shown = shown
        self._show_headline(headline(shown))
        if (title := _title(self.app, shown)) != self._title:
            self._title = title
            self._show_state()
        tabs = self.query_one(TabbedContent)
        for tab in _TABS:
            label = tab.label(shown) if tab.label else tab.name
            applies = tab.applies(shown) if tab.applies else True
            before = self._labels.get(tab.name, ("", None))
            self._labels[tab.name] = (label, applies)
            if label != before[0]:
                _relabel(tabs.get_tab(f"tab-{tab.name}"), Content(label))
            if applies != before[1]:
                (tabs.show_tab if applies else tabs.hide_tab)(f"tab-{tab.name}")
        self._show_tab()

    def _show_headline(self, content: Content) -> None:
        """With room for as many lines as any had so far, so that going from run to run moves nothing else."""
        self._fitted = self.content_size
        static = self.query_one("#headline", Static)
        width = static.content_size.width
        height = content.get_height(cast(RulesMap, static.styles), width) if width else 0
        if height > (limit := int(self.content_size.height * _HEADLINE_MOST)) > 0:
            lines = [line.truncate(width, ellipsis=True) for line in content.split("\n")][:limit]
            content, height = Content("\n").join(lines), len(lines)
        self._tallest = max(self._tallest, height)
        room = min(self._tallest, self.content_size.height // _HEADLINE_SHARE)
        put(static, content + "\n" * max(0, room - height))

    def on_resize(self) -> None:
        """Fit the headline to the room that there is now."""
        self._tallest = _HEADLINE
        if self._shown:
            self._show_headline(headline(self._shown))

    def on_tabbed_content_tab_activated(self) -> None:
        """Fill the tab that is shown now."""
        self._show_tab()
        self._show_state()

    def on_run_tab_resized(self) -> None:
        """Fit the tab to the room it has now."""
        self._show_tab()

    def on_lines_view_state_changed(self, event: LinesView.StateChanged) -> None:
        """Say at the pane's foot how the output is looked at."""
        if event.asked:
            self._show_state()
        else:
            self._show_state_soon()

    @property
    def up_to_date(self) -> bool:
        """Whether all that is known is shown."""
        pane = self.query_one(TabbedContent).active_pane
        content = _content(pane) if pane else None
        fits = self._fitted == self.content_size or not self.is_on_screen
        return fits and self._state_due is None and content is not None and content.is_mounted

    def _show_state_soon(self) -> None:
        """Not more often than one can read."""
        if self._state_due is None:
            self._state_due = once(self, _STATE_SECONDS, self._show_state)

    def _show_tab(self) -> None:
        pane = self.query_one(TabbedContent).active_pane
        if pane is None or self._shown is None:
            return
        if content := _content(pane):
            if content.is_mounted:
                content.show(self._shown)
                self._show_state_soon()
        else:
            self.call_next(self._mount_tab, pane, load(self.tab))

    async def _mount_tab(self, pane: TabPane, content: RunTab) -> None:
        if _content(pane) is None and pane.is_attached:
            await pane.mount(content)
            self._show_tab()
            if self._entered_early and self.screen.focused is self.query_one(Tabs):
                self.focus_content()

    def _show_state(self) -> None:
        if self._state_due:
            self._state_due.stop()
        self._state_due = None
        if not self.is_attached:
            return
        pane = self.query_one(TabbedContent).active_pane
        content = _content(pane) if pane else None
        state = content.state if content and content.is_mounted else ""
        entitle(self, self._title, state)


def _relabel(tab: Tab, label: Content) -> None:
    """Name a tab; it never gets narrower, so that going from run to run moves no other."""
    label = label.pad_right(max(0, tab.label.cell_length - label.cell_length))
    if label.cell_length == tab.label.cell_length:
        tab._label = label
        Static.update(tab, label, layout=False)
    else:
        tab.label = label


def _content(pane: TabPane) -> RunTab | None:
    return next((child for child in pane.children if isinstance(child, RunTab)), None)


def _can_be_entered(widget: Widget) -> bool:
    return widget.focusable and widget.display and all(getattr(a, "display", True) for a in widget.ancestors)


def _name(app: App[Any]) -> str:
    return f"{key_shown(app, MAIN['pane.run'])} Run"


def _title(app: App[Any], shown: Shown) -> str:
    case, run = shown.case, shown.run
    if case is None:
        return _name(app)
    title = f"{_name(app)} · {one_line(case.case.name)}"
    if run and run in case.runs and len(case.runs) > 1:
        title += f" · {case.runs.index(run) + 1} of {len(case.runs)}"
    return title
