"""Whole tables on HDFS, without Spark: every operation and service, against a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lives import Lives

pytestmark = pytest.mark.lake


@pytest.mark.timeout(1800)
def test_services_in_any_order_leave_the_rows_that_a_dictionary_holds(
    root: str, tmp_path: Path
) -> None:
    """Lives of every kind of table, from sources on HDFS; each service happens and dies."""
    lives = Lives(folder=tmp_path, places=root)
    for seed in range(3):
        lives.live(seed)
    assert lives.done.total() >= lives.length
