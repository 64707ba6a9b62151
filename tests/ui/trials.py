"""Trial directories as Harbor leaves them, made small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.ui.streams import TASK, Stream
from workbench import events as ev


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
