"""A base file made of the column chunks of the one before: its rows are those of a rewrite."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.load import patch as patch_module
from framework.engine.load.group_rows import Changes, NewFile, base_bytes, combined
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import LoadJob
from framework.engine.load.patch import Patched, patched
from framework.engine.reading.slice_rows import SliceTable
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.codecs.bloom import BloomFilter
from framework.hudi.filegroup.base_file import BLOOM, KeyFooter, key_footer
from framework.hudi.filegroup.column_chunks import ChunkFile
from framework.hudi.keygen.rule import choose_rule
from framework.hudi.table.layout import META_COLUMNS
from framework.vocabulary import BloomKind, KeyScope, SourceLayout, WriteOperation

pytestmark = pytest.mark.long

SCHEMA = pa.schema(
    [
        pa.field("n", pa.int64(), nullable=False),
        pa.field("f", pa.float64()),
        pa.field("g", pa.float32()),
        pa.field("text", pa.string()),
        pa.field("word", pa.string()),
        pa.field("price", pa.decimal128(12, 2)),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("flag", pa.bool_()),
        pa.field("raw", pa.binary()),
        pa.field("nested", pa.list_(pa.struct({"a": pa.int32(), "b": pa.string()}))),
        pa.field("ts", pa.int64()),
    ]
)
FLOATS = [0.0, -0.0, float("nan"), 1.5, None]


def job(schema: pa.Schema = SCHEMA, **changes: Any) -> LoadJob:
    """Return an upsert into a table of these columns; `changes` are fields of the job."""
    slices = SliceTable(
        location="/t", schema="", in_folders=(), ordering=None, instants=(), until=None
    )
    found = LoadJob(
        table="/t",
        attempts="a",
        folder="f",
        fence="x",
        instant="20260102000000000",
        operation=WriteOperation.UPSERT,
        rule=choose_rule(["n"], [], layout=SourceLayout.NONE, scope=KeyScope.TABLE),
        schema=encode_schema(schema),
        avro_schema="{}",
        ordering=None,
        bloom=BloomChoice(fpp=1e-7),
        slices=slices,
        buckets=0,
        bits=1,
    )
    return replace(found, **changes)


def record(number: int, version: int) -> dict[str, Any]:
    """Return a row; about half of its columns are the same in each version."""
    seed = number * 31 + version // 2
    return {
        KEY: f"n:{number}",
        "n": number,
        "f": FLOATS[(number + version) % 5],
        "g": FLOATS[seed % 5],
        "text": f"text {number} {version}",
        "word": None if seed % 7 == 0 else f"word {seed % 3}",
        "price": Decimal(seed) / 4,
        "day": dt.date(2020, 1, 1) + dt.timedelta(days=seed % 50),
        "at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=version),
        "flag": [True, False, None][seed % 3],
        "raw": bytes((seed % 256,)),
        "nested": [None, [], [{"a": seed, "b": None}]][seed % 3],
        "ts": None if version == 5 else version,
    }


def rows(*records: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return incoming rows: the key and the table's columns."""
    fields: list[pa.Field] = [pa.field(KEY, pa.string()), *(f.with_nullable(True) for f in schema)]
    return pa.Table.from_pylist(list(records), pa.schema(fields))


def file(instant: str = "20260102000000000", number: int = 3) -> NewFile:
    """Return the file that is made."""
    numbers = RowNumbers(instant=instant, number=number)
    return NewFile(name=f"id_0-0-0_{instant}.parquet", partition_path="p=1", numbers=numbers)


def first(count: int, group_rows: int, at: LoadJob | None = None) -> pa.Buffer:
    """Return a base file of so many rows, in row groups of at most so many."""
    incoming = rows(*(record(number, 0) for number in range(count)))
    places = np.empty(0, np.int64)
    changes = Changes(
        gone=places, gone_keys=pa.array([], pa.string()), places=places, rows=incoming
    )
    made = combined(None, changes, file("20260101000000000", 1), ordering=None)
    data, _ = _grouped(at or job(), made, group_rows)
    return pa.py_buffer(data)


def _grouped(at: LoadJob, made: Any, group_rows: int) -> tuple[bytes, Any]:
    """Write a base file with small row groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("framework.engine.load.group_rows.GROUP_ROWS", group_rows)
        return base_bytes(at, made, "old.parquet")


def load(updates: Sequence[tuple[int, int]], inserts: Sequence[int]) -> Changes:
    """Return changes: (place, version) of rows that come again, numbers of new ones."""
    records = [record(place, version) for place, version in updates]
    records += [record(number, 0) for number in inserts]
    return Changes(
        gone=np.empty(0, np.int64),
        gone_keys=pa.array([], pa.string()),
        places=np.array([place for place, _ in updates], np.int64),
        rows=rows(*records),
    )


def whole(at: LoadJob, data: pa.Buffer, changes: Changes) -> tuple[pa.Table, int]:
    """Return the rows of a whole rewrite and how many were replaced."""
    old = pq.read_table(pa.BufferReader(data))
    made = combined(old, changes, file(), ordering=at.ordering)
    written, _ = base_bytes(at, made, file().name)
    return pq.read_table(pa.BufferReader(written)), made.updated


def texts(table: pa.Table) -> list[str]:
    """Return rows so that they can be compared, NaN and the sign of zero included."""
    return [repr(row) for row in table.to_pylist()]


def read(made: Patched) -> pa.Table:
    """Return all rows of a file."""
    return pq.read_table(pa.BufferReader(made.data))


@pytest.mark.property
@pytest.mark.parametrize("ordering", [None, "ts"])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_patched_rows_are_those_of_a_whole_rewrite(
    ordering: str | None, data: st.DataObject
) -> None:
    """Whatever changes, in whichever row group: values, meta columns, order, counts and bounds."""
    count = data.draw(st.integers(1, 40), "rows")
    small = data.draw(st.sampled_from([0, 8]), "rows of a group that is too small")
    at = job(ordering=ordering)
    old = first(count, data.draw(st.integers(3, 50), "rows of a group"))
    places = sorted(data.draw(st.sets(st.integers(0, count - 1)), "places"))
    versions = [data.draw(st.integers(0, 5)) for _ in places]
    inserts = data.draw(st.lists(st.integers(100, 140), unique=True, max_size=20), "new")
    changes = load(list(zip(places, versions, strict=True)), inserts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patch_module, "_SMALL_GROUP_ROWS", small)
        made = patched(at, old, changes, file())
    expected, updated = whole(at, old, changes)
    if made is None:
        assert (inserts and count < small) or count % 1 == 0
        return
    found = read(made)
    assert texts(found) == texts(expected)
    assert (made.rows, made.updated) == (expected.num_rows, updated)
    assert made.fresh.to_pylist() == [f"n:{number}" for number in inserts]
    keys = found[KEY].to_pylist()
    footer = footer_of(made)
    assert made.bounds == (min(keys), max(keys)) == (footer.least, footer.greatest)
    assert bloom_of(made).might_contain(found[KEY]).all()


def footer_of(made: Patched) -> KeyFooter:
    """Return what the footer says of keys."""
    return key_footer(pq.read_metadata(pa.BufferReader(made.data)))


def bloom_of(made: Patched) -> BloomFilter:
    """Return the filter."""
    footer = footer_of(made)
    assert footer.bloom is not None
    return BloomFilter.parse(footer.bloom[0], BloomKind.DYNAMIC)


def chunks_of(data: bytes | pa.Buffer) -> list[dict[str, bytes]]:
    """Return the pages of each column, row group by row group."""
    groups = ChunkFile.read(pa.py_buffer(data)).groups
    return [{chunk.path: chunk.data.to_pybytes() for chunk in group.chunks} for group in groups]


def test_patched_columns_that_stay_are_taken_as_they_are() -> None:
    """Of a row group with a changed row only what changed is encoded again."""
    old = first(40, 20)
    changes = load([(25, 0)], [])
    price = changes.rows.schema.get_field_index("price")
    field = changes.rows.schema.field(price)
    raised = changes.rows.set_column(price, field, pa.array([Decimal("99.00")], field.type))
    made = patched(job(), old, replace(changes, rows=raised), file())
    assert made is not None
    before, after = chunks_of(old), chunks_of(made.data)
    changed = [
        {name for name in one if one[name] != other[name]}
        for one, other in zip(before, after, strict=True)
    ]
    assert changed[0] == {"_hoodie_file_name"}
    assert changed[1] == {
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_file_name",
        "price",
    }


def test_patched_signs_of_zero_are_changes() -> None:
    """0.0 equals -0.0, but it is another value."""
    old = first(10, 10)
    changes = load([(0, 0)], [])
    at = changes.rows.schema.get_field_index("f")
    minus = changes.rows.set_column(at, "f", pa.array([-0.0]))
    made = patched(job(), old, replace(changes, rows=minus), file())
    assert made is not None
    assert repr(read(made)["f"][0].as_py()) == "-0.0"
    assert repr(pq.read_table(pa.BufferReader(old))["f"][0].as_py()) == "0.0"


def test_patched_row_groups_stay_few_however_many_loads_insert() -> None:
    """New rows join the last row group until it is large enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patch_module, "_SMALL_GROUP_ROWS", 50)
        data: bytes | pa.Buffer = first(100, 100)
        for number in range(60):
            made = patched(
                job(),
                pa.py_buffer(data),
                load([], range(100 + 5 * number, 105 + 5 * number)),
                file(),
            )
            assert made is not None
            assert bloom_of(made).might_contain(read(made)[KEY]).all()
            data = made.data
    groups = ChunkFile.read(pa.py_buffer(data)).groups
    assert [group.rows for group in groups] == [100, 50, 50, 50, 50, 50, 50]


def test_patched_filter_is_made_anew_where_it_has_no_room() -> None:
    """A file that grows by half does not keep the filter of its beginning."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patch_module, "_SMALL_GROUP_ROWS", 0)
        made = patched(job(), first(10_000, 10_000), load([], range(10_000, 15_000)), file())
    assert made is not None
    bloom = bloom_of(made)
    assert bloom.might_contain(read(made)[KEY]).all()
    absent = pa.array([f"n:{number}" for number in range(10**6, 2 * 10**6)])
    assert bloom.might_contain(absent).sum() <= 5


def test_patched_file_without_a_filter_gets_none() -> None:
    """The spec says so."""
    bare = job(bloom=BloomChoice(kind="none"))
    made = patched(bare, first(20, 20, bare), load([(3, 2)], []), file())
    assert made is not None
    assert BLOOM.encode() not in pq.read_metadata(pa.BufferReader(made.data)).metadata


def without(data: pa.Buffer, name: str) -> pa.Buffer:
    """Return a file without one of its columns."""
    sink = pa.BufferOutputStream()
    table = pq.read_table(pa.BufferReader(data)).drop_columns([name])
    pq.write_table(table.replace_schema_metadata(), sink, store_schema=False)
    return sink.getvalue()


def unbounded(data: pa.Buffer) -> pa.Buffer:
    """Return a file whose footer has no key bounds."""
    sink = pa.BufferOutputStream()
    table = pq.read_table(pa.BufferReader(data))
    with pq.ParquetWriter(sink, job_columns(), store_schema=False) as writer:
        writer.write_table(table.cast(job_columns()))
    return sink.getvalue()


def job_columns() -> pa.Schema:
    """Return all columns of a file."""
    return pa.schema([*((name, pa.string()) for name in META_COLUMNS), *SCHEMA])


def test_patched_is_refused_where_rows_leave() -> None:
    """A delete moves the rows behind it."""
    changes = replace(load([], [100]), gone=np.array([3]))
    assert patched(job(), first(10, 10), changes, file()) is None


def test_patched_is_refused_where_the_schema_has_changed() -> None:
    """A column more, a column less, a wider type."""
    old = first(10, 10)
    changes = load([(1, 1)], [])
    assert patched(job(), old, changes, file()) is not None
    wider = SCHEMA.set(0, pa.field("n", pa.int64()))
    for schema in (SCHEMA.append(pa.field("x", pa.int32())), pa.schema([*SCHEMA][:-1]), wider):
        assert patched(job(schema), old, changes, file()) is None
    assert patched(job(), without(old, "ts"), changes, file()) is None


def test_patched_is_refused_where_nothing_would_stay() -> None:
    """New rows join the only row group, which is small."""
    assert patched(job(), first(10, 10), load([], [100]), file()) is None


def test_patched_is_refused_if_the_footer_has_no_key_bounds() -> None:
    """Bounds would have to be looked for in all keys."""
    assert patched(job(), unbounded(first(10, 10)), load([(1, 1)], []), file()) is None


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_patched_is_refused_where_the_file_cannot_be_read(cut: int) -> None:
    """A full read reports what is wrong."""
    assert patched(job(), first(10, 10)[:cut], load([(1, 1)], []), file()) is None
