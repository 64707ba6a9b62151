"""Trial directories as Harbor leaves them, made small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.ui.streams import TASK, Stream, holding
from workbench import events as ev
from workbench.trials.outcome import Outcome


def agent_step(number: int, command: str, result: str, **more: Any) -> dict[str, Any]:
    """A step that runs a command."""
    return {
        "step_id": number,
        "source": "agent",
        "message": more.pop("message", ""),
        "tool_calls": [
            {"tool_call_id": f"c{number}", "function_name": "bash", "arguments": {"command": command}}
        ],
        "observation": {"results": [{"source_call_id": f"c{number}", "content": result}]},
        **more,
    }


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An ATIF document."""
    agent = {"name": "claude-code", "version": "2.1", "model_name": "opus"}
    return {"schema_version": "ATIF-v1.8", "agent": agent, "steps": list(steps), **more}


def trial(root: Path, **files: str | bytes | dict[str, Any] | list[Any]) -> Path:
    """A trial directory. Keys are paths, with `__` for `/` and the last `_` for the dot."""
    for key, content in files.items():
        folder, _, name = key.replace("__", "/").rpartition("/")
        stem, _, suffix = name.rpartition("_")
        path = root / folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def at(stream: Stream, run: str, directory: Path) -> Stream:
    """The stream, with a run's trial directory."""
    for number, event in enumerate(stream.events):
        if isinstance(event, ev.RunStarted) and event.run == run:
            stream.events[number] = ev.RunStarted(
                at=event.at, task=TASK, case=event.case, run=run, trial_dir=str(directory)
            )
    return stream


def two_trials() -> Stream:
    """Two runs with trial directories, made in the working directory and named without its path."""
    manifest = [
        {"source": "/logs/artifacts", "destination": "artifacts/logs", "status": "empty"},
        {"source": "/app/report.md", "destination": "artifacts/app/report.md", "status": "failed"},
    ]
    steps = [
        {"step_id": 1, "source": "user", "message": "Write a program that makes slugs of titles."},
        agent_step(
            2, "ls -la /app", "total 0", message="I look around first.", reasoning_content="What is there?"
        ),
        agent_step(
            3,
            "python3 slugify.py 'Crème Brûlée'",
            "\x1b[32mcreme-brulee\x1b[0m",
            metrics={"prompt_tokens": 2150, "completion_tokens": 64, "cost_usd": 0.0123},
        ),
        {"step_id": 4, "source": "agent", "message": "It is done."},
    ]
    totals = {"total_prompt_tokens": 4300, "total_completion_tokens": 128, "total_cost_usd": 0.0246}
    trial(
        Path("trial-1"),
        agent__trajectory_json=trajectory(*steps, final_metrics=totals),
        agent__slugify_py="#!/usr/bin/env python3\nimport sys\n\n\ndef slug(title):\n    return title\n",
        artifacts__manifest_json=manifest,
        trial_log="Collecting main service artifacts\n",
    )
    trial(Path("trial-2"), agent__trajectory_json=trajectory(steps[0], agent_step(2, "rm -rf /app", "gone")))
    return at(at(holding(), "oracle-1", Path("trial-1")), "nop-1", Path("trial-2"))


def raised(directory: Path) -> Stream:
    """A run that ended in an exception."""
    outcome = Outcome(
        kind="error",
        reason="the environment did not start",
        exception="EnvironmentStartTimeoutError",
        detail=("after 600 s",),
    )
    stream = Stream().engine().task().whole("oracle", outcome)
    trial(directory, trial_log="Collecting artifacts\n", exception_txt="Traceback: boom\n")
    return at(stream, "oracle-1", directory)
