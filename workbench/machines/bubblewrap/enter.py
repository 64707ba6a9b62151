"""The commands that enter a machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from shlex import quote

from workbench.machines.bubblewrap.accounts import Account
from workbench.machines.bubblewrap.ground import Ground
from workbench.machines.bubblewrap.launch import Running

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CANNOT_START = 126
"""Docker's exit code for a command that could not be started."""
_ARGUMENT_LIMIT = 100_000
"""Bytes; the kernel takes at most 128 KiB for one argument."""
_LONG = 'command=$(cat); exec </dev/null; eval "unset command; $command"'


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


def command_script(command: str, cwd: str, env: Mapping[str, str], shell: str) -> bytes:
    """What a shell inside reads from its stdin to run `command`.

    Variables are not given to nsenter, a program of the host that would heed some itself (LD_PRELOAD), nor as
    arguments, which everyone in the machine can read. The shell stays and waits, so that the machine can be
    stopped without it: nsenter answers the stop of its child by stopping itself, and would do so for ever
    were this process killed then.

    Args:
        shell: Runs the command where the variables lead to no bash.
    """
    strange = [f"{name}={value}" for name, value in env.items() if not _NAME.fullmatch(name)]
    words = " ".join(map(quote, ["env", *strange] if strange else []))  # no shell can export these
    if len(command.encode(errors="surrogateescape")) < _ARGUMENT_LIMIT:
        start = f'{words} "$1" -c {quote(command)} </dev/null'
    else:
        start = f'printf %s {quote(command)} | {words} "$1" -c {quote(_LONG)}'
    lines = [
        *_place(cwd, env, shell),
        "exec 3>&2 2>/dev/null",  # what this shell says of a child that was killed is not the command's
        f"{start} 2>&3 3>&-",
        "exit $?",
    ]
    return "\n".join(lines).encode(errors="surrogateescape")


def shell_words(cwd: str, env: Mapping[str, str], shell: str, user: str) -> list[str]:
    """The words that are an interactive shell once inside, of `user` where that is not empty.

    The machine's `su` looks the user up, as this must not wait for an answer from the machine. The first
    shell gives way to a second, whose arguments hold no variables any more, and which stays.
    """
    start = 'su -s "$(command -v "$0")" -- "$1"' if user else '"$0" -i'
    lines = [*_place(cwd, env, shell), f'exec /bin/sh -c {quote(f"{start}; exit $?")} "$1" {quote(user)}']
    return ["/bin/sh", "-c", "\n".join(lines)]


def _place(cwd: str, env: Mapping[str, str], shell: str) -> list[str]:
    """Lines that go to a directory, as Docker does or does not, set the variables, and make $1 the shell."""
    failed = quote(f'chdir to cwd ("{cwd}") failed: no such directory')
    return [
        f"cd -- {quote(cwd)} 2>/dev/null || {{ echo {failed} >&2; exit {CANNOT_START}; }}",
        *(f"export {name}={quote(value)}" for name, value in env.items() if _NAME.fullmatch(name)),
        "unset OLDPWD",
        f"set -- bash; command -v bash >/dev/null || set -- {quote(shell)}",
    ]
