"""The table that tests of a kept view begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.view_scene import BASE, Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Return a table that holds one commit, which the view knows."""
    found = Scene()
    found.write(BASE)
    found.commit("1.commit", BASE)
    assert found.shown() == {"a": [("a_0-0-0_1.parquet", 2)]}
    yield found
    found.storage.forget()
