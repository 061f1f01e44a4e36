"""Partitions taken in several ways by one instant, and tables of both types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, snapshot
from tests.support.sources import ids
from tests.support.stitching import BOOTSTRAP, pieces_of, read_table

pytestmark = pytest.mark.long

TYPES = ("copy_on_write", "merge_on_read")
FILES = {f"p={p}/{name}.parquet": ids(p * 10 + n) for p in range(6) for n, name in enumerate("ab")}
RULES = [
    {"partition": "p=[01]", "mode": "full_record", "reason": "small"},
    {"where": {"p": ">= 4"}, "mode": "skip"},
]
MODES = {"p=0": "full_record", "p=1": "full_record", "p=4": "skip", "p=5": "skip"}


def _of_type(kind: str, **bootstrap: Any) -> dict[str, Any]:
    """Return a spec of a table type; one that logs has to say what orders its rows."""
    table = {"type": kind, **({"ordering": {"columns": ["id"]}} if kind != TYPES[0] else {})}
    return a_document(table=table, **bootstrap)


@pytest.mark.parametrize("kind", TYPES)
def test_skeletons_full_files_and_skipped_partitions_are_one_instant(
    tmp_path: Path, kind: str
) -> None:
    """One commit holds both kinds; what is skipped is nowhere, but keeps its numbers."""
    scene = a_scene(tmp_path, FILES, _of_type(kind, rules=RULES))
    result = adopt(scene)
    assert result is not None
    assert (result.instant, result.files) == (BOOTSTRAP, 8)
    rows = read_table(scene, pieces_of(scene, MODES))
    assert sorted(row["id"] for row in rows) == [0, 1, 10, 11, 20, 21, 30, 31]
    assert _timeline(scene) == [_completed(kind, BOOTSTRAP)]
    assert not (scene.location / "p=4").exists()
    assert adopt(scene) is None


@pytest.mark.parametrize("kind", TYPES)
def test_table_of_full_files_only_begins_with_an_ordinary_instant(
    tmp_path: Path, kind: str
) -> None:
    """No skeleton, so no bootstrap: 17 digits, no index, and no base path in the properties."""
    scene = a_scene(tmp_path, FILES, _of_type(kind, mode="full_record"))
    result = adopt(scene)
    assert result is not None
    assert result.instant is not None
    assert len(result.instant) == 17
    modes = dict.fromkeys((f"p={p}" for p in range(6)), "full_record")
    assert len(read_table(scene, pieces_of(scene, modes), instant=result.instant)) == 12
    assert _timeline(scene) == [_completed(kind, result.instant)]
    assert not (scene.location / ".hoodie" / ".aux").exists()
    assert adopt(scene) is None


@pytest.mark.parametrize("kind", TYPES)
def test_table_of_skeletons_only_is_adopted(tmp_path: Path, kind: str) -> None:
    """The common case, for both table types."""
    scene = a_scene(tmp_path, FILES, _of_type(kind))
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene))) == 12
    assert _timeline(scene) == [_completed(kind, BOOTSTRAP)]


def test_full_files_in_a_later_partition_leave_the_index_to_the_skeletons(tmp_path: Path) -> None:
    """A rule may take the last partitions, or the first, or every second one."""
    rules = [{"partition": "p=[135]", "mode": "full_record"}]
    scene = a_scene(tmp_path, FILES, a_document(rules=rules))
    adopt(scene)
    modes = dict.fromkeys(("p=1", "p=3", "p=5"), "full_record")
    assert len(read_table(scene, pieces_of(scene, modes))) == 12


def test_unpartitioned_source_is_written_in_full(tmp_path: Path) -> None:
    """Without partitions the default mode applies to all files."""
    files = {"a.parquet": ids(1), "x/b.parquet": ids(2)}
    scene = a_scene(tmp_path, files, a_document(partition={}, mode="full_record"))
    result = adopt(scene)
    assert result is not None
    assert result.instant is not None
    pieces = pieces_of(scene, {"": "full_record"})
    assert len(read_table(scene, pieces, instant=result.instant)) == 2


def test_source_that_is_skipped_as_a_whole_makes_nothing_where_that_is_allowed(
    tmp_path: Path,
) -> None:
    """An empty table would be a table; nothing is nothing."""
    scene = a_scene(tmp_path, FILES, a_document(mode="skip", allow_empty=True))
    assert plan(scene).plan.case.value == "empty"
    assert adopt(scene) is None
    assert snapshot(scene.location) == {}


@pytest.mark.parametrize("kind", ["simple", "dynamic", "none"])
def test_tables_with_each_kind_of_bloom_filter_are_adopted(tmp_path: Path, kind: str) -> None:
    """Every file has the filter that was asked for, with all its keys, or none."""
    scene = a_scene(tmp_path, FILES, a_document(table={"bloom": {"kind": kind}}, rules=RULES))
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8


def test_proof_is_in_the_commit(tmp_path: Path) -> None:
    """The table has the proof, its number of rows, and its spec."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    commit = json.loads((scene.location / ".hoodie" / f"{BOOTSTRAP}.commit").read_text("utf-8"))
    proof = json.loads(commit["extraMetadata"]["lakestrap.audit"])
    assert (proof["unique"], proof["not_null"], proof["rows"], proof["files"]) == (
        True,
        True,
        12,
        12,
    )
    assert commit["extraMetadata"]["lakestrap.spec_hash"] == plan(scene).plan.target.spec_hash


def _completed(kind: str, instant: str) -> str:
    """Return the name of the completed instant's file."""
    return f"{instant}.{'commit' if kind == TYPES[0] else 'deltacommit'}"


def _timeline(scene: Scene) -> list[str]:
    """Return the names of completed instants."""
    names = (path.name for path in (scene.location / ".hoodie").iterdir() if path.is_file())
    return sorted(name for name in names if name.endswith(("commit",)))
