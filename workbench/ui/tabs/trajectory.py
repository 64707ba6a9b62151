"""An agent's trajectory: its steps, and the selected one in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from workbench.session import Run
from workbench.ui import atif, trajectories, trial_files, words
from workbench.ui.commands import Offer, is_offered, key_shown
from workbench.ui.figures import count
from workbench.ui.lines import LiveLines
from workbench.ui.overlay_commands import SEARCH_LINE
from workbench.ui.screen_commands import MAIN, TRAJECTORY
from workbench.ui.tabs.reading import ReadingTab, TextPane
from workbench.ui.tabs.tab import Shown
from workbench.ui.visible import one_line
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.log_pane import SearchLine

_BOLD, _CYAN, _YELLOW, _DIM, _PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
_SIGNS = {"system": "·", "user": "▸", "agent": "●"}
_HEADLINE = 400
_LOOKED_AT = 1.0
"""Seconds between looks at a trajectory that grows."""
_RUNNING = "No trajectory so far. Many agents write theirs when they have ended."
_NONE = "No trajectory here."


class Steps(LineList):
    """The steps, one line each."""

    OFFER = TRAJECTORY
    BINDINGS = TRAJECTORY.bindings()

    def __init__(self, ask: Callable[[], None]) -> None:
        """
        Args:
            ask: Called when the user wants to type which steps to show.
        """
        super().__init__("trajectory-steps")
        self._ask = ask

    def action_filter(self) -> None:
        """Ask which steps to show."""
        self._ask()


class TrajectoryTab(ReadingTab):
    """Steps over the selected step."""

    # The keys of the steps that the text has no use for itself go from step to step there, too.
    BINDINGS = Offer(
        TRAJECTORY.title, (TRAJECTORY["trajectory.next"], TRAJECTORY["trajectory.previous"])
    ).bindings()

    def __init__(self) -> None:
        super().__init__()
        self._run: Run | None = None
        self._of: tuple[object, ...] = ()
        self._looked = 0.0
        self._told: trajectories.Trajectories = trajectories.NONE
        self._wanted = ""
        """What the steps that are shown must say."""
        self._found: list[int] = []
        """The steps that the filter lets through."""
        self._full = ""
        """The step that is shown in full."""

    def compose(self) -> ComposeResult:
        """A summary, the steps, and the selected one in full."""
        yield Static(classes="summary")
        with Vertical(classes="steps"):
            yield Steps(self._ask_filter)
            leave = key_shown(self.app, SEARCH_LINE["search.leave"])
            yield SearchLine(placeholder=f"only steps that say this; {leave} shows all")
        yield TextPane("trajectory-step")

    def show(self, shown: Shown) -> None:
        """Show the run's trajectory, read anew as it grows."""
        run = shown.run
        of: tuple[object, ...] = (run and run.id, run and run.state)
        if run and run.state == "running":
            if of == self._of[:2] and shown.now - self._looked < _LOOKED_AT:
                return
            self._looked = shown.now
            of += trajectories.stamp(Path(run.trial_dir))
        if of != self._of:
            self._of = of
            self._load(run, self._silence(shown))

    def _silence(self, shown: Shown) -> str:
        """What stands where there is no trajectory."""
        if shown.run and shown.run.state == "running":
            return _RUNNING
        if shown.run and shown.run.state == "queued":
            return words.WAITS
        if said := trial_files.gone(shown.run):
            return said
        if shown.case and shown.case.case.kind == "agent":
            return _NONE
        if not is_offered(self.app, "run.case"):
            return _NONE
        trace, again = (key_shown(self.app, MAIN[name]) for name in ("trace.toggle", "run.case"))
        hint = f"Negatives leave one, the oracle when traced: {trace}, then {again} to run it again."
        return f"{_NONE} {hint}"

    @work(thread=True, exclusive=True)
    def _load(self, run: Run | None, said: str) -> None:
        told = trajectories.NONE
        if run and run.trial_dir:
            try:
                told = trajectories.read(Path(run.trial_dir))
            except atif.TrajectoryError as error:
                said = str(error)
        self.app.call_from_thread(self._put, run, told, said)

    def _put(self, run: Run | None, told: trajectories.Trajectories, said: str) -> None:
        if not self.is_attached or self._of[0] != (run and run.id):
            return
        if not told and self._told and self._run is run and run and run.state == "running":
            return  # it was being written
        steps = self.query_one(Steps)
        same = self._run is run and bool(self._told)
        # Whoever looks at the last step goes along with what comes.
        cursor = steps.cursor if steps.cursor < len(steps) - 1 else len(told.steps)
        self._wanted = self._wanted if same else ""
        self._run, self._told = run, told
        self.set_class(not told, "-none")
        summary = _summary(told) if told else Content.styled(one_line(said), words.MUTED)
        self.query_one(".summary", Static).update(summary)
        self._filter(cursor if same else 0)

    def _filter(self, cursor: int = 0) -> None:
        wanted = self._wanted.lower()
        steps = self._told.steps
        self._found = [at for at, one in enumerate(steps) if not wanted or wanted in in_full(one).lower()]
        self.query_one(Steps).show(len(self._found), self._line, cursor)
        if not self._found:
            self._full = ""
            self.query_one(TextPane).show(None, silence=Content("No step says this." if wanted else ""))

    def _line(self, index: int) -> Content:
        told = self._told.steps[self._found[index]]
        step = told.step
        sign = "$" if step.scripted else _SIGNS.get(step.source, "?")
        metrics = step.metrics
        tokens = f"{metrics.completion_tokens:,} tok " if metrics and metrics.completion_tokens else ""
        return Content.assemble(
            (f"{one_line(told.of)} " if told.of else "", words.MUTED),
            (f"{step.step_id:>5} ", words.MUTED),
            (f"{'  ' * told.depth}↳ {one_line(told.by)} " if told.depth else "", words.MUTED),
            (f"{sign} {'script' if step.scripted else step.source:<7}", _color(step)),
            (tokens, words.MUTED),
            one_line(atif.headline(step)[:_HEADLINE]),
        )

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        if event.index < len(self._found):
            full = in_full(self._told.steps[self._found[event.index]])
            if full != self._full:
                self._full = full
                lines = LiveLines()
                lines.append(full)
                self.query_one(TextPane).show(lines, silence=Content(), follow=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whoever types what to look for stays at the step."""
        if action in ("cursor_down", "cursor_up"):
            return self.is_attached and self.query_one(TextPane).is_read
        return super().check_action(action, parameters)

    def action_cursor_down(self) -> None:
        """Show the next step, from the text of one."""
        self.query_one(Steps).action_cursor_down()

    def action_cursor_up(self) -> None:
        """Show the step before, from the text of one."""
        self.query_one(Steps).action_cursor_up()

    def _ask_filter(self) -> None:
        self.add_class("-filtering")
        self.screen.set_focus(self.query_one(".steps SearchLine", SearchLine))

    @on(Input.Changed, ".steps SearchLine")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._wanted = event.value
        self._filter()

    @on(Input.Submitted, ".steps SearchLine")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.set_class(bool(event.value), "-filtering")
        self.screen.set_focus(self.query_one(Steps))


def in_full(told: trajectories.Told) -> str:
    """A step as text, its headings coloured."""
    step = told.step
    who = " · ".join(part for part in (told.of, told.by, step.source) if part)
    title = f"{_BOLD}step {step.step_id} · {who}{_PLAIN}"
    about = [part for part in (step.model_name, step.timestamp, _metrics(step.metrics)) if part]
    parts = [title + (f"  {_DIM}{' · '.join(about)}{_PLAIN}" if about else "")]
    if step.reasoning_content:
        parts.append(f"{_YELLOW}reasoning{_PLAIN}\n{step.reasoning_content.rstrip()}")
    if message := atif.text(step.message):
        parts.append(message.rstrip())
    for call, results in atif.paired(step):
        if call:
            parts.append(f"{_CYAN}▶ {call.function_name}{_PLAIN}\n{_arguments(call.arguments)}")
        for result in results:
            content = atif.text(result.content).rstrip()
            parts.append(f"{_CYAN}◀ result{_PLAIN}{_extra(result.extra)}\n{content}")
            for ref in result.subagent_trajectory_ref or ():
                name = ref.trajectory_path or ref.trajectory_id or ref.session_id
                parts.append(f"{_CYAN}◀ subagent{_PLAIN} {name}")
    if step.extra:
        parts.append(f"{_DIM}{_extra(step.extra).strip()}{_PLAIN}")
    if told.notes:
        parts.append(f"{_YELLOW}notes on the trajectory{_PLAIN}\n{told.notes.rstrip()}")
    return "\n\n".join(parts) + "\n"


def _arguments(arguments: object) -> str:
    if isinstance(arguments, dict):
        told = ((key, atif.argument_text(value)) for key, value in arguments.items())
        return "\n".join(f"{_DIM}{key}:{_PLAIN} {value}" for key, value in told)
    return "" if arguments is None else atif.argument_text(arguments)


def _extra(extra: dict[str, object] | None) -> str:
    told = ((key, atif.argument_text(value)) for key, value in (extra or {}).items())
    return "".join(f"  {key}={value}" for key, value in told)


def _metrics(metrics: atif.Metrics | None) -> str:
    if metrics is None:
        return ""
    told = [
        (metrics.prompt_tokens, "in"),
        (metrics.cached_tokens, "cached"),
        (metrics.completion_tokens, "out"),
    ]
    parts = [f"{count:,} {word}" for count, word in told if count is not None]
    if metrics.cost_usd is not None:
        parts.append(f"${metrics.cost_usd:.4f}")
    return ", ".join(parts)


def _summary(told: trajectories.Trajectories) -> Content:
    agent = told.whole[-1].agent
    who = " ".join(part for part in (agent.name, agent.version, agent.model_name or "") if part)
    parts = [one_line(who) or "an agent", count(len(told.steps), "step")]
    if (by_agent := [one.step for one in told.steps if one.step.source == "agent"]) and all(
        step.scripted for step in by_agent
    ):
        parts.append("a script's commands, no model")
    finals = [one.final_metrics for one in told.whole if one.final_metrics]
    totals = atif.Metrics(
        _sum(final.total_prompt_tokens for final in finals),
        _sum(final.total_completion_tokens for final in finals),
        _sum(final.total_cached_tokens for final in finals),
        _sum(final.total_cost_usd for final in finals),
    )
    parts.append(_metrics(totals))
    if told.subagents:
        parts.append(count(told.subagents, "subagent"))
    parts.append(one_line(told.whole[-1].schema_version))
    return Content.styled(" · ".join(part for part in parts if part), words.MUTED)


def _sum[N: (int, float)](values: Iterable[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _color(step: atif.Step) -> str:
    return {"user": words.WARN, "system": words.MUTED}.get(step.source, words.BUSY)
