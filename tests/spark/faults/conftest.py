"""What the fault tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lakes import Lake, a_lake


@pytest.fixture(scope="session")
def whole_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One source for all tests; none of them may touch it."""
    return a_lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
def lake(whole_lake: Lake) -> Iterator[Lake]:
    """The lake without a table."""
    whole_lake.reset()
    yield whole_lake
    whole_lake.reset()
