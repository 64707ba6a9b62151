"""Commands: how they run, what they print, whose they are, and how they end."""

from __future__ import annotations

import asyncio
import os
import pty
import time
from contextlib import suppress

import pytest

from tests.machines.bubblewrap.bench import Bench, code, out
from workbench.machines.bubblewrap.machine import BubblewrapMachine
from workbench.machines.bubblewrap.processes import OUTPUT_LIMIT
from workbench.machines.machine import Stream


async def a_variable_that_no_shell_can_export_arrives(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert "a.b-c=1\n" in await out(machine, "env", env={"a.b-c": "1"})


async def a_timeout_ends_all_that_the_command_started(bench: Bench) -> None:
    async with bench.machine() as machine:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            await machine.exec(
                "sleep 987 & (sleep 987 &) ; setsid sleep 987 & trap '' TERM INT; sleep 987; sleep 987",
                timeout=0.5,
            )
        assert time.monotonic() - begun < 5
        assert await sleepers(machine) == 0


async def sleepers(machine: BubblewrapMachine) -> int:
    return int(await out(machine, "cat /proc/[0-9]*/comm 2>/dev/null | grep -cx sleep || true"))


async def a_cancelled_command_is_ended(bench: Bench) -> None:
    async with bench.machine() as machine:
        begun = asyncio.Event()

        async def on_output(piece: bytes, stream: Stream) -> None:
            begun.set()

        running = asyncio.create_task(machine.exec("sleep 987 & echo go; wait", on_output=on_output))
        await begun.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        assert running.cancelled()
        assert await sleepers(machine) == 0


async def children_in_the_background_go_on_and_keep_no_one_waiting(bench: Bench) -> None:
    async with bench.machine() as machine:
        begun = time.monotonic()
        command = "{ while [ ! -e go ]; do sleep 0.02; done; echo late; echo late; touch done; } & echo first"
        assert await out(machine, command) == "first\n"
        assert time.monotonic() - begun < 5
        # Printing into the pipe that nobody listens to any more must not end it.
        await out(machine, "touch go; while [ ! -e done ]; do sleep 0.02; done", timeout=10)


async def orphans_are_reaped(bench: Bench) -> None:
    async with bench.machine() as machine:
        await out(machine, "for i in 1 2 3 4 5; do ( sleep 0.01 & ) ; done; sleep 0.1")
        assert await out(machine, "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null || true") == ""


async def a_command_of_any_length_runs(bench: Bench) -> None:
    async with bench.machine() as machine:
        long = "x" * 300_000
        command = f"# comment\necho {long} | wc -c; read line || echo 'no input'"
        assert await out(machine, command) == "300001\nno input\n"
        assert await code(machine, f": {long}; exit 7") == 7


async def output_comes_while_the_command_runs(bench: Bench) -> None:
    async with bench.machine() as machine:
        pieces: list[tuple[bytes, Stream]] = []

        async def on_output(piece: bytes, stream: Stream) -> None:
            pieces.append((piece, stream))
            if piece == b"one\n":
                await machine.exec("touch /tmp/go")

        command = "echo one; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo two >&2"
        done = await machine.exec(command, on_output=on_output, timeout=20)
        assert pieces == [(b"one\n", "stdout"), (b"two\n", "stderr")]
        assert (done.stdout, done.stderr) == (b"one\n", b"two\n")


async def much_output_is_kept_within_bounds(bench: Bench) -> None:
    seen = 0

    async def on_output(piece: bytes, stream: Stream) -> None:
        nonlocal seen
        seen += len(piece)

    async with bench.machine() as machine:
        command = "echo begin; head -c 40000000 /dev/zero; echo end"
        done = await machine.exec(command)
        assert len(done.stdout) < OUTPUT_LIMIT + 100
        assert done.stdout.startswith(b"begin\n")
        assert done.stdout.endswith(b"end\n")
        assert b"bytes left out" in done.stdout
        silent = await machine.exec(command, on_output=on_output, keep_output=False)
        assert silent.stdout == b""
        assert seen == 40_000_000 + len("begin\nend\n")


async def exit_codes_are_the_commands(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert await code(machine, "exit 3") == 3
        assert await code(machine, "kill -9 $$") == 137
        assert await code(machine, "kill -TERM $$") == 143
        assert await code(machine, "no-such-program") == 127


async def a_place_or_user_that_is_not_there_gives_126(bench: Bench) -> None:
    async with bench.machine() as machine:
        done = await machine.exec("pwd", cwd="/no/such")
        assert (done.exit_code, done.stdout) == (126, b"")
        assert b'chdir to cwd ("/no/such") failed' in done.stderr
        done = await machine.exec("id", user="nobody-here")
        assert (done.exit_code, done.stdout) == (126, b"")
        assert done.stderr == b"unable to find user nobody-here: no matching entries in passwd file\n"


async def the_working_directory_is_made_and_used(bench: Bench) -> None:
    async with bench.machine(workdir="/srv/deep/work dir") as machine:
        assert await out(machine, "pwd") == "/srv/deep/work dir\n"
        assert await out(machine, "pwd", cwd="/tmp") == "/tmp\n"


async def users_are_the_machines_own(bench: Bench) -> None:
    async with bench.machine() as machine:
        if bench.session.mode == "single":
            done = await machine.exec("id", user="daemon")
            assert done.exit_code == 126
            assert b"no users but root" in done.stderr
            return
        await out(machine, "groupadd -g 1500 crew; useradd -m -u 1234 -G crew bob")
        await out(machine, "touch mine; chown bob:crew mine")
        bob = "uid=1234(bob) gid=1234(bob) groups=1234(bob),1500(crew)\n"
        assert await out(machine, "id; echo $HOME; whoami", user="bob") == f"{bob}/home/bob\nbob\n"
        assert await out(machine, "id", user=1234) == bob
        assert await out(machine, "id -u; id -g", user="daemon:crew") == "1\n1500\n"
        assert await out(machine, "stat -c '%U %G' mine") == "bob crew\n"
        assert await code(machine, "touch /etc/x", user="bob") == 1
        assert await out(machine, "su bob -c 'id -un'") == "bob\n"


async def the_callers_umask_does_not_count(bench: Bench) -> None:
    assert os.umask(0o077) == 0o077
    async with bench.machine() as machine:
        modes = (await out(machine, "stat -c %a / /etc /tests /solution /app /usr /logs")).split()
        assert modes == ["755"] * 7, modes
        modes = (await out(machine, "stat -c %a /tmp /logs/agent /logs/verifier /logs/artifacts")).split()
        assert modes == ["1777", "777", "777", "777"], modes
        assert await out(machine, "touch new; stat -c %a new /etc/hosts /dev/shm") == "644\n644\n1777\n"


async def a_listener_that_fails_ends_the_command(bench: Bench) -> None:
    async def on_output(piece: bytes, stream: Stream) -> None:
        raise LookupError("no more")

    async with bench.machine() as machine:
        with pytest.raises(LookupError, match="no more"):
            await machine.exec("echo go; sleep 987", on_output=on_output)
        assert await sleepers(machine) == 0


async def a_command_with_a_nul_gives_126(bench: Bench) -> None:
    async with bench.machine() as machine:
        assert await code(machine, "echo \0") == 126


async def variables_are_not_among_the_arguments_that_all_can_read(bench: Bench) -> None:
    async with bench.machine() as machine:
        look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 's3cr[e]t' || true"
        assert await out(machine, look, env={"TOKEN": "s3cret"}) == "0\n"


async def a_shell_is_a_shell(bench: Bench) -> None:
    async with bench.machine(hostname="slugify") as machine:
        said, status = await asyncio.to_thread(_type, machine, b"echo $((40+2)) $TERM; tty; exit 5\r")
    assert "root@slugify:/app" in said
    assert "42 xterm-256color" in said
    assert "cannot set terminal process group" not in said
    assert os.waitstatus_to_exitcode(status) == 5


def _type(machine: BubblewrapMachine, keys: bytes) -> tuple[str, int]:
    """What a terminal shows when these keys are typed into the machine's shell."""
    shell = machine.shell()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(shell.argv[0], shell.argv, shell.env)
    said = b""
    typed = False
    with suppress(OSError):
        while piece := os.read(terminal, 4096):
            said += piece
            if not typed and b"# " in said:
                os.write(terminal, keys)
                typed = True
    return said.decode(), os.waitpid(pid, 0)[1]
