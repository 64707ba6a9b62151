"""Files into and out of a microVM: single ones as they are, directories as an archive of the guest's own tar.

An archive passes through the host's memory and the guest's disk, as in Harbor's own smol environment; smolvm
takes up to 4 GiB.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path, PurePosixPath

from smol import ExecOptions, SmolError

from workbench.machines.bubblewrap.transfer import CHANGED, PACK, pack, unpack
from workbench.machines.machine import MachineError
from workbench.machines.smol.sdk import in_thread
from workbench.machines.smol.vm import Vm

_MAKE = 'mkdir -p -- "$1"'
_UNPACK = 'mkdir -p -- "$2" && tar xpf "$1" -C "$2"; code=$?; rm -f -- "$1"; exit $code'
_PACK = f'({PACK}\n) > "$2"'
_REMOVE = 'rm -f -- "$1"'


async def upload(vm: Vm, source: Path, target: str) -> None:
    """Copy a host file to `target`, or a directory's contents into it. All belongs to root then.

    Raises:
        MachineError: it cannot be read here or written there.
    """
    try:
        if source.is_dir():
            archive = _archive()
            await _write(vm, archive, await in_thread(_packed, source))
            await _sh(vm, _UNPACK, archive, target)
        else:
            await _sh(vm, _MAKE, str(PurePosixPath(target).parent))
            await _write(vm, target, await in_thread(source.read_bytes), source.stat().st_mode & 0o777)
    except OSError as error:
        raise MachineError(f"{error.filename or source}: {error.strerror or error}") from None


async def download(vm: Vm, source: str, target: Path) -> None:
    """Copy a file to the host path `target`, or a directory's contents into it.

    Raises:
        MachineError: it is not there, or cannot be written here.
    """
    archive = _archive()
    try:
        await _sh(vm, _PACK, source, archive, accepted=CHANGED)
        data = await in_thread(vm.handle.read_file, archive)
    except SmolError as error:
        raise await vm.failure(f"{source} could not be copied: {error}") from None
    finally:
        if vm.alive and not vm.frozen:
            await _sh(vm, _REMOVE, archive)
    await in_thread(_unpacked, data, target)


def _archive() -> str:
    # /tmp is memory in a microVM.
    return f"/var/tmp/workbench-{secrets.token_hex(8)}.tar"


async def _write(vm: Vm, path: str, data: bytes, mode: int | None = None) -> None:
    try:
        await in_thread(vm.handle.write_file, path, data, mode)
    except SmolError as error:
        raise await vm.failure(f"{path} could not be written: {error}") from None


async def _sh(vm: Vm, script: str, *arguments: str, accepted: int = 0) -> None:
    finished = await vm.run(["/bin/sh", "-c", script, "sh", *arguments], ExecOptions(user="root"))
    if finished.exit_code not in (0, accepted):
        said = (finished.stderr or finished.stdout).decode().strip()
        raise MachineError(said or f"copying ended with exit code {finished.exit_code}")


def _packed(source: Path) -> bytes:
    with tempfile.TemporaryFile() as file:
        pack(source, "", os.dup(file.fileno()))
        file.seek(0)
        return file.read()


def _unpacked(data: bytes, target: Path) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        unpack(os.dup(file.fileno()), target)
