"""Cost of ten row checks on top of a write, and whether each of them detects one bad row.

Bulk inserts lineitem into a new table, then upserts one row in a hundred, each with and without ten
predicates over ten columns. Runs alternate in one warm session.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from arranged import arranged
from contest import start_side
from datasets import prepare
from side_process import Measured, Side, SideError

__all__ = ["CHECKS", "checked_writes", "wrong_checks"]

CHECKS = {
    "l_quantity": "l_quantity > 0",
    "l_extendedprice": "l_extendedprice > 0",
    "l_discount": "l_discount between 0 and 0.1",
    "l_tax": "l_tax >= 0",
    "l_returnflag": "l_returnflag in ('R', 'A', 'N')",
    "l_linestatus": "l_linestatus in ('O', 'F')",
    "l_shipdate": "l_shipdate >= date '1992-01-01'",
    "l_receiptdate": "l_receiptdate > l_shipdate",
    "l_shipmode": "l_shipmode rlike '^[A-Z ]+$'",
    "l_orderkey": "l_orderkey > 0",
}
"""Predicate by the column that gets a bad value."""
_EVERY = 100
_WARM_UPS = 1


def checked_writes(options: argparse.Namespace) -> dict[tuple[str, str], list[Measured]]:
    """Return the measured runs of each write, `plain` and `checked`."""
    found: dict[tuple[str, str], list[Measured]] = {}
    folder = options.work / "checked"
    lineitem = prepare("lineitem", scale=options.scale, data_dir=options.data)
    source = arranged(lineitem, "shuffled", options.data)
    changed = folder / "changed"
    with start_side("ours", options) as side:
        shutil.rmtree(folder, ignore_errors=True)
        _one_in_a_hundred(source.path.resolve(), changed)
        for number in range(_WARM_UPS + options.runs):
            print(f"checks: run {number + 1 - _WARM_UPS}", file=sys.stderr)
            for row, checks in (("plain", {}), ("checked", CHECKS)):
                table = folder / "table"
                shutil.rmtree(table, ignore_errors=True)
                writes = (("bulk insert", source.path.resolve()), ("upsert", changed))
                for write, place in writes:
                    spec = _spec(table, place, write.replace(" ", "_"), checks)
                    measured = side.run("run", document=spec)
                    if number >= _WARM_UPS:
                        found.setdefault((write, row), []).append(measured)
        shutil.rmtree(folder)
    return found


def wrong_checks(options: argparse.Namespace) -> int:
    """Return how many checks miss the one bad row that is planted for them."""
    folder, wrong = options.work / "planted-rows", 0
    lineitem = prepare("lineitem", scale=1, data_dir=options.data)
    rows = pq.read_table(arranged(lineitem, "shuffled", options.data).files[0], partitioning=None)
    with start_side("ours", options) as side:
        for column, predicate in CHECKS.items():
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "landing").mkdir(parents=True)
            pq.write_table(_with_bad(rows, column), folder / "landing" / "rows.parquet")
            spec = _spec(folder / "table", folder / "landing", "bulk_insert", CHECKS)
            refused = _refusal(side, spec)
            right = f"`{column}` ({predicate}) by 1 of" in refused
            wrong += not right
            print(f"planted into {column:16} {'found' if right else f'NOT FOUND: {refused}'}")
    shutil.rmtree(folder)
    return wrong


def _refusal(side: Side, spec: dict[str, Any]) -> str:
    """Return a run's refusal, "" if there is none."""
    try:
        side.run("run", document=spec)
    except SideError as error:
        return str(error)
    return ""


def _spec(table: Path, source: Path, operation: str, checks: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "version": 1,
        "table": {
            "name": "lineitem",
            "location": str(table),
            "record_key": {"columns": ["l_orderkey", "l_linenumber"], "unique_within": "table"},
            "ordering": "commit_time",
        },
        "source": {"path": str(source), "load": "all"},
        "write": {"operation": operation},
    }
    if checks:
        named = [{"name": name, "expect": text} for name, text in checks.items()]
        document["quality"] = {"checks": named}
    return document


def _one_in_a_hundred(source: Path, folder: Path) -> None:
    """Write one row in a hundred of each file, with a changed comment."""
    folder.mkdir(parents=True)
    for number, file in enumerate(sorted(source.rglob("*.parquet"))):
        rows = pq.ParquetFile(file).read()
        some = rows.take(pa.array(range(0, rows.num_rows, _EVERY)))
        at = some.schema.get_field_index("l_comment")
        changed = pc.binary_join_element_wise(some["l_comment"], "changed", " ")
        pq.write_table(some.set_column(at, "l_comment", changed), folder / f"{number}.parquet")


_BAD: dict[str, Callable[[pa.Array], object]] = {
    "l_shipmode": lambda _: "air",
    "l_returnflag": lambda _: "X",
    "l_linestatus": lambda _: "X",
    "l_shipdate": lambda _: None,
    "l_receiptdate": lambda _: None,
}


def _with_bad(rows: pa.Table, column: str) -> pa.Table:
    """Return the rows with a bad value or null in the middle one."""
    values = rows[column].to_pylist()
    bad = _BAD.get(column, lambda _: -1)(rows[column])
    kind = rows.schema.field(column).type
    values[len(values) // 2] = pa.scalar(bad, kind).as_py() if bad is not None else None
    at = rows.schema.get_field_index(column)
    return rows.set_column(at, column, pa.array(values, kind))
