from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.machines.smol.fake import FakeSmolvm
from workbench.machines.smol import sdk
from workbench.machines.smol.session import SmolSession


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSmolvm]:
    """A host of its own, in whose environment lies a token for smol's cloud."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SMOL_CLOUD_TOKEN", "smk_secret")
    host = FakeSmolvm(sdk.data_directories())
    monkeypatch.setattr(sdk, "Machine", host)
    yield host
    host.create_may_end.set()
    host.end()


@pytest_asyncio.fixture
async def session(host: FakeSmolvm) -> AsyncIterator[SmolSession]:
    session = SmolSession()
    yield session
    host.create_may_end.set()
    await session.close()
