"""An independent reading of a table that a bootstrap made: every file of it is checked.

Names, keys, sequence numbers and paths are computed here from the source alone, in plain Python;
only the index and the bloom filter, which Apache Hudi's own bytes pin elsewhere, are opened by the
code under test. What comes out are the rows of the table, skeleton and source side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.codecs.bloom import BloomFilter
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import BloomKind
from tests.support.scenes import Scene

__all__ = ["Piece", "pieces_of", "read_table"]

Row = dict[str, Any]

META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
BOOTSTRAP = "00000000000001"
_BLOOM_KINDS = {"SIMPLE": BloomKind.SIMPLE, "DYNAMIC_V0": BloomKind.DYNAMIC}
_TYPES: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "long": int,
    "string": str,
    "date": date.fromisoformat,
    "boolean": {"true": True, "false": False}.__getitem__,
}


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One source file and how it was to be taken.

    Attributes:
        path: relative to the source.
        partition_path: its folder, as far as that is a partition.
        values: typed values of that folder, by column.
        mode: `metadata_only`, `full_record` or `skip`.
    """

    path: str
    partition_path: str
    values: Mapping[str, object] = field(default_factory=dict)
    mode: str = "metadata_only"


@dataclass(frozen=True, kw_only=True)
class _Table:
    """The table under test, and what is known of all its files."""

    scene: Scene
    instant: str
    key: tuple[str, ...]
    index: BootstrapIndex | None
    stats: Mapping[str, Mapping[str, Any]]
    root: str | None


def pieces_of(
    scene: Scene, modes: Mapping[str, str] | None = None, *, positional: bool = False
) -> list[Piece]:
    """Return the source's files in the order of the inventory.

    Args:
        scene: whose source is listed; its spec says the partition columns.
        modes: mode by partition path, for those that are not `metadata_only`.
        positional: whether folder names are bare values.
    """
    columns: dict[str, str] = scene.document["table"].get("partition_by", {})
    found = []
    for path in _parquet_files(scene.source):
        partition = "/".join(path.split("/")[: len(columns)]) if columns else ""
        values = {}
        for (name, kind), text in zip(columns.items(), partition.split("/"), strict=False):
            own = text if positional else unquote(text.removeprefix(f"{name}="))
            values[name] = None if own == "__HIVE_DEFAULT_PARTITION__" else _TYPES[kind](own)
        mode = (modes or {}).get(partition, "metadata_only")
        found.append(Piece(path=path, partition_path=partition, values=values, mode=mode))
    return sorted(found, key=lambda each: (each.partition_path.encode(), each.path.encode()))


def read_table(
    scene: Scene, pieces: Sequence[Piece], *, instant: str = BOOTSTRAP, root: str | None = None
) -> list[Row]:
    """Return all rows of the table, meta columns and data, having checked every file of it.

    Args:
        scene: source and table.
        pieces: the source's files in the order of the inventory, skipped ones among them.
        instant: requested time of the one commit.
        root: URI of the source in an object store, of which the scene's is a copy; None means that
            the scene's is the source.
    """
    action = "commit" if scene.document["table"]["type"] == "copy_on_write" else "deltacommit"
    commit = json.loads((scene.location / f".hoodie/{instant}.{action}").read_text("utf-8"))
    key = scene.document["table"]["record_key"]["columns"]
    index = BootstrapIndex.open(open_storage(str(scene.location)))
    stats = {s["path"]: s for each in commit["partitionToWriteStats"].values() for s in each}
    table = _Table(
        scene=scene, instant=instant, key=tuple(key), index=index, stats=stats, root=root
    )
    rows: list[Row] = []
    names = set()
    for number, piece in enumerate(pieces):
        if piece.mode != "skip":
            path, found = _read_piece(table, number, piece)
            names.add(path)
            rows += found
    assert names == set(stats), "the commit names other files"
    assert names == set(_parquet_files(scene.location)), "other files lie in the table"
    _check_index(table, [p for p in pieces if p.mode == "metadata_only"])
    _check_schema(rows, json.loads(commit["extraMetadata"]["schema"]))
    return rows


def _parquet_files(root: Path) -> list[str]:
    """Return the paths of all files whose names are not hidden."""
    files = (p for p in root.rglob("*") if p.is_file())
    paths = (p.relative_to(root) for p in files)
    return [
        str(p)
        for p in paths
        if not any(n.startswith(".") or (n.startswith("_") and "=" not in n) for n in p.parts)
    ]


def _read_piece(table: _Table, number: int, piece: Piece) -> tuple[str, list[Row]]:
    """Return path and rows of the base file for one source file."""
    identity = _file_id(piece)
    name = f"{identity}_{number}-0-0_{table.instant}.parquet"
    path = f"{piece.partition_path}/{name}" if piece.partition_path else name
    base = pq.ParquetFile(table.scene.location / path)
    source = pq.ParquetFile(table.scene.source / piece.path)
    _check_stats(table, path, identity, base)
    _check_partition_metadata(table, piece)
    assert _row_groups(base) == _row_groups(source), f"{path}: row groups differ"
    held = base.read(use_threads=False).to_pylist()
    if piece.mode == "metadata_only":
        data = source.read(use_threads=False).to_pylist()
    else:
        data = _without_meta(held)
    assert len(held) == len(data) == source.metadata.num_rows
    rows = []
    for place, (meta, values) in enumerate(zip(held, data, strict=True)):
        whole = {**piece.values, **values}
        rows.append({**{n: meta[n] for n in META}, **whole})
        assert tuple(meta[n] for n in META) == (
            table.instant,
            f"{table.instant}_{number}_{place}",
            _key_text(table.key, whole),
            piece.partition_path,
            name,
        )
    if piece.mode == "metadata_only":
        assert base.schema_arrow.names == list(META)
    bloom = table.scene.document["table"].get("bloom", {}).get("kind") != "none"
    _check_footers(base, [_key_text(table.key, row) for row in rows], bloom=bloom)
    return path, rows


def _file_id(piece: Piece) -> str:
    """Return the file id that follows from the source path."""
    identity = str(uuid5(NAMESPACE_URL, f"lakestrap:{piece.path}"))
    return identity if piece.mode == "metadata_only" else f"{identity}-0"


def _row_groups(file: Any) -> list[int]:
    """Return the rows of each row group that has some."""
    meta = file.metadata
    rows = (meta.row_group(at).num_rows for at in range(meta.num_row_groups))
    return [each for each in rows if each]


def _without_meta(rows: list[Row]) -> list[Row]:
    """Return the data columns."""
    return [{name: value for name, value in row.items() if name not in META} for row in rows]


def _key_text(columns: Sequence[str], row: Row) -> str:
    """Return the record key as Apache Hudi writes it."""
    if len(columns) == 1:
        return _text(row[columns[0]])
    return ",".join(f"{name}:{_text(row[name]) or '__empty__'}" for name in columns)


def _text(value: object) -> str:
    """Return Java's text of a value."""
    assert value is not None
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _check_stats(table: _Table, path: str, identity: str, base: Any) -> None:
    """Compare what the commit says of a file with the file."""
    stat, rows = table.stats[path], base.metadata.num_rows
    size = (table.scene.location / path).stat().st_size
    names = ("fileId", "numWrites", "numInserts", "fileSizeInBytes", "partitionPath")
    partition = path.rpartition("/")[0]
    assert tuple(stat[name] for name in names) == (identity, rows, rows, size, partition)


def _check_partition_metadata(table: _Table, piece: Piece) -> None:
    """Compare the hidden file that makes a folder a partition."""
    folder = table.scene.location / piece.partition_path
    lines = (folder / ".hoodie_partition_metadata").read_text("utf-8").splitlines()
    depth = piece.partition_path.count("/") + 1 if piece.partition_path else 0
    assert f"commitTime={table.instant}" in lines
    assert f"partitionDepth={depth}" in lines


def _check_footers(base: Any, keys: list[str], *, bloom: bool) -> None:
    """Compare bloom filter (if there is to be one), least and greatest key with the keys."""
    footers = {k.decode(): v.decode() for k, v in (base.metadata.metadata or {}).items()}
    assert ("org.apache.hudi.bloomfilter" in footers) == bloom
    if bloom:
        kind = _BLOOM_KINDS[footers["hoodie_bloom_filter_type_code"]]
        filtered = BloomFilter.parse(footers["org.apache.hudi.bloomfilter"], kind)
        assert filtered.might_contain(pa.array(keys, pa.string())).all()
    ordered = sorted(keys, key=str.encode)
    bounds = [footers.get(f"hoodie_{end}_record_key") for end in ("min", "max")]
    assert bounds == ([ordered[0], ordered[-1]] if ordered else [None, None])
    assert json.loads(footers["parquet.avro.schema"])["type"] == "record"


def _check_index(table: _Table, skeletons: Sequence[Piece]) -> None:
    """Compare the index, asked by partition and by file, with the source; nothing else is in it."""
    properties = (table.scene.location / ".hoodie/hoodie.properties").read_text("utf-8")
    assert ("hoodie.bootstrap.base.path" in properties) == bool(skeletons)
    if not skeletons:
        assert table.index is None
        return
    assert table.index is not None
    root = table.scene.source.resolve()
    expected: dict[str, dict[str, str]] = {}
    for piece in skeletons:
        expected.setdefault(piece.partition_path, {})[_file_id(piece)] = piece.path
    assert set(table.index.partitions()) == set(expected)
    for partition, files in expected.items():
        by_partition = table.index.mappings(partition)
        assert set(by_partition) == set(files)
        for identity, path in files.items():
            facts = (root / path).stat()
            found = table.index.mapping(partition, identity)
            assert found == by_partition[identity]
            assert found.uri == f"{table.root or f'file://{root}'}/{path}"
            assert found.size == facts.st_size
            if table.root is None:
                assert found.mtime_ms == facts.st_mtime_ns // 1_000_000
            else:
                assert found.mtime_ms % 1000 == 0, "HEAD knows no milliseconds"
    table.index.close()


def _check_schema(rows: list[Row], schema: Mapping[str, Any]) -> None:
    """The commit's schema has each column of each row."""
    known = {column["name"] for column in schema["fields"]}
    for row in rows[:1] + rows[-1:]:
        assert set(row) - set(META) <= known
