"""Telling a script's commands apart while it runs, without the script noticing.

bash runs a trap called DEBUG before each command of its own, and of those functions that have the trace
attribute. Here the trap writes down what comes next, what the command before came to, and how much had been
printed by then, which the kernel tells of the output file. It holds no descriptor open, starts no process,
exports nothing, and leaves `$?`, `$_` and PIPESTATUS as they were. Subshells have no such trap: with one,
bash would no longer run their last command in their place, and `kill $!` would miss it. So what runs in a
subshell, in the background or inside a pipe is not told apart.

Why not `set -x`: a script that uses it itself would print something else.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

COMMANDS_LIMIT = 4000
"""Commands told apart in one run; the trap, which takes some 0.1 ms a command, then goes."""
_COMMAND_LIMIT = 8000
"""Characters kept of one command."""
_TRACE_LIMIT = 8 << 20
"""Bytes of a trace that are read."""
_RESCUE_SECONDS = 3.0
FIELD, RECORD = "\x1f", "\x1e"

_TRAP = " ".join(
    line
    for line in Path(__file__).with_name("tracing_trap.bash").read_text().splitlines()
    if not line.startswith("#")
)
_PRELUDE = (
    "{ builtin unset BASH_ENV; "
    "[[ ${BASH_VERSINFO[0]} -lt 5 || $0 != @SCRIPT@ ]] || builtin trap @TRAP@ DEBUG; } 2> /dev/null"
)
# On one line, as bash says the line of what it could not start. The shell around the script says in the
# script's output nothing of its own, such as which signal ended it.
_WRAPPER = (
    "(umask 077; mkdir @DIRECTORY@ && printf %s @PRELUDE@ > @DIRECTORY@/prelude) 2> /dev/null; "
    "(BASH_ENV=@DIRECTORY@/prelude @SCRIPT@ 2>&1; exit $?) > @LOG@ 2> /dev/null; code=$?; "
    "printf '%s\\036' \"${EPOCHREALTIME:-}\"; head -c @TRACE_LIMIT@ @DIRECTORY@/trace 2> /dev/null; "
    "rm -rf @DIRECTORY@; exit $code"
)

_BASH = re.compile(rb"#! *(?:/usr)?(?:/local)?/bin/(?:env +(?:-S +)?)?bash(?P<flags>(?: +-[a-zA-Z]+)*) *\n")
# What would show the trap or its array, would take the trap away from under it, or would fail by it.
_WARY = re.compile(
    r"""(?mx)
    \btrap\s*(?:$|[;&|)>]|-p|.*\b(?:DEBUG|RETURN)\b)
    | \bset\s*(?:$|[;&|)>]) | \bset\s+-[a-zA-Z]*[vTr]
    | \b(?:declare|typeset)\s*(?:$|[;&|)>]|-[a-zA-Z]*[pF]) | \b(?:export|readonly)\s+-[a-z]*p
    | \b(?:compgen|enable|ulimit|extdebug|functrace|verbose|restricted|rbash)\b
    | \b(?:PPID|BASH_XTRACEFD|BASH_ENV)\b | \$\{!_?\w*[*@]\} | _workbench | \b(?:builtin|:)\s*\(\)
    """
)


@dataclass(frozen=True)
class Traced:
    """What a traced run of a script told."""

    script: str
    """Its text."""
    records: tuple[str, ...]
    """As the trap wrote them, one a command; empty where commands were not told apart."""
    why_not: str
    """Why they were not; empty where nothing spoke against it."""
    started_at: float
    """Unix seconds by the host's clock."""
    ended_at: float
    inside_ended_at: float | None = None
    """The same by the environment's clock, which may be another; None where that is not known."""
    exit_code: int | None = None
    """None where it was cut short."""


async def run_traced(
    environment: BaseEnvironment,
    script: bytes,
    path: str,
    log: str,
    env: dict[str, str],
    tell: Callable[[Traced], None],
) -> ExecResult:
    """Run a script as Harbor runs one, and tell its commands apart where that can be.

    Args:
        script: What stands at `path` in the environment, an absolute path without spaces.
        log: Where its output goes, likewise.
        tell: Called once with what the trace says, also when the run was cut short.
    """
    against = why_not(script)
    directory = f"/dev/shm/.workbench-{secrets.token_hex(6)}"
    command = f"({path}) > {log} 2>&1" if against else traced_command(path, log, directory)
    text, started = script.decode("utf-8", "replace"), time.time()
    try:
        result = await environment.exec(command, env=env)
    except BaseException:
        ended, printed = time.time(), ""
        if not against:
            printed = await _rescued(environment, directory)
        tell(Traced(text, read_trace(printed)[1], against, started, ended))
        raise
    inside_ended, records = read_trace(result.stdout or "")
    tell(Traced(text, records, against, started, time.time(), inside_ended, result.return_code))
    return result


async def _rescued(environment: BaseEnvironment, directory: str) -> str:
    """The trace of a script that was cut short."""
    try:
        async with asyncio.timeout(_RESCUE_SECONDS):
            told = await environment.exec(
                f"printf '\\036'; head -c {_TRACE_LIMIT} {directory}/trace 2> /dev/null; rm -rf {directory}"
            )
    except Exception:
        return ""
    return told.stdout or ""


def why_not(script: bytes) -> str:
    """Why a script is run without telling its commands apart; empty where nothing speaks against it."""
    first = _BASH.match(script)
    if first is None:
        return "its first line does not name bash, and only bash tells what it runs"
    if set(first["flags"]) & set(b"vlpr"):
        return f"bash is called with{first['flags'].decode()}"
    text = script.decode("utf-8", "replace")
    if wary := _WARY.search(text):
        line = text.count("\n", 0, wary.start()) + 1
        return f"line {line} says {wary[0].strip()!r}, which might show or undo the tracing"
    return ""


def traced_command(script: str, log: str, directory: str) -> str:
    """The command that runs a script with its output going to `log`, and then prints its trace.

    Args:
        script: Its path in the environment, safe for a shell as it is.
        log: Likewise.
        directory: Where to keep the trace meanwhile; must not exist yet.
    """
    trap = _filled(
        _TRAP, commands_limit=COMMANDS_LIMIT, command_limit=_COMMAND_LIMIT, trace=f"{directory}/trace"
    )
    prelude = _filled(_PRELUDE, script=script, trap=shlex.quote(trap))
    return _filled(
        _WRAPPER,
        directory=directory,
        prelude=shlex.quote(prelude),
        script=script,
        log=log,
        trace_limit=_TRACE_LIMIT,
    )


def _filled(template: str, **values: object) -> str:
    return re.sub("@([A-Z_]+)@", lambda match: str(values[match[1].lower()]), template)


def read_trace(printed: str) -> tuple[float | None, tuple[str, ...]]:
    """The time at which the script had ended, and the records, of what either command printed."""
    ended, _, trace = printed.partition(RECORD)
    return seconds(ended), tuple(trace.split(RECORD)[:-1])


def seconds(text: str) -> float | None:
    """A time as bash tells it, in any locale."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
