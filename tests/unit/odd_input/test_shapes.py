"""Sources of any shape: layouts, row groups, sizes, types and schemas that evolved."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import PlanError
from tests.support.scenes import Scene, a_document, a_scene, adopt
from tests.support.sources import a_source, ids
from tests.support.stitching import META, Piece, pieces_of, read_table

pytestmark = pytest.mark.long

MODES = ("metadata_only", "full_record")
NOON = dt.datetime(2024, 5, 6, 12, 30, 1, 123456, tzinfo=dt.UTC)
TWO = {"a": "int", "b": "string"}
POINT = pa.struct([("x", pa.int32()), ("name", pa.string())])
TYPED = pa.table(
    {
        "id": [1, 2, 3],
        "price": pa.array([Decimal("1.50"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal("9" * 38), Decimal(0), None], pa.decimal128(38, 0)),
        "born": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "at": pa.array([NOON, NOON.replace(year=1), None], pa.timestamp("us", tz="UTC")),
        "naive": pa.array([NOON.replace(tzinfo=None)] * 2 + [None], pa.timestamp("us")),
        "raw": pa.array([b"\x00\xff", b"", None]),
        "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "double": pa.array([float("inf"), -0.0, None]),
        "float": pa.array([1.5, float("-inf"), None], pa.float32()),
        "flag": pa.array([True, False, None]),
        "tiny": pa.array([-128, 127, None], pa.int8()),
        "short": pa.array([-32768, 32767, None], pa.int16()),
        "long": pa.array([-(2**63), 2**63 - 1, None]),
        "text": pa.array(["", "é🚀\n\0", None]),
        "spot": pa.array([{"x": 1, "name": "a"}, {"x": None, "name": None}, None], POINT),
        "marks": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        "spots": pa.array([[{"x": 1, "name": "a"}], [], None], pa.list_(POINT)),
        "counts": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "nothing": pa.array([None, None, None], pa.string()),
    }
)


@pytest.mark.parametrize("mode", MODES)
def test_all_types_are_adopted(tmp_path: Path, mode: str) -> None:
    """Nested, decimal, date, time, binary: skeletons leave them, full files keep each value."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": TYPED}, a_document(mode=mode))
    rows = _rows(scene, mode)
    assert [_data(row) for row in rows] == [{**row, "p": 1} for row in TYPED.to_pylist()]


@pytest.mark.parametrize("mode", MODES)
def test_columns_that_must_not_be_null_are_adopted(tmp_path: Path, mode: str) -> None:
    """A required key column, and required fields inside a struct."""
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), pa.field("s", inner, nullable=False)]
    )
    rows = pa.table({"id": [1, 2], "s": [{"x": 1}, {"x": 2}]}).cast(schema)
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(mode=mode))
    assert [row["s"] for row in _rows(scene, mode)] == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize("mode", MODES)
def test_files_with_an_arrow_schema_are_taken_as_spark_sees_them(tmp_path: Path, mode: str) -> None:
    """Dictionaries, large texts and durations are Arrow's; the Parquet schema is the authority."""
    rows = pa.table(
        {
            "id": pa.array(["x", "y"]).dictionary_encode(),
            "large": pa.array(["a", "b"], pa.large_string()),
            "span": pa.array([1, 2], pa.duration("us")),
            "date64": pa.array([0, 86_400_000], pa.date64()),
            "list": pa.array([[1], [2]], pa.large_list(pa.int64())),
        }
    )
    scene = a_scene(tmp_path, {}, a_document(mode=mode))
    (scene.source / "p=1").mkdir()
    pq.write_table(rows, scene.source / "p=1" / "a.parquet", store_schema=True)
    found = _rows(scene, mode)
    assert [row["_hoodie_record_key"] for row in found] == ["x", "y"]
    assert [row["large"] for row in found] == ["a", "b"]
    if mode == "full_record":
        assert [row["span"] for row in found] == [1, 2]
        assert [row["date64"] for row in found] == [dt.date(1970, 1, 1), dt.date(1970, 1, 2)]


KEYS: Mapping[str, Any] = {
    "text": ["a,b:c", "é🚀", " ", "%", "\n"],
    "date": [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    "boolean": [True, False],
    "decimal": pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal(0)], pa.decimal128(12, 2)),
    "tiny": pa.array([-128, 127], pa.int8()),
    "long": pa.array([-(2**63), 2**63 - 1]),
    "dictionary": pa.array(["x", "y", "z"]).dictionary_encode(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_all_types_are_adopted(tmp_path: Path, kind: str, mode: str) -> None:
    """Each has one text, which is checked row by row against its own."""
    values = KEYS[kind]
    rows = pa.table({"k": values, "n": range(len(values))})
    for place, key in enumerate((("k",), ("k", "n"), ("n", "k"))):
        folder = tmp_path / str(place)
        scene = a_scene(folder, {"p=1/a.parquet": rows}, a_document(key=key, mode=mode))
        assert len(_rows(scene, mode)) == len(values)


def test_empty_text_inside_a_composite_key_is_adopted(tmp_path: Path) -> None:
    """Hudi has a text for it, as long as some part is there."""
    rows = pa.table({"k": ["", "x"], "n": [1, 2]})
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k", "n")))
    keys = [row["_hoodie_record_key"] for row in _rows(scene)]
    assert keys == ["k:__empty__,n:1", "k:x,n:2"]


@pytest.mark.parametrize("mode", MODES)
def test_schemas_that_evolved_are_adopted(tmp_path: Path, mode: str) -> None:
    """Columns added, integers widened (the key among them), order changed, a struct grown."""
    old = pa.table({"id": pa.array([1, 2], pa.int32()), "n": pa.array([1, None], pa.int32())})
    wide = pa.table({"n": [2**40, 4], "extra": ["e", None], "id": [2**33, 4]})
    grown = pa.table({"id": [5], "n": [5], "s": [{"a": 1}]})
    more = pa.table({"id": [6], "n": [6], "s": [{"b": "x", "a": 2}]})
    tables = (old, wide, grown, more)
    files = {f"p={place}/a.parquet": table for place, table in enumerate(tables)}
    rows = _rows(a_scene(tmp_path, files, a_document(mode=mode)), mode)
    assert [row["id"] for row in rows] == [1, 2, 2**33, 4, 5, 6]
    assert [row["n"] for row in rows] == [1, None, 2**40, 4, 5, 6]
    if mode == "full_record":
        assert [row["extra"] for row in rows] == [None, None, "e", None, None, None]
        assert rows[-1]["s"] == {"a": 2, "b": "x"}
        assert rows[-2]["s"] == {"a": 1, "b": None}


@pytest.mark.parametrize("mode", MODES)
def test_two_levels_of_partitions_are_adopted(tmp_path: Path, mode: str) -> None:
    """`a=1` and `a=10` sort otherwise as folders than as prefixes of their files."""
    places = ("a=1/b=x", "a=10/b=x", "a=1/b=y", "a=-1/b=%2F", "a=2/b=__HIVE_DEFAULT_PARTITION__")
    files = {f"{place}/f.parquet": ids(number) for number, place in enumerate(places)}
    scene = a_scene(tmp_path, files, a_document(partition=TWO, mode=mode))
    rows = _rows(scene, mode)
    assert {row["b"] for row in rows} == {"x", "y", "/", None}


def test_positional_partitions_are_adopted(tmp_path: Path) -> None:
    """Folders are bare values; the key may come from them."""
    files = {"2024/a b/f.parquet": ids(1), "2025/é/f.parquet": ids(1), "-1/x/f.parquet": ids(1)}
    document = a_document(partition=TWO, layout="positional", key=("id", "a"))
    scene = a_scene(tmp_path, files, document)
    adopt(scene)
    rows = read_table(scene, pieces_of(scene, positional=True))
    keys = {row["_hoodie_record_key"] for row in rows}
    assert keys == {"id:1,a:2024", "id:1,a:2025", "id:1,a:-1"}


def test_unpartitioned_source_of_nested_folders_is_one_partition(tmp_path: Path) -> None:
    """All files, however deep, are written to the table's root."""
    files = {
        "x/y/f.parquet": ids(1),
        "g.parquet": ids(2),
        "x/f.parquet": ids(3),
        "p=1/f.parquet": ids(4),
    }
    scene = a_scene(tmp_path, files, a_document(partition={}))
    assert sorted(row["id"] for row in _rows(scene)) == [1, 2, 3, 4]
    assert not [path for path in scene.location.iterdir() if path.is_dir() and path.name[0] != "."]


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_partition_column_inside_the_files_is_adopted(
    tmp_path: Path, mode: str, *, statistics: bool
) -> None:
    """In some files and not in others; as a long where an int is declared by the folders."""
    scene = a_scene(tmp_path, {}, a_document(key=("id", "p"), mode=mode))
    files = {
        "p=1/inside.parquet": ids(1, 2, p=pa.array([1, 1], pa.int32())),
        "p=1/outside.parquet": ids(3),
        "p=2/inside.parquet": ids(4, p=pa.array([2], pa.int16())),
        "p=__HIVE_DEFAULT_PARTITION__/outside.parquet": ids(),
    }
    a_source(scene.source, files, write_statistics=statistics)
    assert [row["p"] for row in _rows(scene, mode)] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("kind", "folder", "values"),
    [
        ("string", "p=a%2Fb", pa.array(["a/b"])),
        ("date", "p=2024-02-29", pa.array([dt.date(2024, 2, 29)])),
        ("boolean", "p=true", pa.array([True])),
        ("long", "p=5", pa.array([5])),
        ("string", "p=__HIVE_DEFAULT_PARTITION__", pa.array([None], pa.string())),
        ("string", "p=__HIVE_DEFAULT_PARTITION__", pa.array([""])),
    ],
)
def test_partition_column_inside_the_files_is_compared_in_its_type(
    tmp_path: Path, kind: str, folder: str, values: pa.Array
) -> None:
    """Footers have bounds in their own type, and Hive's default matches two values."""
    files = {f"{folder}/a.parquet": ids(1, p=values)}
    assert len(_rows(a_scene(tmp_path, files, a_document(partition={"p": kind})))) == 1


@pytest.mark.parametrize("mode", MODES)
def test_files_without_rows_are_adopted(tmp_path: Path, mode: str) -> None:
    """No row, no row group, empty groups among full ones: each file has its file group."""
    scene = a_scene(tmp_path, {"p=1/none.parquet": ids()}, a_document(mode=mode))
    schema = ids().schema
    for name, tables in (("groupless", ()), ("gaps", (ids(1, 2), ids(), ids(3)))):
        path = scene.source / "p=1" / f"{name}.parquet"
        with pq.ParquetWriter(path, schema, store_schema=False) as writer:
            for table in tables:
                writer.write_table(table)
    assert pq.read_metadata(scene.source / "p=1" / "groupless.parquet").num_row_groups == 0
    assert pq.read_metadata(scene.source / "p=1" / "gaps.parquet").num_row_groups == 3
    assert len(_rows(scene, mode)) == 3
    assert len(list(scene.location.glob("p=1/*.parquet"))) == 3


def test_source_without_a_row_at_all_is_adopted(tmp_path: Path) -> None:
    """Files there are, so there is a table: an empty one."""
    assert _rows(a_scene(tmp_path, {"p=1/a.parquet": ids(), "p=2/a.parquet": ids()})) == []


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_many_row_groups_are_kept_one_for_one(tmp_path: Path, mode: str) -> None:
    """Readers put skeleton and source together by row group."""
    scene = a_scene(tmp_path, {}, a_document(mode=mode))
    a_source(scene.source, {"p=1/a.parquet": ids(*range(400))}, row_group_size=3)
    assert len(_rows(scene, mode)) == 400
    (base,) = scene.location.glob("p=1/*.parquet")
    assert pq.read_metadata(base).num_row_groups == 134


@pytest.mark.parametrize("mode", MODES)
def test_wide_table_is_adopted(tmp_path: Path, mode: str) -> None:
    """Three hundred columns are three hundred columns."""
    columns = {f"c{number}": pa.array([number, None], pa.int32()) for number in range(300)}
    rows = _rows(
        a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2, **columns)}, a_document(mode=mode)), mode
    )
    assert rows[0]["c299"] == 299
    assert rows[1]["c299"] is None


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none", "use_dictionary": False},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "zstd", "data_page_size": 64},
        {"compression": "lz4", "write_page_index": True},
        {"compression": "snappy", "write_page_checksum": True},
        {"version": "1.0", "write_statistics": False},
        {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED"}},
    ],
    ids=range(7),
)
def test_files_of_any_encoding_are_adopted(tmp_path: Path, options: dict[str, Any]) -> None:
    """How pages are written is the writer's own affair."""
    scene = a_scene(tmp_path, {})
    a_source(scene.source, {"p=1/a.parquet": ids(*range(200))}, **options)
    assert len(_rows(scene)) == 200


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a", {"compression": "brotli"}),
        ("a", {"use_dictionary": False, "column_encoding": {"id": "BYTE_STREAM_SPLIT"}}),
        ("a:b", {}),
    ],
    ids=["brotli", "byte_stream_split", "colon"],
)
def test_files_that_spark_cannot_read_are_adopted_in_full_only(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    """As they are, only some readers could read them."""
    kept, full = (a_scene(tmp_path / mode, {}, a_document(mode=mode)) for mode in MODES)
    for scene in (kept, full):
        a_source(scene.source, {f"p=1/{name}.parquet": ids(*range(200))}, **options)
    with pytest.raises(PlanError) as caught:
        adopt(kept)
    assert caught.value.condition == "source/unreadable-format"
    assert f"{name}.parquet" in caught.value.message
    assert len(_rows(full, "full_record")) == 200


@pytest.mark.long
def test_hundreds_of_tiny_files_are_adopted(tmp_path: Path) -> None:
    """Many files are the ordinary case; each has its name, its key range and its place."""
    files = {f"p={number % 40}/{number}.parquet": ids(number) for number in range(300)}
    assert len(_rows(a_scene(tmp_path, files))) == 300


def test_source_below_a_linked_partition_folder_is_adopted(tmp_path: Path) -> None:
    """A partition may live on another disk."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)})
    a_source(tmp_path / "disk", {"b.parquet": ids(2, 3)})
    (scene.source / "p=2").symlink_to(tmp_path / "disk")
    adopt(scene)
    linked = Piece(path="p=2/b.parquet", partition_path="p=2", values={"p": 2})
    plain = Piece(path="p=1/a.parquet", partition_path="p=1", values={"p": 1})
    assert len(read_table(scene, [plain, linked])) == 3


def _rows(scene: Scene, mode: str = "metadata_only") -> list[dict[str, Any]]:
    """Adopt, read every file of the table, and see that there is nothing more to do."""
    result = adopt(scene)
    assert result is not None
    assert result.instant is not None
    modes = {piece.partition_path: mode for piece in pieces_of(scene)}
    rows = read_table(scene, pieces_of(scene, modes), instant=result.instant)
    assert len(rows) == result.rows
    assert adopt(scene) is None
    return rows


def _data(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's data columns."""
    return {name: value for name, value in row.items() if name not in META}
