"""Let Apache Hudi make the golden vectors of record keys: `keys-<release>.json` beside this file.

Run with PySpark 3.5 and one Hudi bundle at a time:

    python tests/golden/make_keys.py 1.2.0 hudi-spark3.5-bundle_2.12-1.2.0.jar

Each release writes small tables with each key generator, by each way that Hudi writes, and the
keys are read back from the tables: nothing here knows what a key should look like.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

LOG = logging.getLogger("make_keys")
HERE = Path(__file__).parent
KEYGEN = "org.apache.hudi.keygen"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Column -> (Arrow type, values as JSON can hold them). Dates are days since 1970-01-01,
# timestamps microseconds, decimals text.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k_string": (
        pa.string(),
        [
            "a",
            "é",
            "日本",
            "😀",
            " ",
            " a ",
            "a,b",
            "a:b",
            "x/y",
            "null",
            "%41",
            "k_int32:1,b",
            "'\"\\",
        ],
    ),
    "k_int8": (pa.int8(), [-128, -1, 0, 1, 127]),
    "k_int16": (pa.int16(), [-32768, -1, 0, 10, 32767]),
    "k_int32": (pa.int32(), [-(2**31), -1000, -1, 0, 1, 999, 1000, 2**31 - 1]),
    "k_int64": (pa.int64(), [-(2**63), -1, 0, 1, 10**15, 2**63 - 1]),
    "k_boolean": (pa.bool_(), [True, False]),
    "k_date": (pa.date32(), [0, -1, 19782, -719162, -141428, -141427, 2932896, 2932897, -719529]),
    "k_decimal_9_2": (pa.decimal128(9, 2), ["0.00", "1.50", "-1.50", "0.01", "1234567.89"]),
    "k_decimal_18_0": (pa.decimal128(18, 0), ["0", "7", "-100", "999999999999999999"]),
    "k_decimal_18_6": (pa.decimal128(18, 6), ["0.000000", "0.000001", "-0.000010", "1.000000"]),
    "k_decimal_38_0": (pa.decimal128(38, 0), ["0", "9" * 38, "-" + "9" * 38]),
    "k_decimal_38_10": (
        pa.decimal128(38, 10),
        ["0.0000000000", "0.0000000001", "-0.0000001000", "0.0000010000", "9" * 28 + ".1234567890"],
    ),
}
UNSTABLE: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k_float": (pa.float32(), [1.0, 0.1, -0.0, 1e10, 16777216.0]),
    "k_double": (pa.float64(), [1.0, 0.1, -0.0, 1e10, 123456789.125]),
    "k_timestamp": (pa.timestamp("us", tz="UTC"), [0, 1577836800123456, 1577836800000000, -1]),
    "k_timestamp_ntz": (pa.timestamp("us"), [0, 1577836800123456, 1577836800000000]),
    "k_binary": (pa.binary(), ["a", "é"]),
}
EMPTINESS: list[tuple[str, str | None, str | None]] = [
    ("null", None, None),
    ("empty", "", ""),
    ("null-part", None, "b"),
    ("empty-part", "", "b"),
    ("literal-null", "__null__", "b"),
    ("literal-empty", "__empty__", "b"),
    ("simple-literal-null", "__null__", "__null__"),
    ("simple-literal-empty", "__empty__", "__empty__"),
]


def main() -> None:
    """Write the vectors of the release that is named on the command line."""
    logging.basicConfig(level=logging.WARNING)
    LOG.setLevel(logging.INFO)
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("release")
    arguments.add_argument("jar", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(options.jar, Path(scratch))
        judge = Judge(spark, Path(scratch), options.release)
        result = vectors(judge)
        spark.stop()
    text = json.dumps(result, ensure_ascii=False, indent=1, sort_keys=True)
    (HERE / f"keys-{options.release}.json").write_text(text + "\n", encoding="utf-8")


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
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={scratch}",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.ui.enabled": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.master("local[1]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def vectors(judge: Judge) -> dict[str, Any]:
    """Return everything that one release says about keys."""
    everything = {**COLUMNS, **UNSTABLE}
    result: dict[str, Any] = {
        "release": judge.release,
        "columns": {n: {"type": str(t), "values": v} for n, (t, v) in everything.items()},
        "simple": {n: judge.simple(n, everything[n]) for n in everything},
        "composite": {g: judge.composite(g) for g in ("complex", "custom", "nonpartitioned")},
        "emptiness": {
            name: {g: judge.emptiness(g, a, b) for g in GENERATORS} for name, a, b in EMPTINESS
        },
        "properties": judge.properties,
    }
    return result


GENERATORS: dict[str, dict[str, str]] = {
    "simple": {"class": "SimpleKeyGenerator", "partition": "p"},
    "custom-single": {"class": "CustomKeyGenerator", "partition": "p:SIMPLE,q:SIMPLE"},
    "nonpartitioned-single": {"class": "NonpartitionedKeyGenerator", "partition": ""},
    "complex": {"class": "ComplexKeyGenerator", "partition": "p"},
    "custom": {"class": "CustomKeyGenerator", "partition": "p:SIMPLE,q:SIMPLE"},
    "nonpartitioned": {"class": "NonpartitionedKeyGenerator", "partition": ""},
}
PATHS = ("upsert", "bulk-insert-rows", "bulk-insert-records", "bootstrap")


class Judge:
    """Writes tables with one release of Apache Hudi and reads their keys back."""

    def __init__(self, spark: SparkSession, scratch: Path, release: str) -> None:
        self.spark = spark
        self.scratch = scratch
        self.release = release
        self.properties: dict[str, dict[str, str]] = {}
        self._tables = 0

    def simple(self, name: str, column: tuple[pa.DataType, list[Any]]) -> dict[str, Any]:
        """Return, by write path, the key texts of one column under the three bare generators."""
        data = table_of({name: column})
        found: dict[str, Any] = {}
        for path in PATHS:
            generators = ("simple",) if path != "upsert" else ("simple", "nonpartitioned-single")
            for generator in (*generators, *(("custom-single",) if path == "upsert" else ())):
                found[f"{generator}/{path}"] = self.keys(data, [name], generator, path)
        return found

    def composite(self, generator: str) -> dict[str, Any]:
        """Return, by write path, the composite key texts of all stable columns together.

        The row writer of 1.2.0 cannot write an int8 column at all, so it is left out there.
        """
        found = {}
        for path in PATHS:
            left_out = "k_int8" if path.endswith("rows") else ""
            columns = {n: c for n, c in COLUMNS.items() if n != left_out}
            found[path] = self.keys(table_of(columns), list(columns), generator, path)
        return found

    def emptiness(self, generator: str, first: str | None, second: str | None) -> dict[str, Any]:
        """Return, by write path, the key of one row with null or empty parts."""
        fields = {"a": (pa.string(), [first]), "b": (pa.string(), [second])}
        single = generator in {"simple", "custom-single", "nonpartitioned-single"}
        keys = ["a"] if single else ["a", "b"]
        return {p: self.keys(table_of(fields), keys, generator, p) for p in PATHS}

    def keys(self, data: pa.Table, keys: list[str], generator: str, path: str) -> Any:
        """Return the key text of each row in order, or the error's text."""
        self._tables += 1
        base = self.scratch / f"t{self._tables}"
        source = self.scratch / f"s{self._tables}"
        try:
            self.write(data, keys, generator, (path, source, base))
            rows = self.spark.read.format("hudi").load(str(base))
            found = {r[0]: r[1] for r in rows.select("id", "_hoodie_record_key").collect()}
            self.note_properties(f"{generator}/{path}", base)
            return [found.get(i) for i in range(data.num_rows)]
        except Py4JJavaError as error:
            return {"error": reason(error)}
        except Exception as error:  # noqa: BLE001 - whatever Spark says is the finding
            return {"error": str(error).splitlines()[0][:200]}
        finally:
            LOG.info("%s %s %s %s", self._tables, generator, path, keys[0])
            shutil.rmtree(base, ignore_errors=True)
            shutil.rmtree(source, ignore_errors=True)

    def write(
        self, data: pa.Table, keys: list[str], generator: str, how: tuple[str, Path, Path]
    ) -> None:
        """Write `data` to a table, by the path `how[0]`, from files in `how[1]` into `how[2]`."""
        path, source, base = how
        hive = source / "p=1" / "q=x" if "custom" in generator else source / "p=1"
        folder = source if generator.startswith("nonpart") else hive
        folder.mkdir(parents=True)
        pq.write_table(data, folder / "a.parquet", store_schema=False)
        frame = self.spark.read.parquet(str(source))
        options = self.options(keys, generator, path)
        if path == "bootstrap":
            options["hoodie.bootstrap.base.path"] = str(source)
            frame = self.spark.createDataFrame([], StructType([]))
        writer = frame.write.format("hudi").options(**options)
        writer.mode("overwrite").save(str(base))

    def options(self, keys: list[str], generator: str, path: str) -> dict[str, str]:
        """Return the options of one write."""
        chosen = GENERATORS[generator]
        operation = "upsert" if path == "upsert" else path.partition("-in")[0].replace("-", "_")
        options = {
            "hoodie.table.name": "golden",
            "hoodie.datasource.write.recordkey.field": ",".join(keys),
            "hoodie.datasource.write.partitionpath.field": chosen["partition"],
            "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}.{chosen['class']}",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.precombine.field": "id",
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.row.writer.enable": str(path.endswith("rows")).lower(),
            "hoodie.metadata.enable": "false",
            "hoodie.write.table.version": "6",
            "hoodie.write.auto.upgrade": "false",
            "hoodie.upsert.shuffle.parallelism": "1",
            "hoodie.bulkinsert.shuffle.parallelism": "1",
            "hoodie.bootstrap.parallelism": "1",
            "hoodie.embed.timeline.server": "false",
        }
        if path.startswith("bulk"):
            options["hoodie.datasource.write.operation"] = "bulk_insert"
        if path == "bootstrap":
            options["hoodie.bootstrap.keygen.class"] = f"{KEYGEN}.{chosen['class']}"
            options["hoodie.bootstrap.mode.selector"] = (
                "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
            )
        return options

    def note_properties(self, case: str, base: Path) -> None:
        """Keep what Hudi wrote into `hoodie.properties` about keys and partitions."""
        lines = (base / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8").splitlines()
        pairs = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
        words = ("keygen", "recordkey", "partition", "precombine", "version")
        self.properties[case] = {
            k: v for k, v in sorted(pairs.items()) if any(word in k for word in words)
        }


def reason(error: Py4JJavaError) -> str:
    """Return the first words of the innermost cause."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = str(cause.getMessage()).splitlines()[0]
    return f"{cause.getClass().getSimpleName()}: {message[:200]}"


def table_of(columns: dict[str, tuple[pa.DataType, list[Any]]]) -> pa.Table:
    """Return the columns side by side beside `id`; shorter ones begin again."""
    rows = max(len(values) for _, values in columns.values())
    arrays: dict[str, pa.Array] = {"id": pa.array(range(rows), pa.int32())}
    for name, (kind, values) in columns.items():
        cycled = [values[i % len(values)] for i in range(rows)]
        arrays[name] = array_of(kind, cycled)
    return pa.table(arrays)


def array_of(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Return JSON values as an Arrow array of `kind`."""
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(v) for v in values], kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        moments = [EPOCH + timedelta(microseconds=v) for v in values]
        naive = [m.replace(tzinfo=None) for m in moments]
        return pa.array(moments if kind.tz else naive, kind)
    if pa.types.is_binary(kind):
        return pa.array([v.encode() for v in values], kind)
    return pa.array(values, kind)


if __name__ == "__main__":
    main()
