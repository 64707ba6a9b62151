"""An agent's trajectory: its steps, and the selected one in full."""

from __future__ import annotations

import json
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from workbench.session import Run
from workbench.ui import atif, trial_files, words
from workbench.ui.commands import TRAJECTORY
from workbench.ui.lines import LiveLines
from workbench.ui.tabs.tab import RunTab, Shown
from workbench.ui.visible import one_line
from workbench.ui.widgets.line_list import LineList
from workbench.ui.widgets.log_pane import LogPane, SearchLine

_BOLD, _CYAN, _YELLOW, _DIM, _PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
_SIGNS = {"system": "·", "user": "▸", "agent": "●"}
_HEADLINE = 400
_NONE = "No trajectory here. Negatives leave one, the oracle when traced: t, then r to run it again."


class Steps(LineList):
    """The steps, one line each."""

    class FilterWanted(Message):
        """The user wants to type which steps to show."""

    OFFER = TRAJECTORY
    BINDINGS = TRAJECTORY.bindings()

    def action_filter(self) -> None:
        """Ask which steps to show."""
        self.post_message(self.FilterWanted())


class TrajectoryTab(RunTab):
    """Steps over the selected step."""

    def __init__(self) -> None:
        super().__init__()
        self._of: tuple[object, ...] = ()
        self._trajectory: atif.Trajectory | None = None
        self._found: list[int] = []
        """The steps that the filter lets through."""

    def compose(self) -> ComposeResult:
        """A summary, the steps, and the selected one in full."""
        yield Static(classes="summary")
        with Vertical(classes="steps"):
            yield Steps("trajectory-steps")
            yield SearchLine(placeholder="only steps that say this; Escape shows all")
        yield LogPane("trajectory-step")

    def show(self, shown: Shown) -> None:
        """Show the run's trajectory, read anew when it has ended."""
        run = shown.run
        of = (run and run.id, run and run.state)
        if of != self._of:
            self._of = of
            self._load(run)

    @work(thread=True, exclusive=True)
    def _load(self, run: Run | None) -> None:
        trajectory, said = None, _NONE
        path = trial_files.trajectory_file(Path(run.trial_dir)) if run and run.trial_dir else None
        if path:
            try:
                trajectory, said = atif.load(path), ""
            except atif.TrajectoryError as error:
                said = str(error)
        self.app.call_from_thread(self._put, run, trajectory, said)

    def _put(self, run: Run | None, trajectory: atif.Trajectory | None, said: str) -> None:
        if not self.is_attached or self._of[0] != (run and run.id):
            return
        self._trajectory = trajectory
        self.set_class(trajectory is None, "-none")
        summary = _summary(trajectory) if trajectory else Content.styled(one_line(said), words.MUTED)
        self.query_one(".summary", Static).update(summary)
        self._filter("")

    def _filter(self, typed: str) -> None:
        steps = self._trajectory.steps if self._trajectory else []
        wanted = typed.lower()
        self._found = [at for at, step in enumerate(steps) if not wanted or wanted in _words(step).lower()]
        self.query_one(Steps).show(len(self._found), self._line)
        if not self._found:
            self.query_one(LogPane).show(None, silence=Content("No step says this." if wanted else ""))

    def _line(self, index: int) -> Content:
        assert self._trajectory
        step = self._trajectory.steps[self._found[index]]
        sign = "$" if step.scripted else _SIGNS.get(step.source, "?")
        metrics = step.metrics
        tokens = f"{metrics.completion_tokens:,} tok " if metrics and metrics.completion_tokens else ""
        return Content.assemble(
            (f"{step.step_id:>5} ", words.MUTED),
            (f"{sign} {'script' if step.scripted else step.source:<7}", _color(step)),
            (tokens, words.MUTED),
            one_line(atif.headline(step)[:_HEADLINE]),
        )

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        if self._trajectory and event.index < len(self._found):
            lines = LiveLines()
            lines.append(in_full(self._trajectory.steps[self._found[event.index]]))
            self.query_one(LogPane).show(lines, silence=Content(), follow=False)

    @on(LineList.Chosen)
    def _chosen(self, event: LineList.Chosen) -> None:
        event.stop()
        self.query_one(LogPane).log_view.focus()

    @on(Steps.FilterWanted)
    def _ask_filter(self) -> None:
        self.add_class("-filtering")
        self.query_one(".steps SearchLine").focus()

    @on(Input.Changed, ".steps SearchLine")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    @on(Input.Submitted, ".steps SearchLine")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.set_class(bool(event.value), "-filtering")
        self.query_one(Steps).focus()


def in_full(step: atif.Step) -> str:
    """A step as text, its headings coloured."""
    title = f"{_BOLD}step {step.step_id} · {step.source}{_PLAIN}"
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
            told = atif.text(result.content).rstrip()
            parts.append(f"{_CYAN}◀ result{_PLAIN}{_extra(result.extra)}\n{told}")
            for ref in result.subagent_trajectory_ref or ():
                name = ref.trajectory_path or ref.trajectory_id or ref.session_id
                parts.append(f"{_CYAN}◀ subagent{_PLAIN} {name}")
    if step.extra:
        parts.append(f"{_DIM}{_extra(step.extra).strip()}{_PLAIN}")
    return "\n\n".join(parts) + "\n"


def _words(step: atif.Step) -> str:
    return in_full(step)


def _arguments(arguments: object) -> str:
    if isinstance(arguments, dict):
        return "\n".join(f"{_DIM}{key}:{_PLAIN} {_value(value)}" for key, value in arguments.items())
    return "" if arguments is None else str(arguments)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _extra(extra: dict[str, object] | None) -> str:
    return "  " + "  ".join(f"{key}={value}" for key, value in extra.items()) if extra else ""


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


def _summary(trajectory: atif.Trajectory) -> Content:
    agent = trajectory.agent
    who = " ".join(part for part in (agent.name, agent.version, agent.model_name or "") if part)
    parts = [one_line(who) or "an agent", f"{len(trajectory.steps):,} steps"]
    if all(step.scripted for step in trajectory.steps if step.source == "agent"):
        parts.append("a script's commands, no model")
    if final := trajectory.final_metrics:
        totals = atif.Metrics(
            final.total_prompt_tokens,
            final.total_completion_tokens,
            final.total_cached_tokens,
            final.total_cost_usd,
        )
        parts.append(_metrics(totals))
    if trajectory.subagent_trajectories:
        parts.append(f"{len(trajectory.subagent_trajectories)} subagents")
    parts.append(one_line(trajectory.schema_version))
    return Content.styled(" · ".join(part for part in parts if part), words.MUTED)


def _color(step: atif.Step) -> str:
    return {"user": words.WARN, "system": words.MUTED}.get(step.source, words.BUSY)
