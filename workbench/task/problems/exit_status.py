"""Test scripts that decide on an exit status which is not the one they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.task.load import LoadedTask
from workbench.task.problem import Problem
from workbench.task.problems.sources import TEST_SCRIPTS, Line, Script, scripts

_ERREXIT = re.compile(r"set\s+(?:-\w+\s+)*-(?:[a-zA-Z]*e[a-zA-Z]*\b|o\s+errexit)")
_NO_ERREXIT = re.compile(r"set\s+\+(?:[a-zA-Z]*e|o\s+errexit)")
_PIPEFAIL = re.compile(r"set\s.*\bpipefail")
_READS_STATUS = re.compile(r"(?:(?:if|elif|while)\s+)?(?:\[\[?|test)\s+[\"']?\$\?|\w+=[\"']?\$\?|case\s+\$\?")
_GUARDED = re.compile(
    r"\|\||&&|^(?:if|elif|else|while|until|for|case|then|do|done|fi|esac|function)\b|^[!{})]"
)
_PIPED = re.compile(r"(?<!\|)\|(?!\|)\s*(?:tee|cat|head|tail|grep|sed)\b[^|;&]*$")


def exit_status_problems(task: LoadedTask) -> Iterator[Problem]:
    """`$?` where `set -e` has ended the script before, and `$?` of a pipe's last command.

    Only what stands at the top level is looked at: a function may be called where `set -e` is off.
    """
    for script in scripts(task.path, TEST_SCRIPTS):
        yield from _in_script(script)


def _in_script(script: Script) -> Iterator[Problem]:
    writes_on_exit = re.search(r"\btrap\b.*\b(?:EXIT|0)\b", script.text)
    errexit = bool(re.match(r"#!.*\s-\w*e", script.text))
    pipefail = False
    before: Line | None = None
    for line in script.lines():
        if _NO_ERREXIT.match(line.text):
            errexit = False
        elif _ERREXIT.match(line.text):
            errexit = True
        pipefail = pipefail or bool(_PIPEFAIL.match(line.text))
        if before and not before.indented and _READS_STATUS.match(line.text):
            piped = _PIPED.search(before.text)
            guarded = _GUARDED.search(before.text.strip())
            if piped and not pipefail:
                yield _status_of_pipe(script, line, before, piped[0])
            elif errexit and not guarded and not writes_on_exit:
                yield _never_reached(script, line, before)
        before = line


def _never_reached(script: Script, line: Line, before: Line) -> Problem:
    message = f"set -e ends the script where line {before.number} fails, so no reward is written"
    hint = "put the command into the if, or write the reward in a trap on EXIT"
    return Problem(
        script.path, "status-after-set-e", "warning", f"{message} when a test fails", hint, line.number
    )


def _status_of_pipe(script: Script, line: Line, before: Line, pipe: str) -> Problem:
    last = pipe.strip("| ").split()[0]
    message = f"$? is the exit status of {last}, the last command of the pipe in line {before.number}"
    hint = "set -o pipefail before it, or use ${PIPESTATUS[0]}"
    return Problem(script.path, "status-of-pipe", "warning", message, hint, line.number)
