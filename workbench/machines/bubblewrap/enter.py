"""The commands that enter a machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from workbench.machines.bubblewrap.accounts import Account
from workbench.machines.bubblewrap.ground import Ground
from workbench.machines.bubblewrap.launch import Running

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TERM = "xterm-256color"
_ARGUMENT_LIMIT = 100_000
"""Bytes; the kernel takes at most 128 KiB for one argument."""

_BEGIN = r"""
cd -- "$1" 2>/dev/null || { echo "chdir to cwd (\"$1\") failed: no such directory" >&2; exit 126; }
shift
while [ "$1" != -- ]; do export "$1"; shift; done
shift
unset OLDPWD
"""
"""Runs inside. Variables come as arguments, as the host's nsenter would heed some (LD_PRELOAD) itself."""
_RUN = (
    _BEGIN
    + r"""
__c=$1; shift
command -v bash >/dev/null && exec "$@" bash -c "$__c"
exec "$@" sh -c "$__c"
"""
)
_FROM_STDIN = 'command=$(cat <&0); exec </dev/null; eval "unset command; $command"'
_SHELL = (
    _BEGIN
    + r"""
shell=$(command -v bash || echo /bin/sh)
[ -n "$1" ] || exec "$shell" -i
exec su -s "$shell" -- "$1"
"""
)


def entering(ground: Ground, running: Running, account: Account) -> list[str]:
    """The prefix of a command that runs inside as `account`.

    Root names the namespaces by descriptors of this process, which cannot come to mean another process's.
    Others name them by a process id, from inside the namespace that owns the machine: the kernel lets nobody
    enter anything else from there.
    """
    nsenter = ground.programs.nsenter
    words: list[str] = []
    if ground.users.direct:
        own = f"/proc/{os.getpid()}/fd"
        which = [f"--{option}={own}/{fd}" for option, fd in running.namespaces.items()]
    else:
        words += ground.users.as_owner
        which = ["--target", str(running.pid), *(f"--{option}" for option in running.namespaces)]
    which.append(f"--user={ground.users.guest_path}")
    if ground.users.mode == "single":
        which.append("--preserve-credentials")
    elif account.groups:
        groups = ",".join(map(str, account.groups))
        words += [ground.programs.setpriv, "--regid", str(account.gid), "--groups", groups, "--"]
        which += ["--preserve-credentials", "--setuid", str(account.uid)]
    else:
        which += ["--setuid", str(account.uid), "--setgid", str(account.gid)]
    return [*words, nsenter, *which, "--"]


def command_words(command: str, cwd: str, env: Mapping[str, str]) -> tuple[list[str], bytes | None]:
    """The words that run `command` once inside, and what to give them on stdin (None: nothing)."""
    data = command.encode(errors="surrogateescape")
    text = command if len(data) < _ARGUMENT_LIMIT else _FROM_STDIN
    exported = [f"{name}={value}" for name, value in env.items() if _NAME.fullmatch(name)]
    odd = [f"{name}={value}" for name, value in env.items() if not _NAME.fullmatch(name)]
    words = ["/bin/sh", "-c", _RUN, "sh", cwd, *exported, "--", text]
    if odd:  # no shell can export these
        words += ["env", *odd]
    return words, None if text is command else data


def shell_words(cwd: str, env: Mapping[str, str], user: str) -> list[str]:
    """The words that are an interactive shell once inside, of `user` where that is not empty.

    The machine's `su` looks the user up, as this must not wait for an answer from the machine.
    """
    exported = [f"{name}={value}" for name, value in env.items() if _NAME.fullmatch(name)]
    return ["/bin/sh", "-c", _SHELL, "sh", cwd, f"TERM={_TERM}", *exported, "--", user]
