"""Let Apache Hudi say what becomes of partition values and of the custom key generator.

    python tests/golden/make_key_partitions.py 1.2.0 hudi-spark3.5-bundle_2.12-1.2.0.jar

writes `keys-partitions-<release>.json` beside this file: partition values as they read back after
an insert and an upsert, by layout; and a table with one key and two partition columns after
upserts, SQL statements and an upgrade.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

LOG = logging.getLogger("make_key_partitions")
HERE = Path(__file__).parent
KEYGEN = "org.apache.hudi.keygen"
VALUES = (
    *("a%41b", "a%3ab", "50%", "a%b", "a=b", "p=z", "a:b", "a#b", "a[b", "a{b", "a?b", "a*b"),
    *("x y", "é", "😀", "a'b", 'a"b', "a+b", "a&b", "a^b", "__null__", "default", "~", "a\\b"),
)
ALL_SIMPLE = "a:SIMPLE,b:SIMPLE"
PINNED = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}
STATEMENTS = (
    "update {t} set v = 5 where id = 1",
    "insert into {t} (id, v, a, b) values (4, 1, 'x', 'y')",
    (
        "merge into {t} using (select 2 id, 'x' a, 'z' b, 9 v) s on {t}.id = s.id "
        "when matched then update set v = s.v"
    ),
    "delete from {t} where id = 3",
)


def main() -> None:
    """Write the findings of the release that is named on the command line."""
    logging.basicConfig(level=logging.WARNING)
    LOG.setLevel(logging.INFO)
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("release")
    arguments.add_argument("jar", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(options.jar, Path(scratch))
        judge = Judge(spark, Path(scratch))
        result = {
            "release": options.release,
            "hive": {value: judge.value(value, "true") for value in VALUES},
            "positional": {value: judge.value(value, "false") for value in VALUES},
            "sql": {
                "plain": judge.sql({}, ""),
                "session": judge.sql({"hoodie.datasource.write.partitionpath.field": ALL_SIMPLE}),
                "table-properties": judge.sql(
                    {}, f"'hoodie.datasource.write.partitionpath.field'='{ALL_SIMPLE}'"
                ),
            },
            "fields-with-types": judge.fields_with_types(),
            "upgraded": judge.upgraded(),
        }
        spark.stop()
    text = json.dumps(result, ensure_ascii=False, indent=1, sort_keys=True)
    path = HERE / f"keys-partitions-{options.release}.json"
    path.write_text(text + "\n", encoding="utf-8")


def session(jar: Path, scratch: Path) -> SparkSession:
    """Return a small local session with Hudi in it."""
    builder: Any = SparkSession.builder
    settings = {
        "spark.jars": str(jar),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.ui.enabled": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.master("local[1]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Judge:
    """Writes tables with one release of Apache Hudi and reads them back."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark = spark
        self.scratch = scratch
        self._tables = 0

    def value(self, value: str, hive: str) -> Any:
        """Return [folder, value read, rows found by a filter on it, version of the row]."""
        base = self._next()
        options = {
            **self._options("SimpleKeyGenerator", "p"),
            "hoodie.datasource.write.hive_style_partitioning": hive,
            "hoodie.datasource.write.partitionpath.urlencode": hive,
        }
        try:
            for version in (1, 2):
                frame = self.spark.createDataFrame([(1, value, version)], "id int, p string, v int")
                mode = "overwrite" if version == 1 else "append"
                frame.write.format("hudi").options(**options).mode(mode).save(base)
            found = self.spark.read.format("hudi").load(base)
            rows = found.select("_hoodie_partition_path", "p", "v").collect()
            matched = found.where(f"p = '{_quoted(value)}'").count()
        except Py4JJavaError as error:
            return {"error": reason(error)}
        return [[row[0], row[1], matched, row[2]] for row in rows]

    def sql(self, conf: dict[str, str], properties: str = "") -> dict[str, Any]:
        """Return what SQL statements do to a custom-keyed table, and its rows after them."""
        base = self._custom_table(ALL_SIMPLE)
        return self._statements(base, {**conf, **PINNED}, properties)

    def fields_with_types(self) -> Any:
        """Return the columns and rows of a version 6 table whose properties say `a:SIMPLE`."""
        base = self._custom_table(ALL_SIMPLE)
        file = Path(base) / ".hoodie" / "hoodie.properties"
        text = file.read_text(encoding="utf-8")
        plain, typed = "hoodie.table.partition.fields=a,b", "a\\:SIMPLE,b\\:SIMPLE"
        file.write_text(text.replace(plain, f"hoodie.table.partition.fields={typed}"))
        file.with_name(".hoodie.properties.crc").unlink(missing_ok=True)
        try:
            frame = self.spark.read.format("hudi").load(base)
            return {"partition": sorted(frame.where("a = 'x'").columns), "rows": frame.count()}
        except Exception as error:  # noqa: BLE001 - whatever Spark says is the finding
            return {"error": str(error).splitlines()[0][:200]}

    def upgraded(self) -> dict[str, Any]:
        """Return properties and rows after upserts and SQL without pins: at the newest version."""
        base = self._custom_table(ALL_SIMPLE)
        options = self._options("CustomKeyGenerator", ALL_SIMPLE)
        unpinned = {k: v for k, v in options.items() if k not in PINNED}
        for row in ((1, "x", "y", 2), (2, "x", "z", 3)):
            frame = self.spark.createDataFrame([row], "id int, a string, b string, v int")
            frame.write.format("hudi").options(**unpinned).mode("append").save(base)
        text = (Path(base) / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
        pairs = dict(line.split("=", 1) for line in text.splitlines() if line[0] != "#")
        kept = {k: v for k, v in pairs.items() if "table.version" in k or "partition.f" in k}
        return {"properties": kept, **self._statements(base, {}, "")}

    def _custom_table(self, fields: str) -> str:
        """Write a table of three rows with key id and partition columns a and b."""
        base = self._next()
        rows = [(1, "x", "y", 1), (2, "x", "z", 1), (3, "w", "y", 1)]
        frame = self.spark.createDataFrame(rows, "id int, a string, b string, v int")
        options = self._options("CustomKeyGenerator", fields)
        frame.write.format("hudi").options(**options).mode("overwrite").save(base)
        return base

    def _statements(self, base: str, conf: dict[str, str], properties: str) -> dict[str, Any]:
        """Run each statement on the table and return how it went."""
        name = f"t{self._tables}"
        clause = f"tblproperties ({properties})" if properties else ""
        self.spark.sql(f"create table {name} using hudi location '{base}' {clause}")
        for key, value in {**conf, "hoodie.metadata.enable": "false"}.items():
            self.spark.conf.set(key, value)
        outcomes = {s.split()[0]: self._outcome(s.format(t=name)) for s in STATEMENTS}
        for key in conf:
            self.spark.conf.unset(key)
        columns = ("_hoodie_record_key", "_hoodie_partition_path", "v")
        rows = self.spark.read.format("hudi").load(base).select(*columns).collect()
        LOG.info("%s %s", name, outcomes)
        return {"outcomes": outcomes, "rows": sorted(list(row) for row in rows)}

    def _outcome(self, statement: str) -> str:
        """Run one statement; return `ok` or the reason why not."""
        try:
            self.spark.sql(statement)
        except Py4JJavaError as error:
            return reason(error)
        return "ok"

    def _next(self) -> str:
        """Return a new place for a table."""
        self._tables += 1
        return str(self.scratch / f"t{self._tables}")

    def _options(self, generator: str, fields: str) -> dict[str, str]:
        """Return the options of a writer that keeps a table at version 6."""
        return {
            "hoodie.table.name": "golden",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "v",
            "hoodie.datasource.write.partitionpath.field": fields,
            "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}.{generator}",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.metadata.enable": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.upsert.shuffle.parallelism": "1",
            **PINNED,
        }


def _quoted(value: str) -> str:
    """Return text for the inside of a Spark SQL string literal."""
    return value.replace("\\", "\\\\").replace("'", "\\'")


def reason(error: Py4JJavaError) -> str:
    """Return the first words of the innermost cause."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = str(cause.getMessage()).splitlines()[0]
    return f"{cause.getClass().getSimpleName()}: {message[:160]}"


if __name__ == "__main__":
    main()
