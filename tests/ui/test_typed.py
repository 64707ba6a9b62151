"""Lines of standard input."""

from __future__ import annotations

import os
import sys

import pytest

from workbench.ui.typed import typed


async def test_lines_come_as_they_are_typed_and_the_input_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs, ours = os.pipe()
    with os.fdopen(theirs) as file:
        monkeypatch.setattr(sys, "stdin", file)
        lines = typed()
        os.write(ours, b"one\ntw")
        assert await anext(lines) == "one\n"
        assert os.get_blocking(theirs)
        os.write(ours, "ö".encode())
        os.close(ours)
        assert [line async for line in lines] == ["twö"]
        assert os.get_blocking(theirs)
