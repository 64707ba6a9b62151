"""What holds for every test."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# How long an example takes says more of the host than of the code.
settings.register_profile("workbench", deadline=None)
settings.load_profile("workbench")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each core; none where microVMs are booted, which need the host to themselves."""
    return 0 if config.option.markexpr == "microvm" else os.cpu_count() or 1
