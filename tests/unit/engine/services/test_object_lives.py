"""Random lives of tables on an object store, with loads and every table service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.lives import Lives
from tests.support.load_model import Setting
from tests.support.object_lives import ObjectStore, an_object_store
from tests.unit.engine.services.test_lives import (
    COPIED,
    COUNTED,
    KEPT,
    MERGED,
    PENDING,
    REWRITTEN,
    UNDONE,
)

pytestmark = [pytest.mark.property, pytest.mark.long]


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """Return an empty store."""
    with an_object_store() as found:
        yield found


@pytest.mark.parametrize(
    ("setting", "names"),
    [(MERGED, PENDING), (COUNTED, UNDONE), (MERGED, REWRITTEN), (COPIED, KEPT)],
    ids=["pending", "undone", "rewritten", "kept"],
)
def test_each_service_on_objects_leaves_the_rows_that_a_dictionary_holds(
    setting: Setting, names: Sequence[str], store: ObjectStore, tmp_path: Path
) -> None:
    """In an order in which each can be done, also for a view that is kept."""
    lives = Lives(folder=tmp_path, places=store.location, clock=store.clock)
    lives.live_through(1, setting, names)
    assert set(names) <= lives.done.keys()
