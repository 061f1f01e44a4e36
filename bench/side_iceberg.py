"""Apache Iceberg: a table over the same files or its own, and the upsert as a MERGE."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spark_session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["start"]

EXTENSIONS = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session with the runtime; the actions are the methods of `_Table`."""
    warehouse = Path(settings["work_dir"]) / "warehouse"
    shutil.rmtree(warehouse, ignore_errors=True)
    place = {"spark.sql.catalog.ice.warehouse": str(warehouse)}
    spark = session(settings, {**EXTENSIONS, **place, "spark.jars": settings["jar"]})
    table = _Table(spark)
    actions = (table.create, table.begin, table.again, table.merge, table.bulk, table.written)
    return {action.__name__: action for action in actions}


class _Table:
    """The latest table; tables are never dropped, since that could delete adopted files.

    A table names its files by absolute path, so it cannot be copied: `again` rolls it back to the
    state after `begin`.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tables = 0

    @property
    def _name(self) -> str:
        return f"bench.written_{self._tables}"

    def create(self, source: str, partition: str, mode: str) -> None:
        """Create an empty table with the columns of the source."""
        self._tables += 1
        fields = self._spark.read.parquet(source).schema
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
        properties = {"format-version": "2", "write.distribution-mode": "none"}
        properties |= {f"write.{each}.mode": mode for each in ("merge", "update", "delete")}
        listed = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        self._spark.sql(
            f"CREATE TABLE ice.{self._name} ({columns}) USING iceberg "
            f"PARTITIONED BY ({partition}) TBLPROPERTIES ({listed})"
        )

    def begin(self, source: str, partition: str, mode: str, *, adopted: bool) -> int:
        """Fill a new table, or add the source's own files if `adopted`; return the snapshot."""
        self.create(source, partition, mode)
        if adopted:
            path = f"`parquet`.`{source}`"
            self._spark.sql(f"CALL ice.system.add_files('{self._name}', '{path}')")
        else:
            rows = self._spark.read.parquet(source)
            rows.sortWithinPartitions(partition).writeTo(f"ice.{self._name}").append()
        return int(self._last("snapshot_id"))

    def again(self, snapshot: int) -> None:
        """Roll back to a snapshot."""
        self._spark.sql(f"CALL ice.system.rollback_to_snapshot('{self._name}', {snapshot})")

    def merge(self, files: Sequence[str], keys: Sequence[str], partition: str) -> None:
        """Update the rows whose key exists, insert the others."""
        self._spark.read.parquet(*files).createOrReplaceTempView("incoming")
        same = " AND ".join(f"t.{name} = s.{name}" for name in (partition, *keys))
        self._spark.sql(
            f"MERGE INTO ice.{self._name} t USING incoming s ON {same} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def bulk(self, files: Sequence[str]) -> None:
        """Append the rows of Parquet files."""
        rows = self._spark.read.parquet(*files)
        rows.writeTo(f"ice.{self._name}").option("fanout-enabled", "true").append()

    def written(self) -> int:
        """Return the bytes of files that the latest snapshot added."""
        return int(self._last("summary['added-files-size']"))

    def _last(self, column: str) -> str:
        """Return the latest snapshot's value of a column."""
        snapshots = self._spark.table(f"ice.{self._name}.snapshots").orderBy("committed_at")
        return str(snapshots.selectExpr(column).collect()[-1][0])
