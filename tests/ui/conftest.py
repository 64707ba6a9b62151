"""What all tests of the terminal face share."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.ui.resting import rest


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No animation, no blinking cursor, nothing that is said later, and none of the user's own settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr("workbench.ui.panes.run_pane._STATE_SECONDS", 0.02)
    monkeypatch.setattr("textual.app.wait_for_idle", rest)
    monkeypatch.setattr("textual.pilot.wait_for_idle", rest)
