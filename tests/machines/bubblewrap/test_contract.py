"""The contract, held to as root and as ordinary users with and without further users of their own."""

from __future__ import annotations

import pytest

from tests.machines.bubblewrap.conftest import Person
from tests.machines.bubblewrap.driver import contracts


@pytest.mark.parametrize("name", contracts())
def test_it_holds_that(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "", outcomes[name]


def test_the_users_are_those_this_person_can_have(person: Person, outcomes: dict[str, str]) -> None:
    assert outcomes["mode"] == person.mode


def test_a_closed_session_leaves_nothing(outcomes: dict[str, str]) -> None:
    assert outcomes["left"] == ""


def test_nothing_is_written_outside_its_own_directories(outcomes: dict[str, str], person: Person) -> None:
    assert outcomes
    assert {path.name for path in person.directory.iterdir()} == {"tmp", *person.made}
    assert list((person.directory / "tmp").iterdir()) == []
