"""Scripts that a traced run must not disturb."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = {path.name: path.read_text() for path in sorted(Path(__file__).parent.glob("*.sh"))}
"""By file name."""
