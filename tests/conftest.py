"""What holds for every test."""

from __future__ import annotations

import os

import pytest


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each core; none where microVMs are booted, which need the host to themselves."""
    return 0 if config.option.markexpr == "microvm" else os.cpu_count() or 1
