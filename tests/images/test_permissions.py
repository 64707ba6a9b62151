"""A context with a file that may not be read, built by an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.images.conftest import BASE, BUSYBOX, needs_buildah
from tests.machines.bubblewrap.conftest import Person, person

__all__ = ["person"]

pytestmark = [
    needs_buildah,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user, and files of another's"),
    pytest.mark.parametrize("person", ["subuid"], indirect=True),
]


@pytest.fixture
def context(person: Person) -> Path:
    """A context of theirs with a file of root's own."""
    path = person.scratch("context")
    shutil.copy(BUSYBOX, path / "busybox")
    (path / "secret").write_text("of root\n")
    for file in (path / "busybox", path / "secret"):
        file.chmod(0o600 if file.name == "secret" else 0o755)
    return path


def build(person: Person, context: Path, store: Path, dockerfile: str) -> str:
    (context / "Dockerfile").write_text(BASE + dockerfile)
    words = person.command("tests.images.build_by", str(context), str(store))
    done = subprocess.run(words, env=person.env, cwd="/", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_is_an_error_with_its_line_where_it_is_copied_and_nothing_elsewhere(
    person: Person, context: Path
) -> None:
    store = person.scratch("store")
    assert build(person, context, store, "RUN :\n") == "built"
    said = build(person, context, store, "RUN :\nCOPY secret /secret\n")
    assert said.startswith("4: ")
    assert said.endswith("secret: permission denied")
    (context / "secret").chmod(0o644)
    assert build(person, context, store, "RUN :\nCOPY secret /secret\n") == "built"


def test_their_own_is_no_other_although_the_builder_is_root_in_its_namespace(
    person: Person, context: Path
) -> None:
    os.chown(context / "secret", person.uid, -1)
    (context / "secret").chmod(0)
    said = build(person, context, person.scratch("store"), "COPY secret /secret\n")
    assert said.startswith("3: ")
    assert said.endswith("secret: permission denied")
