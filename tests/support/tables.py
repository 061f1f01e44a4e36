"""Doing things to tables that others would do: forgetting facts, writing on, logging."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.table.schema import avro_schema
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, write_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["changed_settings", "commit_base_file", "disown", "record_size"]


def disown(table: Path) -> None:
    """Take our facts out of the commit that began a table, as if another had written it."""
    commit = next((table / ".hoodie").glob("00000000000001.*commit"))
    body = json.loads(commit.read_text())
    kept = {k: v for k, v in body["extraMetadata"].items() if not k.startswith("lakestrap.")}
    commit.write_text(json.dumps(body | {"extraMetadata": kept}))


def record_size(table: Path, file: Path) -> None:
    """Let the commit that wrote a file say the size that the file has, as its own writer would."""
    for commit in (table / ".hoodie").glob("*commit"):
        body = json.loads(commit.read_text())
        for stats in body["partitionToWriteStats"].values():
            for stat in stats:
                if stat["path"] == str(file.relative_to(table)):
                    stat["fileSizeInBytes"] = file.stat().st_size
        commit.write_text(json.dumps(body))


def commit_base_file(table: Path, instant: str, file: str, rows: pa.Table) -> None:
    """Write one base file as an ordinary copy-on-write commit would, and complete the commit.

    Args:
        table: base path.
        instant: of the commit.
        file: path of the base file, relative to the table.
        rows: meta columns first.
    """
    pq.write_table(rows, table / file, store_schema=False)
    schema = pa.schema([field for field in rows.schema if not field.name.startswith("_hoodie_")])
    head = CommitHead(
        extra={"schema": json.dumps(avro_schema(schema, table="things"))}, operation="UPSERT"
    )
    folder, _, name = file.rpartition("/")
    stat = WriteStat(
        file_id=name.partition("_")[0],
        path=file,
        partition_path=folder,
        rows=rows.num_rows,
        size=(table / file).stat().st_size,
    )
    out = io.BytesIO()
    write_commit(out, head, [(folder, [stat])])
    (table / ".hoodie" / f"{instant}.commit").write_bytes(out.getvalue())


@contextmanager
def changed_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set confs of a session and put back what was there."""
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)
