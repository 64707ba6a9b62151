"""The parts that can be wrong without a machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.machines.bubblewrap import host
from workbench.machines.bubblewrap.accounts import Account, UnknownUserError, find_account
from workbench.machines.bubblewrap.base import session_layer
from workbench.machines.bubblewrap.hints import hint_for
from workbench.machines.bubblewrap.processes import Kept
from workbench.machines.bubblewrap.session import filesystem, fit_root

PASSWD = "root:x:0:0:root:/root:/bin/bash\nbob:x:1000:100:Bob:/home/bob:/bin/sh\nbroken line\n"
GROUP = "root:x:0:\nusers:x:100:bob\nwheel:x:10:root,bob\nbroken\n"


@pytest.mark.parametrize(
    ("user", "account"),
    [
        ("bob", Account(1000, 100, (10,), "/home/bob")),
        ("1000", Account(1000, 100, (10,), "/home/bob")),
        ("bob:wheel", Account(1000, 10, (), "/home/bob")),
        ("1000:7", Account(1000, 7, (), "/home/bob")),
        ("4242", Account(4242, 0, (), "/")),
        ("root", Account(0, 0, (10,), "/root")),
    ],
)
def test_a_user_is_whom_docker_would_take(user: str, account: Account) -> None:
    assert find_account(user, PASSWD, GROUP) == account


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("eve", "unable to find user eve: no matching entries in passwd file"),
        ("bob:crew", "unable to find group crew: no matching entries in group file"),
    ],
)
def test_an_unknown_name_is_said(user: str, message: str) -> None:
    with pytest.raises(UnknownUserError, match=f"^{message}$"):
        find_account(user, PASSWD, GROUP)


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_the_first_and_the_last_bytes_are_kept(piece: int) -> None:
    data = bytes(range(100, 200))
    kept = Kept(limit=20)
    for start in range(0, len(data), piece):
        kept.add(data[start : start + piece])
    assert kept.bytes() == data[:10] + b"\n[... 80 bytes left out ...]\n" + data[-10:]


def test_what_fits_is_kept_as_it_is() -> None:
    kept = Kept(limit=20)
    kept.add(b"0123456789")
    kept.add(b"abcdefghij")
    assert kept.bytes() == b"0123456789abcdefghij"


@pytest.mark.parametrize(
    ("switches", "uid", "said", "hint"),
    [
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            1000,
            "setting up uid map: Permission denied",
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            {"kernel/unprivileged_userns_clone": "0"},
            1000,
            "unshare failed: Operation not permitted",
            "sudo sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            {"user/max_user_namespaces": "0"},
            0,
            "unshare: unshare failed: No space left on device",
            "sudo sysctl user.max_user_namespaces=15000",
        ),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            0,
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            "systempaths=unconfined",
        ),
        ({}, 1000, "bwrap: Can't make overlay mount on /newroot: Invalid argument", "XDG_STATE_HOME"),
        ({}, 1000, "newuidmap: uid range [0-1) -> [1000-1001) not allowed", "/etc/subuid"),
        ({}, 1000, "unshare: unshare failed: Operation not permitted", "seccomp=unconfined"),
        ({}, 1000, "something else", ""),
    ],
)
def test_a_refusal_says_what_to_do(
    switches: dict[str, str], uid: int, said: str, hint: str, tmp_path: Path
) -> None:
    for name, value in switches.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n")
    found = hint_for(said, tmp_path, uid)
    assert hint in found
    assert bool(hint) == bool(found)


@pytest.mark.parametrize("single", [True, False])
def test_apt_downloads_as_root_where_there_is_no_other_user(single: bool, tmp_path: Path) -> None:
    session_layer(tmp_path, "host", "nameserver 10.0.0.1\n", single=single)
    assert [path.read_text() for path in (tmp_path / "etc").rglob("99*")] == (
        ['APT::Sandbox::User "root";\n'] if single else []
    )
    assert (tmp_path / "etc/resolv.conf").read_text() == "nameserver 10.0.0.1\n"
    assert "127.0.1.1\thost\n" in (tmp_path / "etc/hosts").read_text()


def test_a_directory_that_is_not_there_yet_has_its_parents_file_system() -> None:
    assert filesystem(Path("/proc/none/such")) == "proc"
    assert filesystem(Path("/dev/shm/none/such")) == filesystem(Path("/dev/shm"))


def test_changes_are_kept_in_memory_where_the_disk_cannot_hold_them(tmp_path: Path) -> None:
    if filesystem(Path("/dev/shm")) != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    own = fit_root(Path("/proc/none"))
    assert own.parent == Path("/dev/shm")
    assert own.stat().st_mode & 0o777 == 0o700
    assert fit_root(Path("/proc/none"), memory=Path("/proc")) == Path("/proc/none")
    own.rmdir()


def test_a_file_that_is_replaced_while_the_host_is_copied_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, scandir = tmp_path / "etc", os.scandir
    source.mkdir()
    for name in ("passwd", "passwd.lock"):
        (source / name).write_text(name)

    def listed(path: Path) -> list[os.DirEntry[str]]:
        with scandir(path) as entries:
            found = list(entries)
        (source / "passwd.lock").unlink()
        return found

    monkeypatch.setattr(os, "scandir", listed)
    host._copy_readable(source, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["passwd"]
