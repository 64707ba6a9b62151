"""What all machines of a session share: its users, its directory, and the removal of what is done with."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
from collections.abc import Coroutine, Sequence
from pathlib import Path

from workbench.machines.bubblewrap.home import Home
from workbench.machines.bubblewrap.namespace import UserNamespace
from workbench.machines.bubblewrap.processes import run
from workbench.machines.bubblewrap.programs import Programs


def make_directory(path: Path) -> None:
    """Make one that all may enter, whatever this process's umask: it becomes part of a machine."""
    path.mkdir()
    path.chmod(0o755)


class Ground:
    """Attributes:
    programs: Of the host.
    users: The users that machines have.
    path: The session's directory; short, as overlay options hold at most a page.
    """

    def __init__(self, home: Home, programs: Programs) -> None:
        self.programs = programs
        self.users = UserNamespace(programs)
        self.path = home.path
        self._home = home
        self._numbers = itertools.count(1)
        self._later: set[asyncio.Task[None]] = set()

    def new_directory(self, kind: str) -> Path:
        """A fresh directory, named by one letter of its kind and a number."""
        path = self.path / f"{kind}{next(self._numbers)}"
        make_directory(path)
        return path

    @property
    def as_owner(self) -> tuple[str, ...]:
        """The prefix of a command that copies or removes files of the machines' users."""
        return () if self.users.direct else self.users.as_owner

    def remove(self, *paths: Path) -> None:
        """Remove trees in the background."""
        if paths:
            self.later(self._remove(paths))

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Do something in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def remove_now(self, paths: Sequence[Path]) -> None:
        """Remove trees, blocking until they are gone."""
        if paths:
            subprocess.run(self._rm(paths), stderr=subprocess.DEVNULL, env={})

    async def drained(self) -> None:
        """Wait until all is done that was left for later, and what that left."""
        while self._later:
            await asyncio.gather(*self._later, return_exceptions=True)

    def close(self) -> None:
        """Remove the directory and let go of the users. Blocks for the time that takes. Idempotent."""
        if self.users.owner_fd >= 0:
            self.remove_now([self.path])
            self.users.close()
        self._home.release()

    async def _remove(self, paths: Sequence[Path]) -> None:
        await run(self._rm(paths), env={}, keep_output=False)

    def _rm(self, paths: Sequence[Path]) -> list[str]:
        return [*self.as_owner, "/bin/rm", "-rf", "--", *map(os.fspath, paths)]
