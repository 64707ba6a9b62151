"""Whom a command runs as, from the machine's own /etc/passwd and /etc/group."""

from __future__ import annotations

import msgspec


class UnknownUserError(Exception):
    """The machine has no such user or group."""


class Account(msgspec.Struct, frozen=True):
    """A user with its groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    """Besides `gid`."""
    home: str = "/"


ROOT = Account(0, 0, (), "/root")


def find_account(user: str, passwd: str, group: str) -> Account:
    """The account that Docker would take for `name`, `uid`, `name:group` or `uid:gid`.

    Raises:
        UnknownUserError: a name is not in these files.
    """
    name, _, group_name = user.partition(":")
    users = [line.split(":") for line in passwd.splitlines() if line.count(":") >= 6]
    groups = [line.split(":") for line in group.splitlines() if line.count(":") >= 3]
    entry = next((u for u in users if u[0] == name), None)
    if entry is None and name.isdecimal():
        entry = next((u for u in users if u[2] == name), None)
        if entry is None:
            entry = [name, "", name, "0", "", "/", ""]
    if entry is None:
        raise UnknownUserError(f"unable to find user {name}: no matching entries in passwd file")
    uid, gid, home = int(entry[2]), int(entry[3]), entry[5] or "/"
    if group_name:
        return Account(uid, _find_group(group_name, groups), (), home)
    others = tuple(int(g[2]) for g in groups if entry[0] in g[3].split(",") and int(g[2]) != gid)
    return Account(uid, gid, others, home)


def _find_group(name: str, groups: list[list[str]]) -> int:
    for entry in groups:
        if entry[0] == name:
            return int(entry[2])
    if name.isdecimal():
        return int(name)
    raise UnknownUserError(f"unable to find group {name}: no matching entries in group file")
