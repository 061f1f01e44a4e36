"""The catalog in memory."""

from __future__ import annotations

import pytest

from framework.engine.catalogs.memory import MemoryCatalog
from tests.support.catalog_suite import CatalogSuite


class TestMemoryCatalog(CatalogSuite):
    """The suite, in memory."""

    @pytest.fixture
    def catalog(self) -> MemoryCatalog:
        """An empty catalog."""
        return MemoryCatalog()
