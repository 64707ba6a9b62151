"""Files in and out, and the images that machines stand on."""

from __future__ import annotations

import io
import os
import stat
import tarfile

import pytest

from tests.images.archives import docker_archive
from tests.machines.bubblewrap.bench import Bench, out
from tests.machines.bubblewrap.rootfs import small_rootfs
from workbench.machines.machine import MachineError


async def links_are_not_followed_on_the_host(bench: Bench) -> None:
    secret = bench.scratch / "secret"
    secret.write_text("host")
    target = bench.scratch / "target"
    (target / "sub").mkdir(parents=True)
    outside = bench.scratch / "outside"
    outside.mkdir()
    (target / "old").symlink_to(outside)
    async with bench.machine() as machine:
        await out(
            machine,
            f"""
            mkdir -p d/sub d/old; cd d
            echo in > sub/file; echo in > old/file; echo in > taken
            ln -s sub/file inside; ln -s ../sub/file sub/up
            ln -s {secret} absolute; ln -s ../../../../../../../../{secret} relative
            ln -s sub s; ln -s s/../../secret through
            """,
        )
        (target / "taken").symlink_to(secret)
        await machine.download("/app/d", target)
    assert secret.read_text() == "host"
    assert list(outside.iterdir()) == []
    assert (target / "taken").read_text() == "in\n"
    assert not (target / "taken").is_symlink()
    assert (target / "old/file").read_text() == "in\n"
    links = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink()}
    assert links == {"inside", "s", "sub/up"}
    assert (target / "inside").read_text() == "in\n"


async def a_linked_file_comes_back_as_the_machine_sees_it(bench: Bench) -> None:
    async with bench.machine() as machine:
        await out(machine, "echo inner > /root/real; ln -s /root/real /app/link")
        await machine.download("/app/link", bench.scratch / "copy")
    assert (bench.scratch / "copy").read_text() == "inner\n"
    assert not (bench.scratch / "copy").is_symlink()


async def pipes_sockets_and_setuid_bits_do_not_come_back(bench: Bench) -> None:
    async with bench.machine() as machine:
        await out(machine, "mkdir d; cd d; mkfifo pipe; cp /bin/true t; chmod 6755 t; echo x > plain")
        await machine.download("/app/d", bench.scratch / "d")
    assert sorted(path.name for path in (bench.scratch / "d").iterdir()) == ["plain", "t"]
    assert stat.S_IMODE((bench.scratch / "d/t").stat().st_mode) == 0o755


async def modes_are_kept_both_ways(bench: Bench) -> None:
    source = bench.scratch / "source"
    (source / "dir").mkdir(parents=True)
    modes = {"a": 0o640, "b": 0o755, "c": 0o600, "d": 0o444, "e": 0o4755, "dir": 0o750}
    for name in "abcde":
        (source / name).write_text(name)
    for name, mode in modes.items():
        (source / name).chmod(mode)
    (source / "link").symlink_to("a")
    async with bench.machine() as machine:
        await machine.upload(source, "/app/in")
        said = await out(machine, "cd in; stat -c '%n %a %U' a b c d e dir; readlink link")
        assert said.splitlines() == [f"{name} {mode:o} root" for name, mode in modes.items()] + ["a"]
        await machine.download("/app/in", bench.scratch / "back")
    for name, mode in modes.items():
        assert stat.S_IMODE((bench.scratch / "back" / name).stat().st_mode) == mode & 0o777, name


async def a_file_goes_to_just_the_path_that_was_named(bench: Bench) -> None:
    (bench.scratch / "one").write_text("1")
    (bench.scratch / "one").chmod(0o751)
    async with bench.machine() as machine:
        await machine.upload(bench.scratch / "one", "/new/deep/two")
        assert await out(machine, "stat -c '%a %s' /new/deep/two") == "751 1\n"
        await machine.download("/new/deep/two", bench.scratch / "other" / "three")
    assert (bench.scratch / "other/three").read_text() == "1"


async def what_is_not_there_cannot_be_copied(bench: Bench) -> None:
    async with bench.machine() as machine:
        with pytest.raises(MachineError, match=r"there is no .*/missing to upload"):
            await machine.upload(bench.scratch / "missing", "/x")
        with pytest.raises(MachineError, match="there is no /missing in the machine"):
            await machine.download("/missing", bench.scratch / "x")
        (bench.scratch / "file").write_text("")
        with pytest.raises(MachineError, match=r"uploading .*file to /proc/x"):
            await machine.upload(bench.scratch / "file", "/proc/x")


async def a_large_file_goes_both_ways(bench: Bench) -> None:
    large = bench.scratch / "large"
    large.write_bytes(os.urandom(1 << 20) * 40)
    async with bench.machine() as machine:
        await machine.upload(large, "/app/large")
        await machine.download("/app/large", bench.scratch / "back")
    assert (bench.scratch / "back").read_bytes() == large.read_bytes()


async def an_unpacked_image_is_the_machines_root(bench: Bench) -> None:
    root = small_rootfs(bench.scratch / "rootfs")
    (root / "marker").write_text("image")
    base = await bench.session.image(str(root))
    async with bench.machine(base=base) as machine:
        assert await out(machine, "cat /marker; pwd") == "image/\n"
        await out(machine, "rm /marker; echo new > /made")
        assert set((await out(machine, "ls /")).split()) == {
            *("bin", "dev", "etc", "lib", "lib64", "logs", "made", "proc", "solution", "sys", "tests", "tmp"),
        }
        assert await out(machine, "cat /etc/hostname") == "bench\n"
        (bench.scratch / "up").write_text("x")
        await machine.upload(bench.scratch / "up", "/tmp/up")
        await machine.download("/tmp/up", bench.scratch / "down")
    assert (bench.scratch / "down").read_text() == "x"
    assert (root / "marker").read_text() == "image"
    assert not (root / "made").exists()


async def an_image_without_tar_is_told_so(bench: Bench) -> None:
    root = small_rootfs(bench.scratch / "rootfs")
    (root / "bin/tar").unlink()
    async with bench.machine(base=await bench.session.image(str(root))) as machine:
        with pytest.raises(MachineError, match="tar: not found") as error:
            await machine.upload(root / "etc", "/tmp")
        assert error.value.hint == "install tar in the image"
        with pytest.raises(MachineError, match="tar: not found"):
            await machine.download("/etc", bench.scratch / "etc")


async def an_image_without_a_shell_is_refused(bench: Bench) -> None:
    (bench.scratch / "empty").mkdir()
    with pytest.raises(MachineError, match="has no /bin/sh"):
        await bench.session.image(str(bench.scratch / "empty"))


async def an_archive_is_unpacked_with_its_owners_and_run_as_it_says(bench: Bench) -> None:
    root = small_rootfs(bench.scratch / "rootfs")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(root, ".", filter=_as_root)
        tar.addfile(_owned("home", tarfile.DIRTYPE, 0o750))
        tar.addfile(_owned("home/mine", tarfile.REGTYPE, 0o4711))
    archive = bench.scratch / "image.tar"
    says = {"Env": ["A=b c", "PATH=/bin"], "WorkingDir": "/home", "User": "agent"}
    docker_archive(archive, packed.getvalue(), **says)
    base = await bench.session.image(str(archive))
    assert base == await bench.session.image(str(archive))
    async with bench.machine(base=base, env={"C": "d"}) as machine:
        if bench.session.mode == "single":
            assert any("not as the image's user agent" in limit for limit in base.limits)
            assert await out(machine, "echo $A $C $PATH $PWD $UID") == "b c d /bin /home 0\n"
        else:
            assert await out(machine, "echo $A $C $PATH $PWD $UID") == "b c d /bin /home 1000\n"
            look = "stat -c '%n %u %g %a' . mine"
            assert await out(machine, look, user="root") == ". 1000 1000 750\nmine 1000 1000 4711\n"
        await out(machine, "touch new; rm mine")


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mode |= 0o755  # whatever the umask made of it
    return member


def _owned(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.uid, member.gid = kind, mode, 1000, 1000
    return member
