"""A recording as it may be shown to others: nothing in it tells where and when it was made.

What machines print is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from workbench import events as ev
from workbench.images.build_events import ImageReady

START = 1_760_000_000.0
"""Unix seconds at which every neutral recording begins."""
_HOME = "/home/author"
_PID = 4242


def neutral(events: Sequence[ev.Event]) -> list[ev.Event]:
    """The events with paths of an author's home, names of runs without times, and a start of `START`.

    What they tell of other runs that the machine keeps, of whatever task, is left out.
    """
    events = [event for event in events if not isinstance(event, ev.EarlierRunsTold)]
    names = dict(_names(events))
    # The longest first, as some are the beginning of others.
    olds = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?:{'|'.join(map(re.escape, olds))})(?![\w.-])") if olds else None
    shift = START - events[0].at if events else 0.0

    def plain(thing: Any, key: str = "") -> Any:
        match thing:
            case dict():
                return {plain(name): plain(value, name) for name, value in thing.items()}
            case list() | tuple():
                return [plain(item) for item in thing]
            case str() if pattern:
                return pattern.sub(lambda match: names[match.group()], thing)
            case float() | int() if key == "at" or key.endswith("_at"):
                return round(thing + shift, 6)
            case int() if key == "pid":
                return _PID
        return thing

    return [msgspec.convert(plain(msgspec.to_builtins(event)), ev.Event) for event in events]


def _names(events: Sequence[ev.Event]) -> Iterator[tuple[str, str]]:
    """Each name to write otherwise, with the new one."""
    runs: dict[str, int] = {}
    for event in events:
        match event:
            case ev.TaskOpened():
                task = PurePath(event.task).name
                yield event.task, f"{_HOME}/tasks/{task}"
                trials = PurePath(event.trials_dir)
                if len(trials.parts) > 4:
                    state = f"{_HOME}/.local/state/workbench"
                    yield str(trials.parents[3]), state
                    yield str(trials.parents[1]), f"{state}/tasks/{task}"
                    yield trials.name, "session"
            case ev.ImageEvent(build=ImageReady(archive=archive)):
                yield str(PurePath(archive).parents[2]), f"{_HOME}/.cache/workbench/images"
            case ev.RunQueued() | ev.RunRecalled():
                runs[event.case] = runs.get(event.case, 0) + 1
                yield event.run, f"{event.case}__{runs[event.case]}"
