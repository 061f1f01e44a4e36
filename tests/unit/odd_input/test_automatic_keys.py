"""Rows without a key of their own are numbered, the same in every attempt (RFC-76)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from framework.plan.build import Earlier
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, snapshot
from tests.support.sources import ids

GUIDE = Path("docs/guide/keys.md")
FILES = {
    "p=10/a.parquet": ids(5, 5),
    "p=1/b.parquet": ids(7),
    "p=1/a.parquet": ids(*range(12)),
}
COLUMNS = ["_hoodie_record_key", "_hoodie_commit_seqno"]


def a_numbered(folder: Path, mode: str = "metadata_only", **table: Any) -> Scene:
    """Return a scene whose rows have no key."""
    document = a_document(mode=mode, partitions_per_batch=1, table={"record_key": "auto", **table})
    return a_scene(folder, FILES, document)


def keys_of(scene: Scene) -> dict[str, list[str]]:
    """Return the keys of each base file's rows, by its folder and its place in the source."""
    found: dict[str, list[str]] = {}
    for path in sorted(scene.location.glob("p=*/*.parquet")):
        rows = pq.read_table(path, columns=COLUMNS, partitioning=None)
        assert rows[COLUMNS[0]].to_pylist() == rows[COLUMNS[1]].to_pylist()
        number = path.name.partition("_")[2].partition("-")[0]
        found[f"{path.parent.name} {number}"] = rows[COLUMNS[0]].to_pylist()
    return found


def numbered(instant: str) -> dict[str, list[str]]:
    """Return the keys of `FILES` when they are adopted at an instant."""
    sizes = {"p=1 0": 12, "p=1 1": 1, "p=10 2": 2}
    return {
        place: [f"{instant}_{place.split()[1]}_{row}" for row in range(size)]
        for place, size in sizes.items()
    }


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("bloom", ["dynamic", "none"])
def test_rows_without_a_key_are_numbered(tmp_path: Path, mode: str, bloom: str) -> None:
    """By instant, place of the source file, and row; equal rows are different records."""
    scene = a_numbered(tmp_path, mode, bloom={"kind": bloom})
    result = adopt(scene)
    assert result is not None
    assert result.instant is not None
    assert keys_of(scene) == numbered(result.instant)
    assert (result.proof["columns"], result.proof["method"]) == ([], "ordered-ranges")
    properties = (scene.location / ".hoodie/hoodie.properties").read_text()
    assert "recordkey" not in properties
    assert adopt(scene) is None


def test_examples_of_the_guide_are_what_a_bootstrap_makes(tmp_path: Path) -> None:
    """Its table is a golden vector for other engines."""
    files = {
        "month=1/a.parquet": ids(*range(12)),
        "month=1/b.parquet": ids(1),
        "month=10/a.parquet": ids(1),
    }
    document = a_document(partition={"month": "int"}, table={"record_key": "auto"})
    scene = a_scene(tmp_path, files, document)
    adopt(scene)
    found = {
        key
        for path in scene.location.glob("month=*/*.parquet")
        for key in pq.read_table(path, partitioning=None)["_hoodie_record_key"].to_pylist()
    }
    documented = re.findall(r"\| `month=.*\| `(\d+_\d+_\d+)` \|", GUIDE.read_text("utf-8"))
    assert len(documented) == 4
    assert set(documented) <= found


@pytest.mark.parametrize("earlier", [Earlier.AUTO, Earlier.FRESH])
def test_rows_of_a_run_that_was_cut_off_get_the_same_keys(tmp_path: Path, earlier: Earlier) -> None:
    """Whether the next run resumes or starts again."""
    whole = a_numbered(tmp_path / "whole")
    adopt(whole)
    scene = a_numbered(tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=_Interrupted())
    assert current_lease(open_storage(str(scene.location))) is None
    adopt(scene, earlier=earlier)
    assert keys_of(scene) == keys_of(whole)
    before, after = snapshot(whole.location, times=False), snapshot(scene.location, times=False)
    assert {p for p in after if p.endswith(".parquet")} == {
        p for p in before if p.endswith(".parquet")
    }


def test_table_with_automatic_keys_refuses_others_later(tmp_path: Path) -> None:
    """The key of a table that has begun never changes."""
    scene = a_numbered(tmp_path)
    adopt(scene)
    scene.document["table"]["record_key"] = {"columns": ["id"], "unique_within": "table"}
    with pytest.raises(Exception, match="record_key"):
        plan(scene)


class _Interrupted:
    """Tasks of which the second that writes is interrupted."""

    parallelism = 1

    def __init__(self) -> None:
        self._written = 0

    def run(self, work: Any, descriptors: Any) -> Any:
        """Run tasks up to the interruption."""
        for descriptor in descriptors:
            if "write_files" in work.__name__:
                self._written += 1
                if self._written > 1:
                    raise KeyboardInterrupt
            yield work(descriptor)
