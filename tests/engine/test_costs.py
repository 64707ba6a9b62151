"""What guests say of themselves; the microVM tests ask a real one."""

from __future__ import annotations

import pytest

from workbench.engine import costs
from workbench.engine.costs import Guests
from workbench.machines.machine import GuestUsage, MachineError
from workbench.machines.smol.machine import SmolMachine

USAGE = GuestUsage(cpu_percent=1.0, memory_used_bytes=1, memory_total_bytes=2)


class Talker(SmolMachine):
    """A machine that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def guest_usage(self) -> GuestUsage:
        self.asked += 1
        if self.asked == 2:
            raise MachineError("it does not say")
        return USAGE


async def test_a_guest_is_asked_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    guests, machine = Guests(), Talker()
    assert [await guests.usage(machine) for _ in range(3)] == [USAGE] * 3
    assert machine.asked == 1
    monkeypatch.setattr(costs, "ASK_SECONDS", 0.0)
    assert await guests.usage(machine) == USAGE  # its last word, where it does not answer
    assert machine.asked == 2
