"""The part of `bench/services.py` about cleans: planning one of a table with 250,000 files.

The table is made by hand: one commit writes every file group, the next one rewrites every fourth,
a third one changes a single group. A clean that keeps one commit deletes the first versions of
those that were rewritten. Its files hold one byte: no side reads them to plan.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from contest import ROOT
from side_process import Measured, Side
from specs import keyed_table

sys.path.insert(0, str(ROOT))

from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.schema import avro_schema
from framework.hudi.timeline.clean_metadata import read_clean_plan
from framework.hudi.timeline.clock import instant_at
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, write_commit

__all__ = ["CleanCost", "cleaning"]

_PARTITIONS = 3_500
_REWRITTEN_EVERY = 4
_FIRST_MS = 1_700_000_000_000
_SCHEMA = pa.schema([("id", pa.string()), ("day", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanCost:
    """Medians of planning a clean; `listings` are those of partitions, counted by our storage."""

    wall_s: float
    cpu_s: float
    listings: int = 0


def cleaning(
    sides: Mapping[str, Side], keeping: Side, options: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], CleanCost]]:
    """Yield what planning costs on each side; both must plan the same number of files."""
    target = _table(keeping, options)
    sample: dict[str, list[Measured]] = {"ours": [], "hudi": []}
    for _ in range(1 + options.runs):
        sample["ours"].append(keeping.run("plan_clean", target=str(target)))
        sample["hudi"].append(sides["hudi"].run("plan_clean", target=str(target)))
        files = sample["ours"][-1].value["files"]
        if (planned := _scheduled_files(target)) != files:
            message = f"the plans differ: {files} and {planned} files"
            raise ValueError(message)
    for name, found in sample.items():
        cost = CleanCost(
            wall_s=statistics.median(each.wall_s for each in found[1:]),
            cpu_s=statistics.median(each.cpu_s for each in found[1:]),
            listings=found[-1].value["listings"] if name == "ours" else 0,
        )
        print(
            f"cleaning     {name:6} wall {cost.wall_s:7.2f} s  cpu {cost.cpu_s:7.2f} s  "
            f"{files} of {options.files} files",
            flush=True,
        )
        yield ("cleaning", name), cost


def _scheduled_files(target: Path) -> int:
    """Remove the scheduled clean of a table, and return the number of its files."""
    storage = LocalStorage(str(target))
    (path,) = (target / ".hoodie").glob("*.clean.requested")
    plan = read_clean_plan(storage, f".hoodie/{path.name}")
    path.unlink()
    return sum(map(len, plan.files.values()))


def _table(keeping: Side, options: argparse.Namespace) -> Path:
    """Return the table, made by a load of one row and three commits by hand."""
    target: Path = options.work / "targets" / "to-clean"
    shutil.rmtree(target, ignore_errors=True)
    landing = options.work / "targets" / "to-clean-landing"
    landing.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ["a"], "day": ["d"]}), landing / "one.parquet")
    keeping.run("run", document=_document(target, landing))
    for path in [target / "day=d", *(target / ".hoodie").glob("[0-9]*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(target / ".hoodie" / ".lakestrap")
    groups = options.files * _REWRITTEN_EVERY // (_REWRITTEN_EVERY + 1)
    all_groups = [(f"day={n % _PARTITIONS:05}", f"{UUID(int=n)}-0") for n in range(groups)]
    first = _commit(target, 0, all_groups, "")
    _commit(target, 1, all_groups[::_REWRITTEN_EVERY], first)
    _commit(target, 2, all_groups[1:2], first)
    return target


def _commit(target: Path, place: int, groups: Sequence[tuple[str, str]], previous: str) -> str:
    """Write a file for each group, and the three files of the instant, which is returned."""
    instant = instant_at(_FIRST_MS + place * 1000)
    stats: dict[str, list[WriteStat]] = {}
    for partition, file_id in groups:
        name = f"{file_id}_0-0-0_{instant}.parquet"
        folder = target / partition
        if partition not in stats and not folder.is_dir():
            folder.mkdir()
            metadata = f"commitTime={instant}\npartitionDepth=1\n"
            (folder / ".hoodie_partition_metadata").write_text(metadata)
        (folder / name).write_bytes(b"x")
        stat = WriteStat(
            file_id=file_id,
            path=f"{partition}/{name}",
            partition_path=partition,
            rows=1,
            updates=1 if previous else 0,
            size=1,
            previous=previous or None,
        )
        stats.setdefault(partition, []).append(stat)
    schema = json.dumps(avro_schema(_SCHEMA, table="bench"))
    out = io.BytesIO()
    write_commit(out, CommitHead(extra={"schema": schema}, operation="UPSERT"), stats.items())
    hoodie = target / ".hoodie"
    (hoodie / f"{instant}.commit.requested").touch()
    (hoodie / f"{instant}.inflight").touch()
    (hoodie / f"{instant}.commit").write_bytes(out.getvalue())
    return instant


def _document(target: Path, landing: Path) -> dict[str, object]:
    table = keyed_table(
        target, "copy_on_write", keys=["id"], partition="day", partition_type="string"
    )
    load = {"source": {"path": str(landing)}, "write": {"operation": "upsert"}}
    return {**table, **load, "maintenance": {"enabled": False}}
