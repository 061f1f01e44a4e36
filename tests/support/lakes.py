"""A small lake whose adoption meets every kind of work, and what must come out of it.

Keys of its files interleave, so that the audit compares hashes; one partition is rewritten in full;
each partition is a batch of its own, so that statuses are journaled one after the other.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from framework.hudi.commit.segments import SegmentRef, read_segment
from framework.hudi.storage.locations import open_storage
from tests.support.scenes import Scene, a_document, a_scene, adopt, snapshot
from tests.support.stitching import pieces_of, read_table

__all__ = ["FILES", "ROWS", "Lake", "a_lake", "layout", "leftovers", "without_write_id"]

PARTITIONS = 5
FILES = 2 * PARTITIONS
ROWS = 40
_FULL = f"p={PARTITIONS}"

_STATE_FILE = re.compile(r"(\.lakestrap/state/[0-9]+)-[0-9a-f]{32}-(.*)")


@dataclass(frozen=True, kw_only=True)
class Lake:
    """A source, the place for its table, and the outcome of a run without a fault.

    Attributes:
        scene: source, spec and place.
        whole: `layout` of the table that a run without a fault makes.
        source: `snapshot` of the source as it was written.
    """

    scene: Scene
    whole: Mapping[str, str]
    source: Mapping[str, object]

    @property
    def table(self) -> Path:
        """Where the table is to be."""
        return self.scene.location

    def reset(self) -> None:
        """Take the table away."""
        shutil.rmtree(self.table, ignore_errors=True)

    @property
    def records(self) -> int:
        """How many statuses the run under way has journaled."""
        return sum(1 for _ in self.table.glob(".hoodie/.lakestrap/*/journal/*.json"))

    @property
    def placed(self) -> int:
        """How many base files have their names."""
        return sum(1 for _ in self.table.glob("p=*/*.parquet"))

    def journaled(self) -> dict[str, int]:
        """Return the inode of each base file whose status was received, by name."""
        storage = open_storage(str(self.table))
        found: dict[str, int] = {}
        for record in self.table.glob(".hoodie/.lakestrap/*/journal/*.json"):
            segment = SegmentRef(**json.loads(record.read_text()))
            for row in pa.Table.from_batches(read_segment(storage, segment)).to_pylist():
                found[row["name"]] = self._inode(row)
        return found

    def inode(self, name: str) -> int:
        """Return the inode of a base file of the table."""
        (found,) = self.table.glob(f"*/{name}")
        return found.stat().st_ino

    @property
    def is_whole(self) -> bool:
        """Whether the table's folder holds what a run without a fault leaves, and nothing else."""
        return layout(self.table) == self.whole

    def check_whole(self) -> None:
        """The table is that of a run without a fault, and an independent reader reads all of it."""
        assert layout(self.table) == self.whole
        pieces = pieces_of(self.scene, modes={_FULL: "full_record"})
        assert len(read_table(self.scene, pieces)) == FILES * ROWS
        assert snapshot(self.scene.source) == self.source

    def check_absent(self) -> None:
        """There is no table, and nothing else either."""
        assert layout(self.table) == {}
        assert snapshot(self.scene.source) == self.source

    def check_absent_or_whole(self) -> bool:
        """Return whether there is a table; then all of it is there, leftovers apart."""
        assert snapshot(self.scene.source) == self.source
        if not (self.table / ".hoodie" / "hoodie.properties").exists():
            return False
        there = layout(self.table)
        assert {name: there.get(name) for name in self.whole} == self.whole
        return True

    def _inode(self, row: Mapping[str, Any]) -> int:
        """Return the inode of a base file, which it keeps when it is given its name."""
        staged: Path = self.table / row["staged"]
        placed: Path = self.table / row["partition_path"] / row["name"]
        return (staged if staged.exists() else placed).stat().st_ino


def a_lake(folder: Path) -> Lake:
    """Write the source and return the lake; the table is not there yet."""
    files = {
        f"p={p}/{name}.parquet": _rows(2 * p + place)
        for p in range(1, PARTITIONS + 1)
        for place, name in enumerate("ab")
    }
    rule = {"partition": _FULL, "mode": "full_record", "reason": "both kinds in one instant"}
    scene = a_scene(folder / "lake", files, a_document(partitions_per_batch=1, rules=[rule]))
    before = snapshot(scene.source)
    whole = _beside(scene, folder / "whole")
    adopt(whole)
    return Lake(scene=scene, whole=layout(whole.location), source=before)


def layout(table: Path) -> dict[str, str]:
    """Return every folder and file of the table; of Parquet files also the hash of their bytes.

    Nothing is left out, so that what a run leaves behind is seen; the id of a run is taken out of
    the names of state files.
    """
    found = sorted(table.rglob("*")) if table.exists() else []
    return {without_write_id(str(path.relative_to(table))): _digest(path) for path in found}


def without_write_id(path: str) -> str:
    """Return a path in a table without the write id in the name of a state file."""
    return _STATE_FILE.sub(r"\1-\2", path)


def leftovers(table: Path) -> list[Path]:
    """Return what runs left beside the table: files of theirs, markers, states no commit names."""
    hoodie = table / ".hoodie"
    commits = b"".join(each.read_bytes() for each in hoodie.glob("*commit"))
    state = hoodie / ".lakestrap" / "state"
    named = {each for each in state.glob("*") if each.name.encode() in commits}
    found = [*(hoodie / ".lakestrap").rglob("*"), *(hoodie / ".temp").rglob("*")]
    return sorted(each for each in found if each not in {state, *named})


def _beside(scene: Scene, folder: Path) -> Scene:
    """Return the scene with its spec and table in another folder."""
    folder.mkdir()
    table = {**scene.document["table"], "location": str(folder / "table")}
    document = {**scene.document, "table": table}
    return replace(scene, folder=folder, location=folder / "table", document=document)


def _rows(number: int) -> pa.Table:
    """Return the rows of a file; its keys interleave with those of all others."""
    ids = [row * 100 + number for row in range(ROWS)]
    return pa.table({"id": pa.array(ids, pa.int64()), "v": ["x"] * ROWS})


def _digest(path: Path) -> str:
    """Return what is compared of an entry."""
    if path.is_dir():
        return "folder"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.suffix == ".parquet" else "file"
