"""The kinds of user that machines are made by."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.machines.bubblewrap.within_reach import __file__ as within_reach
from workbench.machines.bubblewrap.namespace import Mode, plan
from workbench.machines.bubblewrap.programs import find_programs

REPOSITORY = Path(__file__).resolve().parents[3]
MODES: tuple[Mode, ...] = ("root", "subuid", "single")
_SUBIDS = "3000000:65536"


@dataclass(frozen=True)
class Person:
    """Someone who runs an engine."""

    mode: Mode
    prefix: tuple[str, ...]
    """Runs a command as that user, in a mount namespace where Python and this repository can be read."""
    uid: int
    directory: Path
    """Of their own."""
    made: list[str] = field(default_factory=list)
    """The names of all scratch directories."""

    def __post_init__(self) -> None:
        for path in (self.directory, self.directory / "tmp"):
            path.mkdir(exist_ok=True)
            os.chown(path, self.uid, -1)

    def command(self, module: str, *arguments: str) -> list[str]:
        """A Python module of this repository, run by them."""
        return [*self.prefix, sys.executable, "-B", "-m", module, *arguments]

    def scratch(self, name: str) -> Path:
        """A fresh directory of theirs."""
        path = self.directory / f"{name}-{secrets.token_hex(3)}"
        path.mkdir()
        os.chown(path, self.uid, -1)
        self.made.append(path.name)
        return path

    @property
    def env(self) -> dict[str, str]:
        """For what they run."""
        return {
            **{name: os.environ[name] for name in ("PATH",)},
            "HOME": str(self.directory),
            "TMPDIR": str(self.directory / "tmp"),
            "PYTHONPATH": str(REPOSITORY),
            "WORKBENCH_TEST_TOKEN": "secret",
        }


@pytest.fixture(scope="session", params=MODES)
def person(request: pytest.FixtureRequest) -> Iterator[Person]:
    mode: Mode = request.param
    directory = Path(tempfile.mkdtemp(prefix=f"workbench-{mode}-"))
    try:
        if os.geteuid() != 0:
            if plan(find_programs())[0] != mode:
                pytest.skip("only root can make another user")
            yield Person(mode, (), os.geteuid(), directory)
        elif mode == "root":
            yield Person(mode, (), 0, directory)
        else:
            uid = _free_number()
            become = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--")
            with tempfile.TemporaryDirectory(prefix="workbench-etc-") as etc:
                known = _known(uid, Path(etc), subids=mode == "subuid")
                yield Person(mode, (*known, *_reach((*known, *become)), *become), uid, directory)
    finally:
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def outcomes(person: Person) -> dict[str, str]:
    """What came of every contract when this person ran it."""
    directory = person.scratch("contract")
    words = person.command("tests.machines.bubblewrap.driver", str(directory))
    done = subprocess.run(words, env=person.env, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result: dict[str, str] = json.loads(done.stdout)
    return result


def _free_number() -> int:
    """Of no user of this host, nor of one that another process makes at the same time."""
    taken = {user.pw_uid for user in pwd.getpwall()}
    return next(uid for uid in iter(lambda: 20_000 + secrets.randbelow(20_000), None) if uid not in taken)


def _known(uid: int, etc: Path, *, subids: bool) -> tuple[str, ...]:
    """Runs a command where a user of that number is known, and nowhere else: machines are made of /etc.

    Args:
        etc: An empty directory for the lists of users.
    """
    lines = {"passwd": f"wb:x:{uid}:{uid}::/nonexistent:/bin/sh", "group": f"wb:x:{uid}:"}
    if subids:
        lines |= dict.fromkeys(("subuid", "subgid"), f"wb:{_SUBIDS}")
    for name, line in lines.items():
        (etc / name).write_text(f"{Path('/etc', name).read_text()}{line}\n")
    mount = 'for file in "$0"/*; do mount --bind "$file" "/etc/${file##*/}" || exit; done; exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mount, str(etc))


def _reach(become: tuple[str, ...]) -> tuple[str, ...]:
    look = [*become, sys.executable, "-c", "import msgspec, tests, workbench"]
    env = {"PYTHONPATH": str(REPOSITORY)}
    if subprocess.run(look, env=env, cwd="/", capture_output=True).returncode == 0:
        return ()
    directories = {sys.prefix, sys.base_prefix, str(REPOSITORY)}
    return ("unshare", "--mount", sys.executable, within_reach, *sorted(directories), "--")
