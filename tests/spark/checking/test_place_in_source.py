"""The place of a written row in its source, given the places of rows that were left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _pytest.tmpdir import TempPathFactory
from hypothesis import given
from hypothesis import strategies as st

from framework.spark.checking.evaluation import place_in_source

pytestmark = pytest.mark.property


@pytest.fixture(scope="module")
def gone(tmp_path_factory: TempPathFactory) -> Path:
    """A file of places."""
    return tmp_path_factory.mktemp("gone") / "places"


@given(rows=st.integers(1, 60), data=st.data())
def test_rows_that_stay_have_the_places_that_are_not_left_out(
    gone: Path, rows: int, data: st.DataObject
) -> None:
    """In order, whichever rows go, none or all of them too."""
    left_out = sorted(data.draw(st.sets(st.integers(0, rows - 1))))
    gone.write_bytes(np.array(left_out, np.int64).tobytes())
    stay = [row for row in range(rows) if row not in left_out]
    assert [place_in_source(at, str(gone)) for at in range(len(stay))] == stay
