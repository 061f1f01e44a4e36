"""Plain Spark: the rewrite that a bootstrap avoids, and the scans to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from queries import reader
from spark_session import session

__all__ = ["start"]


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session; actions are `bootstrap` (a rewrite), `open` and `query`."""
    spark = session(settings)

    def bootstrap(source: str, target: str, partition: str, **_: object) -> None:
        """Read all columns and write them again, partitioned, as snappy Parquet."""
        frame = spark.read.parquet(source)
        frame.write.partitionBy(partition).option("compression", "snappy").parquet(target)

    return {"bootstrap": bootstrap, **reader(spark.read.parquet)}
