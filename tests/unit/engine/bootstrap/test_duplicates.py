"""One row of each key is kept: the right one, in any position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.engine.audit.screen import ExcludedRows
from framework.engine.bootstrap import screen
from framework.engine.bootstrap.screen import KeyedFiles, losers
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import KeyScope, PartitionType
from tests.support.sources import a_rule, source_context
from tests.support.storage_suite import put

Place = tuple[str, int]
"""Path of a file and a row in it."""


def losing(
    root: Path,
    files: Mapping[str, pa.Table],
    *,
    rule: KeyRule | None = None,
    ordering: str | None = "ts",
    gone: Mapping[str, Sequence[int]] | None = None,
) -> list[Place]:
    """Return the rows that give way in a source, in order."""
    context = source_context(root, files, rule or a_rule())
    storage = open_storage(context.table)
    paths = sorted(files, key=lambda path: (path.rpartition("/")[0].encode(), path.encode()))
    out: dict[int, ExcludedRows] = {}
    for path, rows in (gone or {}).items():
        put(storage, f"gone/{path}", np.array(sorted(rows), np.int64).tobytes())
        out[paths.index(path)] = ExcludedRows(path=f"gone/{path}", rows=len(rows))
    schema = context.inventory.schema
    assert schema is not None
    keyed = KeyedFiles(
        source=context.job.keys, ranges=context.ranges(), schema=schema, ordering=ordering
    )
    found = losers(context.tasks, keyed, storage, "work", out)
    pairs = zip(found["number"].to_pylist(), found["row"].to_pylist(), strict=True)
    return [(paths[number], row) for number, row in pairs]


def rows(*pairs: tuple[Any, Any], ordering: pa.DataType | None = None) -> pa.Table:
    """Return rows of id and ordering value."""
    return pa.table(
        {
            "id": pa.array([pair[0] for pair in pairs], pa.int64()),
            "ts": pa.array([pair[1] for pair in pairs], ordering or pa.int64()),
        }
    )


def test_source_whose_keys_all_differ_loses_no_row(tmp_path: Path) -> None:
    """Nor does one that is empty."""
    files = {"p=1/a.parquet": rows((1, 1), (2, 1)), "p=2/b.parquet": rows()}
    assert losing(tmp_path, files) == []


def test_greatest_ordering_value_is_kept_wherever_it_is(tmp_path: Path) -> None:
    """In one file, in two of a folder, in two folders; the others go."""
    files = {
        "p=1/a.parquet": rows((1, 5), (1, 9), (1, 7), (2, 1), (3, 1)),
        "p=1/b.parquet": rows((2, 2), (4, 4)),
        "p=2/a.parquet": rows((3, 0), (5, 5), (4, 5)),
    }
    expected = [
        ("p=1/a.parquet", 0),
        ("p=1/a.parquet", 2),
        ("p=1/a.parquet", 3),
        ("p=1/b.parquet", 1),
        ("p=2/a.parquet", 0),
    ]
    assert losing(tmp_path, files) == expected


def test_keys_that_are_unique_within_their_partition_meet_no_other_partitions(
    tmp_path: Path,
) -> None:
    """The same key may occur once in each folder."""
    files = {
        "p=1/a.parquet": rows((1, 5), (1, 9)),
        "p=1/b.parquet": rows((2, 1)),
        "p=2/a.parquet": rows((1, 1), (2, 3), (2, 2)),
    }
    found = losing(tmp_path, files, rule=a_rule(scope=KeyScope.PARTITION))
    assert found == [("p=1/a.parquet", 0), ("p=2/a.parquet", 2)]


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (pa.int32(), -1, 1),
        (pa.string(), "a", "b"),
        (pa.float64(), -0.5, 0.5),
        (
            pa.timestamp("us", "UTC"),
            datetime(2025, 1, 1, tzinfo=UTC),
            datetime(2026, 1, 1, tzinfo=UTC),
        ),
    ],
    ids=str,
)
def test_null_loses_to_every_ordering_value_and_the_first_of_equals_stays(
    tmp_path: Path, kind: pa.DataType, low: Any, high: Any
) -> None:
    """Of nulls the first, too."""
    files = {
        "p=1/a.parquet": rows((1, None), (1, low), (2, high), (2, high), ordering=kind),
        "p=2/a.parquet": rows((1, high), (2, high), (3, None), (3, None), ordering=kind),
    }
    expected = [
        ("p=1/a.parquet", 0),
        ("p=1/a.parquet", 1),
        ("p=1/a.parquet", 3),
        ("p=2/a.parquet", 1),
        ("p=2/a.parquet", 3),
    ]
    assert losing(tmp_path, files) == expected


def test_first_row_of_the_source_stays_where_there_is_no_ordering(tmp_path: Path) -> None:
    """By folder, file and row."""
    files = {
        "p=10/a.parquet": rows((1, 9), (2, 9)),
        "p=2/a.parquet": rows((1, 1), (2, 1), (2, 2)),
    }
    found = losing(tmp_path, files, ordering=None)
    assert found == [("p=2/a.parquet", row) for row in range(3)]


def test_ordering_column_that_a_file_lacks_is_null_there(tmp_path: Path) -> None:
    """Older files often have fewer columns."""
    files = {
        "p=1/a.parquet": rows((1, 0), (2, 0)).drop_columns(["ts"]),
        "p=2/a.parquet": rows((1, -5), (3, 1)),
    }
    assert losing(tmp_path, files) == [("p=1/a.parquet", 0)]


def test_ordering_column_that_is_wider_in_one_file_is_compared_by_value(tmp_path: Path) -> None:
    """As is a key column."""
    narrow = rows((1, 7), (2, 7), ordering=pa.int32())
    files = {
        "p=1/a.parquet": narrow.set_column(0, "id", narrow["id"].cast(pa.int32())),
        "p=2/a.parquet": rows((1, 1 << 40), (2, 6)),
    }
    assert losing(tmp_path, files) == [("p=1/a.parquet", 0), ("p=2/a.parquet", 1)]


@pytest.mark.parametrize(("less", "more"), [(2, 9), (9, 10)])
def test_partition_column_that_only_the_folders_hold_orders_rows_by_its_value(
    tmp_path: Path, less: int, more: int
) -> None:
    """As a number, where it is one: 10 is greater than 9, and in a folder that comes first."""
    files = {f"p={p}/a.parquet": rows((1, 0), (p, 0)) for p in (less, more)}
    assert losing(tmp_path, files, ordering="p") == [(f"p={less}/a.parquet", 0)]


def test_ordering_column_that_some_files_leave_to_their_folder_is_compared_all_the_same(
    tmp_path: Path,
) -> None:
    """Some writers keep partition columns in their files, others do not; the latter can be null."""
    inside = rows((1, 0), (2, 0)).append_column("p", pa.array([5, 5], pa.int32()))
    files = {
        "p=5/a.parquet": inside,
        "p=7/a.parquet": rows((1, 0)),
        "p=__HIVE_DEFAULT_PARTITION__/a.parquet": rows((2, 0)),
    }
    found = losing(tmp_path, files, ordering="p")
    assert found == [("p=5/a.parquet", 0), ("p=__HIVE_DEFAULT_PARTITION__/a.parquet", 0)]


def test_composite_keys_are_the_same_where_all_of_their_parts_are(tmp_path: Path) -> None:
    """Whole keys are compared, not their texts run together."""
    table = pa.table({"a": ["x", "x", "xy", "x"], "b": ["yz", "z", "z", "yz"], "ts": [1, 1, 1, 2]})
    rule = a_rule("a", "b", partition={"p": PartitionType.INT})
    found = losing(tmp_path, {"p=1/f.parquet": table}, rule=rule)
    assert found == [("p=1/f.parquet", 0)]


def test_rows_without_a_key_are_left_to_the_gate(tmp_path: Path) -> None:
    """They are not each other's duplicates."""
    files = {"p=1/a.parquet": rows((None, 1), (None, 2), (1, 1), (1, 2))}
    assert losing(tmp_path, files) == [("p=1/a.parquet", 2)]


def test_rows_that_are_out_already_neither_win_nor_lose(tmp_path: Path) -> None:
    """The row that would have stayed is out: the next best one stays."""
    files = {
        "p=1/a.parquet": rows((1, 9), (1, 5), (2, 1)),
        "p=2/a.parquet": rows((1, 4), (2, 2)),
    }
    gone = {"p=1/a.parquet": [0], "p=2/a.parquet": [1]}
    assert losing(tmp_path, files, gone=gone) == [("p=2/a.parquet", 0)]


def test_one_key_in_ten_thousand_rows_keeps_one_of_them(tmp_path: Path) -> None:
    """However they are spread over files."""
    count = 5_000
    files = {
        f"p={p}/a.parquet": rows(*((7, p * count + row) for row in range(count))) for p in (1, 2)
    }
    found = losing(tmp_path, files)
    assert len(found) == 2 * count - 1
    assert ("p=2/a.parquet", count - 1) not in found


def test_more_repeated_keys_than_are_remembered_at_first_are_all_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are looked for again with more room."""
    monkeypatch.setattr(screen, "_REMEMBERED", 3)
    files = {f"p={p}/a.parquet": rows(*((n, p) for n in range(100))) for p in (1, 2)}
    assert losing(tmp_path, files) == [("p=1/a.parquet", row) for row in range(100)]


ROW = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.integers(-2, 2)))
LAKE = st.dictionaries(
    st.sampled_from(["p=1/a.parquet", "p=1/b.parquet", "p=10/a.parquet", "p=2/a.parquet"]),
    st.lists(ROW, max_size=6),
    min_size=1,
)


@pytest.mark.property
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lake=LAKE, scope=st.sampled_from(KeyScope), data=st.data())
def test_rows_that_give_way_are_all_but_the_best_of_each_key(
    tmp_path_factory: pytest.TempPathFactory,
    lake: dict[str, list[tuple[Any, Any]]],
    scope: KeyScope,
    data: st.DataObject,
) -> None:
    """Against a model that sorts: greatest value, else null, then the first."""
    out = {
        path: sorted(
            data.draw(st.sets(st.integers(0, len(found) - 1)) if found else st.just(set()))
        )
        for path, found in lake.items()
    }
    groups: dict[Any, list[tuple[Any, str, int]]] = {}
    for path in sorted(lake, key=lambda path: (path.rpartition("/")[0], path)):
        folder = path.rpartition("/")[0] if scope is KeyScope.PARTITION else ""
        for row, (key, value) in enumerate(lake[path]):
            if key is not None and row not in out[path]:
                groups.setdefault((folder, key), []).append((value, path, row))
    expected = []
    for group in groups.values():
        best = max(group, key=lambda each: (each[0] is not None, each[0] or 0))
        expected += [(path, row) for value, path, row in group if (value, path, row) != best]
    files = {path: rows(*found) for path, found in lake.items()}
    found = losing(
        tmp_path_factory.mktemp("lake"),
        files,
        rule=a_rule(scope=scope),
        gone={path: places for path, places in out.items() if places},
    )
    assert sorted(found) == sorted(expected)
