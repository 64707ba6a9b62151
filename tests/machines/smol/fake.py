"""smolvm as the SDK shows it, for hosts without a usable /dev/kvm: records, directories, a process a machine.

What it refuses and how is what was seen of smolmachines 1.32.2 in real microVMs, where `tests/microvm` shows
the same.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import psutil
from smol import ConnectOptions, ExecOptions, MachineConfig, SmolError

from workbench.machines.smol import sdk

type Script = Callable[["FakeMachine", list[str], ExecOptions], Iterator[dict[str, object]]]


@dataclass
class FakeSmolvm:
    """The host's smolvm."""

    directories: Path
    calls: list[str] = field(default_factory=list)
    targets: list[str | None] = field(default_factory=list)
    """The `target` of each call's connection."""
    configs: list[MachineConfig] = field(default_factory=list)
    records: dict[str, FakeMachine] = field(default_factory=dict)
    script: Script | None = None
    """What a command prints and how it ends; `exit 0` without."""
    creating: threading.Event = field(default_factory=threading.Event)
    """Set when a create has begun."""
    create_may_end: threading.Event = field(default_factory=threading.Event)
    failing: int = 0
    """How many starts of stopped machines fail from now on."""
    branching: int = 0
    most_branching: int = 0

    def __post_init__(self) -> None:
        self.create_may_end.set()

    def create(self, config: MachineConfig, conn: ConnectOptions | None = None) -> FakeMachine:
        self._call("create", config.name, conn)
        self.configs.append(config)
        assert config.name
        machine = FakeMachine(self, config.name, None, bool(config.branchable), dict(config.labels or {}))
        machine.image = config.image
        if config.image and (archive := Path(config.image)).is_file():
            digest = hashlib.sha256(archive.read_bytes()).hexdigest()
            machine.image = f"local:{digest}"
            (sdk.archive_directories() / digest).mkdir(parents=True, exist_ok=True)
        self.creating.set()
        self.create_may_end.wait(30)
        if not machine.runs:
            machine.delete()
            raise SmolError("SMOLVM_ERROR", "boot process exited (signal 9) before the agent was ready")
        return machine

    def connect(self, name: str, conn: ConnectOptions | None = None) -> FakeMachine:
        self._call("connect", name, conn)
        if self.failing:
            self.failing -= 1
            raise SmolError("STORAGE_ERROR", "the disk cannot be read")
        self.records[name].start()
        return self.records[name]

    def list(self, conn: ConnectOptions | None = None, labels: object = None) -> list[SimpleNamespace]:
        self._call("list", "", conn)
        return [
            SimpleNamespace(
                name=record.name, pid=record.process.pid, labels=record.labels, image=record.image
            )
            for record in list(self.records.values())
        ]

    def delete_by_name(self, name: str, conn: ConnectOptions | None = None) -> None:
        self._call("delete", name, conn)
        if record := self.records.get(name):
            record.remove()

    def end(self) -> None:
        for record in list(self.records.values()):
            record.process.kill()
            record.process.wait()

    def directory(self, name: str) -> Path:
        return self.directories / hashlib.sha256(name.encode()).hexdigest()[:16]

    def _call(self, what: str, name: str | None, conn: ConnectOptions | None) -> None:
        self.calls.append(f"{what} {name}".strip())
        self.targets.append(conn.target if conn else None)


class FakeMachine:
    """One machine, whose VMM is a process that sleeps."""

    def __init__(
        self,
        host: FakeSmolvm,
        name: str,
        parent: FakeMachine | None,
        branchable: bool,
        labels: dict[str, str],
    ) -> None:
        self.host, self.name, self.parent = host, name, parent
        self.branchable, self.labels, self.frozen = branchable, labels, False
        self.image: str | None = parent.image if parent else None
        directory = host.directory(name)
        directory.mkdir(parents=True)
        (directory / "name").write_text(name)
        self.start()
        host.records[name] = self

    def start(self) -> None:
        self.process = subprocess.Popen(["bash", "-c", "exec -a _boot-vm sleep 600"], start_new_session=True)
        while "_boot-vm" not in psutil.Process(self.process.pid).cmdline():
            time.sleep(0.001)
        (self.host.directory(self.name) / "agent.pid").write_text(f"{self.process.pid} 1\n")

    def stop(self, timeout_secs: float | None = None) -> None:
        self.host.calls.append(f"stop {self.name}")
        self.process.kill()
        self.process.wait()

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def branch(self, name: str, *, branchable: bool, freeze_source: bool) -> FakeMachine:
        self.host.calls.append(f"branch {self.name} {name}")
        if not self.branchable:
            raise SmolError("SMOLVM_ERROR", f"machine '{self.name}' is not forkable")
        self.host.branching += 1
        self.host.most_branching = max(self.host.most_branching, self.host.branching)
        (self.host.directories / f".{self.name}.fork-operation.lock").touch()
        self.host.create_may_end.wait(30)
        self.host.branching -= 1
        self.frozen = self.frozen or freeze_source
        return FakeMachine(self.host, name, self, branchable, self.labels)

    def exec_stream(self, argv: list[str], options: ExecOptions) -> FakeStream:
        self.host.calls.append(f"exec {self.name}")
        assert not self.frozen, "an exec on a frozen machine hangs for ever"
        return FakeStream(self, argv, options)

    def read_file(self, path: str) -> bytes:
        self._connect()
        raise SmolError("NOT_FOUND", f"there is no {path}")

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        self._connect()

    def _connect(self) -> None:
        if not self.runs:
            raise SmolError(
                "SMOLVM_ERROR", "Agent error (connect to agent): Connection refused (os error 111)"
            )

    def delete(self) -> None:
        self.host.calls.append(f"delete {self.name}")
        self.remove()

    def remove(self) -> None:
        children = [record.name for record in self.host.records.values() if record.parent is self]
        if children:
            names = ", ".join(children)
            raise SmolError(
                "SMOLVM_ERROR",
                f"machine '{self.name}' has dependent fork(s) ({names}); delete descendants first",
            )
        if self.host.records.pop(self.name, None):
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.host.directory(self.name), ignore_errors=True)


class FakeStream:
    """A command's output, and its end: by itself, by `kill`, or with its machine."""

    def __init__(self, machine: FakeMachine, argv: list[str], options: ExecOptions) -> None:
        self.killed = threading.Event()
        script = machine.host.script
        self._events = script(machine, argv, options) if script else iter([{"kind": "exit", "exit_code": 0}])

    def __iter__(self) -> Iterator[dict[str, object]]:
        for event in self._events:
            if self.killed.is_set():
                return
            if event["kind"] != "waiting":
                yield event

    def kill(self) -> None:
        self.killed.set()

    close = kill
