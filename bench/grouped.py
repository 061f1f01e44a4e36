"""The tables for timeline services: many file groups, adopted once and kept.

Each group is a skeleton of one row. Commits are written by hand, like those of a copy-on-write
upsert, and removed again, so that every bench starts from the adopted table.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sys
from dataclasses import dataclass
from datetime import date
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.parquet as pq
from contest import ROOT, start_side
from datasets import prepare

sys.path.insert(0, str(ROOT))

import argparse
from collections.abc import Sequence
from pathlib import Path

from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.schema import avro_schema
from framework.hudi.timeline.clock import SystemClock, next_instant
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, write_commit
from framework.hudi.timeline.timeline import load_timeline

__all__ = ["GroupedTable", "grouped_table"]

BOOTSTRAP = "00000000000001"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedTable:
    """A table of one-row file groups.

    Attributes:
        path: base path.
        pairs: file with one line per group: partition path, tab, file id; sorted by partition.
        firsts: likewise, with only the first group of each partition.
        groups: number of file groups.
        partitions: number of partitions.
    """

    path: Path
    pairs: Path
    firsts: Path
    groups: int
    partitions: int

    def query(self) -> str:
        """Return the query parameters common to all requests, as of the current timeline."""
        completed = load_timeline(LocalStorage(str(self.path))).completed
        said = "".join(f"{each.requested_time}_{each.action}_COMPLETED" for each in completed)
        facts = {
            "basepath": str(self.path),
            "lastinstantts": completed[-1].requested_time,
            "timelinehash": hashlib.sha256(said.encode()).hexdigest(),
        }
        return urlencode(facts, quote_via=quote, safe="")

    def some_pairs(self, step: int) -> list[tuple[str, str]]:
        """Return each `step`-th group as (partition path, file id)."""
        return [_pair(line) for line in self.pairs.read_text().splitlines()[::step]]

    def add_commit(self, partition: str, file_id: str) -> str:
        """Commit a change to the row of a group, and return the commit's instant."""
        timeline = load_timeline(LocalStorage(str(self.path)))
        instant = next_instant(SystemClock(), timeline)
        skeleton = next((self.path / partition).glob(f"{file_id}_*_{BOOTSTRAP}.parquet"))
        rows = _changed(pq.read_table(skeleton, partitioning=None), partition, instant)
        name = str(skeleton.name).replace(BOOTSTRAP, instant)
        target = self.path / partition / name
        pq.write_table(rows, target, store_schema=False)
        written = WriteStat(
            file_id=file_id,
            path=f"{partition}/{name}",
            partition_path=partition,
            rows=1,
            updates=1,
            size=target.stat().st_size,
            previous=BOOTSTRAP,
        )
        self._complete(instant, _head(rows), written)
        return instant

    def remove_commits(self) -> None:
        """Remove all commits after the adoption, with their files."""
        for done in sorted((self.path / ".hoodie").glob("*.commit")):
            if done.name == f"{BOOTSTRAP}.commit":
                continue
            stats = json.loads(done.read_text())["partitionToWriteStats"]
            done.unlink()
            for stat in (each for found in stats.values() for each in found):
                (self.path / stat["path"]).unlink(missing_ok=True)
        for left in (self.path / ".hoodie").glob("*.*"):
            if left.name.partition(".")[0].isdigit() and not left.name.startswith(BOOTSTRAP):
                left.unlink()

    def _complete(self, instant: str, head: CommitHead, written: WriteStat) -> None:
        """Write the instant's three files, the completed one atomically."""
        out = io.BytesIO()
        write_commit(out, head, [(written.partition_path, [written])])
        hoodie = self.path / ".hoodie"
        (hoodie / f"{instant}.commit.requested").touch()
        (hoodie / f"{instant}.inflight").touch()
        unfinished = hoodie / f".{instant}.commit.unfinished"
        unfinished.write_bytes(out.getvalue())
        unfinished.rename(hoodie / f"{instant}.commit")


def grouped_table(groups: int, options: argparse.Namespace) -> GroupedTable:
    """Return the table of `groups` groups without later commits, adopting it if it is missing."""
    source = prepare(f"groups-{groups}", scale=1, data_dir=options.data)
    path = options.data.resolve() / f"{source.name}.table"
    if not (path / ".hoodie" / f"{BOOTSTRAP}.commit").is_file():
        shutil.rmtree(path, ignore_errors=True)
        with start_side("ours", options) as side:
            side.run("bootstrap", **source.facts(), target=str(path), variant="none")
    pairs = options.data / f"{source.name}.pairs.tsv"
    firsts = options.data / f"{source.name}.firsts.tsv"
    found = _found_pairs(path)
    by_partition = {partition: (partition, file_id) for partition, file_id in reversed(found)}
    pairs.write_text("".join(f"{partition}\t{file_id}\n" for partition, file_id in found))
    firsts.write_text("".join(f"{p}\t{f}\n" for p, f in sorted(by_partition.values())))
    table = GroupedTable(
        path=path, pairs=pairs, firsts=firsts, groups=len(found), partitions=len(by_partition)
    )
    table.remove_commits()
    return table


def _found_pairs(path: Path) -> Sequence[tuple[str, str]]:
    """Return all groups as (partition path, file id), in order.

    Lists every file, so that the folders are equally warm for every server.
    """
    folders = [each for each in sorted(path.iterdir()) if each.name != ".hoodie"]
    return [
        (folder.name, name.partition("_")[0])
        for folder in folders
        for name in sorted(file.name for file in folder.iterdir() if file.stat().st_size)
        if name.endswith(f"_{BOOTSTRAP}.parquet")
    ]


def _pair(line: str) -> tuple[str, str]:
    partition, _, file_id = line.partition("\t")
    return partition, file_id


def _changed(skeleton: pa.Table, partition: str, instant: str) -> pa.Table:
    """Return the rows of a skeleton as a commit would write them, with changed values."""
    at = skeleton.schema.get_field_index("_hoodie_commit_time")
    texts = pa.array([instant] * skeleton.num_rows)
    rows = skeleton.set_column(at, "_hoodie_commit_time", texts)
    ids = rows["_hoodie_record_key"].cast(pa.int64())
    day = date.fromisoformat(partition.partition("=")[2])
    values = {
        "id": ids,
        "d0": pa.array([-1.0] * rows.num_rows),
        "s0": pa.array([f"changed by {instant}"] * rows.num_rows),
        "day": pa.array([day] * rows.num_rows),
    }
    for name, column in values.items():
        rows = rows.append_column(name, column)
    return rows


def _head(rows: pa.Table) -> CommitHead:
    """Return the head of an upsert of rows that have meta columns."""
    fields = [field for field in rows.schema if not field.name.startswith("_hoodie_")]
    schema = json.dumps(avro_schema(pa.schema(fields), table="bench"))
    return CommitHead(extra={"schema": schema}, operation="UPSERT")
