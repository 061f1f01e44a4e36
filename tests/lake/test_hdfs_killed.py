"""Runs on HDFS that are killed at random times leave the old table or the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lake.killed_run import live_until_killed

pytestmark = pytest.mark.lake

_KILLS = 12
_AMID = 3


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("mode", ["metadata_only", "full_record", "mixed"])
def test_run_killed_at_any_time_leaves_the_old_table_or_the_new_one(
    kind: str, mode: str, root: str, tmp_path: Path
) -> None:
    """Also while it recovers from the kill before; in the end the table is whole, by fsck."""
    lives = live_until_killed(_KILLS, root=root, folder=tmp_path, kind=kind, mode=mode)
    assert lives.amid >= _AMID
