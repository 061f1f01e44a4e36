"""What a run that died at its very last step leaves is removed by the next one."""

from __future__ import annotations

import json
from pathlib import Path

from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.clock import ManualClock
from tests.support.scenes import a_scene, adopt, snapshot
from tests.support.sources import ids


def test_empty_lease_folder_of_a_dead_run_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """The run after that has nothing to do; the state of the table stays."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    adopt(scene)
    (scene.location / ".hoodie/.lakestrap/lease").mkdir(parents=True)
    result = adopt(scene)
    assert result is not None
    assert result.instant is None
    assert [each.name for each in (scene.location / ".hoodie/.lakestrap").iterdir()] == ["state"]
    assert adopt(scene) is None


def test_lease_of_a_run_that_died_while_giving_it_back_is_removed(tmp_path: Path) -> None:
    """The table is whole; only the lease is left, and the next run takes it away."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    adopt(scene)
    before = snapshot(scene.location, times=False)
    lease = acquire(LocalStorage(str(scene.location)), Owner.here("a" * 32), ManualClock())
    file = scene.location / lease.path
    fields = json.loads(file.read_text())
    file.write_text(json.dumps(fields | {"expires_ms": 1}))
    assert snapshot(scene.location, times=False) != before
    result = adopt(scene)
    assert result is not None
    assert result.instant is None
    assert snapshot(scene.location, times=False) == before
