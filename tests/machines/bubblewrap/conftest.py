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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.machines.bubblewrap.within_reach import __file__ as within_reach
from workbench.machines.bubblewrap.namespace import Mode, plan
from workbench.machines.bubblewrap.programs import find_programs

REPOSITORY = Path(__file__).resolve().parents[3]
MODES: tuple[Mode, ...] = ("root", "subuid", "single")
_SUBIDS = "3000000-3065535"


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
            with _user(subids=mode == "subuid") as (name, uid):
                become = ("setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "--")
                yield Person(mode, (*_reach(become), *become), uid, directory)
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


@contextmanager
def _user(*, subids: bool) -> Iterator[tuple[str, int]]:
    """A user for the length of a test session: name and number."""
    name = f"wb-{secrets.token_hex(4)}"
    subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", name], check=True)
    try:
        if subids:
            ranges = ("--add-subuids", _SUBIDS, "--add-subgids", _SUBIDS)
            subprocess.run(["usermod", *ranges, name], check=True)
        yield name, pwd.getpwnam(name).pw_uid
    finally:
        subprocess.run(["userdel", name], check=True)


def _reach(become: tuple[str, ...]) -> tuple[str, ...]:
    look = [*become, sys.executable, "-c", "import msgspec, tests, workbench"]
    env = {"PYTHONPATH": str(REPOSITORY)}
    if subprocess.run(look, env=env, cwd="/", capture_output=True).returncode == 0:
        return ()
    directories = {sys.prefix, sys.base_prefix, str(REPOSITORY)}
    return ("unshare", "--mount", sys.executable, within_reach, *sorted(directories), "--")
