"""What runs in a machine can neither reach the host nor see it."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
from pathlib import Path

from tests.machines.bubblewrap.bench import Bench, code, out

_ADD_KEY, _KEYCTL = (217, 219) if platform.machine() == "aarch64" else (248, 250)
_SESSION_KEYRING = -3


async def a_command_gets_only_the_variables_that_were_given(bench: Bench) -> None:
    assert os.environ["WORKBENCH_TEST_TOKEN"] == "secret"
    async with bench.machine(env={"A": "1", "B": "x"}) as machine:
        said = await out(machine, "env", env={"B": "two words", "C": "q\"'$"})
    variables = dict(line.split("=", 1) for line in said.splitlines())
    for name in ("SHLVL", "PWD", "_"):  # bash's own
        del variables[name]
    assert variables == {
        "A": "1",
        "B": "two words",
        "C": "q\"'$",
        "HOME": "/root",
        "HOSTNAME": "bench",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }


async def a_variable_for_the_loader_is_heeded_inside_alone(bench: Bench) -> None:
    async with bench.machine() as machine:
        done = await machine.exec(":", env={"LD_PRELOAD": "/no/such.so"})
    assert done.stderr.count(b"cannot be preloaded") == 1  # bash; nsenter, on the host, never saw it


async def no_environ_of_the_caller_can_be_read(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert await code(machine, "cat /proc/*/environ 2>/dev/null | grep -q WORKBENCH_TEST_TOKEN") == 1


async def the_hosts_files_are_neither_seen_nor_written(bench: Bench) -> None:
    secret = bench.scratch / "secret"
    secret.write_text("host")
    async with bench.machine() as machine:
        assert await code(machine, f"cat {secret}") == 1
        for directory in ("/etc", "/usr/local/bin", "", "/root"):
            await out(machine, f"echo changed > {directory}/workbench-test")
            assert not Path(f"{directory}/workbench-test").exists()
        top = (await out(machine, "ls -A /")).split()
    assert set(top) <= {
        *("app", "bin", "dev", "etc", "home", "logs", "media", "mnt", "opt", "proc", "root", "run", "sbin"),
        *("solution", "srv", "sys", "tests", "tmp", "usr", "var", "workbench-test"),
        *(path.name for path in Path("/").glob("lib*")),
    }


async def a_file_of_the_hosts_programs_can_be_replaced_inside(bench: Bench) -> None:
    before = Path("/usr/bin/env").read_bytes()
    async with bench.machine() as machine:
        await out(machine, "rm /usr/bin/env; echo mine > /usr/bin/env")
        assert await out(machine, "cat /usr/bin/env") == "mine\n"
    assert Path("/usr/bin/env").read_bytes() == before


async def the_hosts_passwords_are_not_there(bench: Bench) -> None:
    async with bench.machine() as machine:
        shadow = await out(machine, "cat /etc/shadow")
    assert {line.split(":")[1] for line in shadow.splitlines()} == {"*"}


async def proc_sys_cannot_be_written(bench: Bench) -> None:
    async with bench.machine() as machine:
        for name in ("kernel/core_pattern", "kernel/hostname", "vm/swappiness", "net/ipv4/ip_forward"):
            if await code(machine, f"[ -e /proc/sys/{name} ]") == 0:
                done = await machine.exec(f"echo 1 > /proc/sys/{name}")
                assert b"Read-only file system" in done.stderr, (name, done)
        assert await code(machine, "echo h > /proc/sysrq-trigger") != 0


async def nothing_of_the_kernel_can_be_written(bench: Bench) -> None:
    own = "-path '/proc/[0-9]*' -o -path '/proc/*self' -o -path /proc/pressure"  # anyone may ask for pressure
    writable = "-type f -perm /222 -writable -exec test -f {} ';' -print"
    async with bench.machine() as machine:
        found = await machine.exec(f"find /proc /sys '(' {own} ')' -prune -o {writable}")
    assert found.stdout == b"", found


async def the_callers_keys_cannot_be_read(bench: Bench) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(_ADD_KEY, b"user", b"workbench-test", b"secret", 6, _SESSION_KEYRING)
    if key < 0:
        assert ctypes.get_errno() in (errno.ENOSYS, errno.EPERM)  # a container that allows no keys
        return
    read = (
        "import ctypes; libc = ctypes.CDLL(None); data = ctypes.create_string_buffer(9); "
        f"print(libc.syscall({_KEYCTL}, 11, {key}, data, 9), data.value)"
    )
    async with bench.machine() as machine:
        assert await out(machine, f'python3 -c "{read}"') == "-1 b''\n"
        assert await out(machine, "cat /proc/keys") == ""


async def nothing_can_be_mounted(bench: Bench) -> None:
    async with bench.machine() as machine:
        for command in (
            "mount -t tmpfs none /mnt",
            "mount --bind /etc /mnt",
            "mount -o remount,bind,rw /proc/sys",
            "umount /proc/sys",
            "umount /",
            "unshare --mount true",
            "unshare --user --map-root-user true",
            "unshare --net true",
            "unshare --user --map-root-user --mount mount -t tmpfs none /mnt",
        ):
            assert await code(machine, command) not in (0, 127), command
        assert await code(machine, "hostname other") != 0


async def no_device_can_be_made(bench: Bench) -> None:
    async with bench.machine() as machine:
        for command in ("mknod /tmp/disk b 8 0", "mknod /tmp/memory c 1 1", "mknod /tmp/kmsg c 1 11"):
            assert await code(machine, command) == 1, command
        devices = set((await out(machine, "ls /dev")).split())
    assert devices == {
        *("core", "fd", "full", "null", "ptmx", "pts", "random", "shm"),
        *("stderr", "stdin", "stdout", "tty", "urandom", "zero"),
    }


async def the_first_process_is_out_of_reach(bench: Bench) -> None:
    async with bench.machine() as machine:
        for command in ("ls /proc/1/root/", "cat /proc/1/environ", "nsenter --target 1 --mount true"):
            assert await code(machine, command) not in (0, 127), command
        await machine.exec("kill -9 1; kill -STOP 1; kill -9 -1")
        assert await out(machine, "echo alive") == "alive\n"


async def no_descriptor_of_the_caller_is_inherited(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert (await out(machine, "ls /proc/self/fd")).split() == ["0", "1", "2", "3"]  # 3 is the listing's


async def without_a_network_nothing_but_its_own_loopback_is_reached(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        async with bench.machine(network=False) as machine:
            assert await code(machine, connect) == 1
            interfaces = await out(machine, "tail -n +3 /proc/net/dev | cut -d: -f1")
            assert interfaces.split() == ["lo"]
            own = "from socket import *; at = ('127.0.0.1', 80); s = create_server(at); create_connection(at)"
            await out(machine, f'python3 -c "{own}"')
        async with bench.machine(network=True) as machine:
            assert await code(machine, connect) == 0
