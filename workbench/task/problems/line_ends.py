"""Line ends, byte-order marks and interpreter lines of scripts."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.problems.sources import Script, scripts

_SHELL_FILES = tuple(f"{directory}/**/*.sh" for directory in ("tests", "solution", "steps", "negatives"))


def line_end_problems(task: LoadedTask) -> Iterator[Problem]:
    """Scripts that an editor on Windows has made useless, and scripts without an interpreter."""
    for script in scripts(task.path, _SHELL_FILES):
        yield from _line_ends(script)
    for script in scripts(task.path):
        yield from _first_line(script)


def _line_ends(script: Script) -> Iterator[Problem]:
    crlf = script.data.find(b"\r\n")
    if crlf < 0:
        return
    line = script.data.count(b"\n", 0, crlf) + 1
    message = "the line ends in CR (Windows line ends), which bash takes for a part of its last word"
    if line == 1 and script.data.startswith(b"#!"):
        interpreter = script.data[2:crlf].decode("utf-8", "replace").strip()
        message = (
            f"the interpreter line ends in CR (Windows line ends), so the kernel looks for '{interpreter}\\r'"
        )
    yield Problem(script.path, "windows-line-ends", "warning", message, "save it with LF line ends", line)


def _first_line(script: Script) -> Iterator[Problem]:
    if script.data.startswith(b"\xef\xbb\xbf"):
        message = "the file starts with a byte-order mark, so its first line is not what it looks like"
        yield Problem(
            script.path, "byte-order-mark", "warning", message, "save it as UTF-8 without BOM", 1, 1
        )
    elif script.data.strip() and not script.data.startswith(b"#!"):
        message = "there is no interpreter line: Harbor's bash runs it all the same, other runners may not"
        yield Problem(script.path, "no-interpreter", "info", message, "begin it with #!/bin/bash", 1)
