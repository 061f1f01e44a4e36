"""Runs on HDFS that are killed at random times leave the old table or the new one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.lake.killed_run import Killed

pytestmark = pytest.mark.lake

_KILLS = 12


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("mode", ["metadata_only", "full_record", "mixed"])
def test_run_killed_at_any_time_leaves_the_old_table_or_the_new_one(
    kind: str, mode: str, root: str, tmp_path: Path
) -> None:
    """Also while it recovers from the kill before; in the end the table is whole, by fsck."""
    rng, kills = Random(f"{kind} {mode}"), 0
    for life in range(50):
        scene = Killed(root=f"{root}/{life}", folder=tmp_path, rng=rng, kind=kind, mode=mode)
        scene.live()
        kills += scene.kills
        if kills >= _KILLS:
            return
    raise AssertionError(f"only {kills} runs were killed")
