"""What the fault tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lakes import Lake, a_lake


@pytest.fixture(scope="session")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One source for all tests; none of them may touch it."""
    return a_lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
def lake(laid_out: Lake) -> Iterator[Lake]:
    """The lake without a table."""
    laid_out.reset()
    yield laid_out
    laid_out.reset()
