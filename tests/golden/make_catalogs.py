"""Make `catalogs/hudi-1.2.0.json`: what Apache Hudi's own sync writes into a Hive Metastore.

.venv-judge/bin/python tests/golden/make_catalogs.py (Linux and root, for a network namespace)
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.catalogs.connect import connect
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import CatalogKind
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.metastore import metastore, metastore_conf
from tests.support.catalogs import SCHEMA

RELEASE = "1.2.0"
FILE = Path(__file__).parent / "catalogs" / f"hudi-{RELEASE}.json"
LAKE = "/lake"
KEYGENS = ("NonpartitionedKeyGenerator", "SimpleKeyGenerator", "ComplexKeyGenerator")
NAMES = ("cow", "plain", "mor", "mor_ro", "mor_rt", "dropped")


def main() -> None:
    """Write the tables, sync them, and keep what the metastore returns."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        with metastore(root / "metastore") as uri:
            conf = metastore_conf(uri)
            with Judge(RELEASE, root / "judge", timeout_s=900, conf=conf) as judge:
                made = Maker(judge, root, uri)
                made.all()
            found = {name: entry(uri, name) for name in NAMES}
        text = json.dumps(found, indent=1).replace(str(root), LAKE)
    FILE.write_text(text + "\n", encoding="utf-8")


class Maker:
    """Writes tables with Apache Hudi, whose writer syncs them."""

    def __init__(self, judge: Judge, root: Path, uri: str) -> None:
        self.judge = judge
        self.root = root
        self.uri = uri

    def all(self) -> None:
        """Write every table."""
        self.write("cow", [(1, "a b:c/d", 2024), (2, "eu", 2023)], ("year", "region"))
        self.write("cow", [(1, "eu", 2023), (5, "eu", 2023)], ("year", "region"))
        self.write("plain", [(1, "eu", 2024)], ())
        merge = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
        self.write("mor", [(1, "eu", 2024)], ("region",), merge)
        self.write("dropped", [(1, "eu", 2024), (2, "us", 2024)], ("region",))
        delete = {
            "hoodie.datasource.write.operation": "delete_partition",
            "hoodie.datasource.write.partitions.to.delete": "region=us",
        }
        self.write("dropped", [(2, "us", 2024)], ("region",), delete)

    def write(
        self,
        name: str,
        keys: list[tuple[int, str, int]],
        partition: tuple[str, ...],
        more: dict[str, str] | None = None,
    ) -> None:
        """Write rows (id, region, year) into a table."""
        batch = self.root / "batch.parquet"
        pq.write_table(pa.Table.from_pylist([row(*each) for each in keys], SCHEMA), batch)
        options = {
            **KEEP_VERSION_6,
            "hoodie.table.name": name,
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts_order",
            "hoodie.datasource.write.partitionpath.field": ",".join(partition),
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.datasource.write.keygenerator.class": (
                f"org.apache.hudi.keygen.{KEYGENS[len(partition)]}"
            ),
            "hoodie.write.complex.keygen.validation.enable": "false",
            "hoodie.datasource.hive_sync.enable": "true",
            "hoodie.datasource.hive_sync.mode": "hms",
            "hoodie.datasource.hive_sync.metastore.uris": self.uri,
            "hoodie.datasource.hive_sync.database": "shop",
            "hoodie.datasource.hive_sync.table": name,
            "hoodie.datasource.hive_sync.partition_fields": ",".join(partition),
            **(more or {}),
        }
        location = str(self.root / name)
        self.judge.ask("write", location=location, batch=str(batch), options=options)


def row(key: int, region: str, year: int) -> dict[str, Any]:
    """Return a row with a value in each column."""
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    return {
        "id": key,
        "region": region,
        "b": True,
        "i": 1,
        "f": 1.5,
        "d": 2.5,
        "bin": b"x",
        "day": moment.date(),
        "ts": moment,
        "ntz": moment.replace(tzinfo=None),
        "dec": Decimal("1.250"),
        "Arr": [{"X": 1, "y": "a"}],
        "m": {"k": [1]},
        "st": {"Nest": {"q": Decimal("1.5000000000")}, "t": moment},
        "year": year,
        "ts_order": key,
    }


def entry(uri: str, name: str) -> dict[str, Any]:
    """Return what the metastore has of a table."""
    target = CatalogTarget(kind=CatalogKind.HIVE, database="shop", table=name, uri=uri)
    with connect(target) as catalog:
        table = catalog.table("shop", name)
        assert table is not None
        parts = sorted(catalog.partitions(table, None), key=lambda each: each.values)
    return {
        "location": table.location,
        "columns": [[c.name, c.type] for c in table.columns],
        "partition_columns": [[c.name, c.type] for c in table.partition_columns],
        "input_format": table.input_format,
        "output_format": table.output_format,
        "serde": table.serde,
        "serde_properties": dict(sorted(table.serde_properties.items())),
        "properties": dict(sorted(table.properties.items())),
        "partitions": [{"values": list(p.values), "location": p.location} for p in parts],
    }


if __name__ == "__main__":
    main()
