"""Whether machines can be made here, found out by making one."""

from __future__ import annotations

from pathlib import Path

import msgspec

from workbench.machines.bubblewrap.namespace import Mode
from workbench.machines.bubblewrap.programs import Programs, bwrap_version, find_programs
from workbench.machines.bubblewrap.session import LABEL, BubblewrapSession
from workbench.machines.machine import MachineError
from workbench.machines.provider import Probe

_MODES: dict[Mode, str] = {
    "root": "as root, with the host's users",
    "subuid": "as an ordinary user, with the users that /etc/subuid sets aside",
    "single": "as an ordinary user, with no user but root in machines",
}


async def probe(root: Path | None = None, cache: Path | None = None) -> Probe:
    """Make a machine, run a command in it, and delete it. Takes 0.1 to 1 s.

    Args:
        root: As for `BubblewrapSession`.
        cache: As for `BubblewrapSession`.
    """
    try:
        programs = find_programs()
    except MachineError as error:
        return _unusable(error, {})
    details = _details(programs)
    try:
        session = BubblewrapSession(root, cache)
    except MachineError as error:
        return _unusable(error, details)
    try:
        machine = await session.create("probe", await session.host_tools(), network=False)
        done = await machine.exec("echo works")
        if done.stdout != b"works\n":
            raise MachineError(
                f"a command ended with {done.exit_code}: {done.stderr.decode(errors='replace')}"
            )
    except MachineError as error:
        return _unusable(error, details)
    finally:
        await session.close()
    return Probe(
        provider="bubblewrap",
        usable=True,
        label=LABEL,
        why=_MODES[session.mode],
        hint=session.better,
        limits=session.limits,
        details={**details, "users": session.mode, "machines": str(session.path.parent)},
    )


def _details(programs: Programs) -> dict[str, str]:
    version = bwrap_version(programs.bwrap)
    found = {name: path for name, path in msgspec.structs.asdict(programs).items() if path}
    return found | ({"bwrap version": ".".join(map(str, version))} if version else {})


def _unusable(error: MachineError, details: dict[str, str]) -> Probe:
    return Probe("bubblewrap", False, LABEL, str(error), error.hint, details=details)
