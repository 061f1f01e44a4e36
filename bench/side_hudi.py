"""Apache Hudi's METADATA_ONLY bootstrap, tuned and with defaults, and its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from queries import reader
from spark_session import session

__all__ = ["start"]

EXTENSIONS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
METADATA_ONLY = {
    "hoodie.datasource.write.operation": "bootstrap",
    "hoodie.bootstrap.mode.selector": (
        "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
    ),
    "hoodie.datasource.write.hive_style_partitioning": "true",
}
TUNED = {
    "hoodie.metadata.enable": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.embed.timeline.server": "false",
}
V6 = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}
CLEANING = {
    **V6,
    "hoodie.clean.policy": "KEEP_LATEST_COMMITS",
    "hoodie.clean.commits.retained": "1",
}
DEFAULT_KEYS = 60_000
"""Default keys per filter in Apache Hudi; tuned, small files get smaller filters."""

VARIANTS: Mapping[str, Mapping[str, str]] = {
    "bloom": {**TUNED, "hoodie.parquet.compression.codec": "snappy"},
    "bloom-zstd": {**TUNED, "hoodie.parquet.compression.codec": "zstd"},
    "no-bloom": {
        **TUNED,
        "hoodie.parquet.compression.codec": "snappy",
        "hoodie.parquet.bloom.filter.enabled": "false",
    },
    "no-bloom-zstd": {
        **TUNED,
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.parquet.bloom.filter.enabled": "false",
    },
    "defaults": {"hoodie.metadata.index.column.stats.enable": "false"},
}
"""`defaults` disables column statistics: with them 1.2.0 fails after writing all skeletons."""


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session with the bundle; actions write, service and query tables."""
    spark = session(settings, {**EXTENSIONS, "spark.jars": settings["jar"]})

    def bootstrap(target: str, variant: str, **facts: Any) -> None:
        """Run the metadata-only bootstrap in one of its variants."""
        options = _options(facts)
        if variant != "defaults":
            options["hoodie.bootstrap.parallelism"] = settings["cores"]
            entries = min(DEFAULT_KEYS, facts["rows_per_file"])
            options["hoodie.index.bloom.num_entries"] = str(entries)
        empty = spark.createDataFrame([], StructType([]))
        writer = empty.write.format("hudi").options(**METADATA_ONLY, **options)
        writer.options(**VARIANTS[variant]).mode("overwrite").save(target)

    def write(target: str, files: list[str], options: dict[str, str]) -> None:
        """Write the rows of Parquet files into a table."""
        rows = spark.read.parquet(*files)
        rows.write.format("hudi").options(**TUNED, **options).mode("append").save(target)

    def since(location: str, begin: str) -> DataFrame:
        """Open the rows written to a table after an instant."""
        options = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": begin,
        }
        return spark.read.format("hudi").options(**options).load(location)

    return {
        "bootstrap": bootstrap,
        "write": write,
        **_services(spark),
        **reader(spark.read.format("hudi").load, since),
    }


def _services(spark: SparkSession) -> Mapping[str, Callable[..., object]]:
    """Return the actions `compaction`, `clustering` and `plan_clean`."""

    def procedure(name: str, target: str, **arguments: str) -> None:
        """Schedule and execute a service of a table at once."""
        named = {"path": target, "op": "scheduleAndExecute", **arguments}
        words = ", ".join(f"{key} => '{value}'" for key, value in named.items())
        options = ",".join(f"{key}={value}" for key, value in {**TUNED, **V6}.items())
        spark.sql(f"call {name}({words}, options => '{options}')").collect()

    def compaction(target: str, by: list[str]) -> None:
        """Compact all log files."""
        del by
        procedure("run_compaction", target)

    def clustering(target: str, by: list[str]) -> None:
        """Sort the rows of each partition."""
        procedure("run_clustering", target, order=",".join(by))

    def plan_clean(target: str) -> None:
        """Schedule a clean that keeps one commit by a client: procedures clean at once."""
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no other access
        context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(
            spark.sparkContext._jsc  # noqa: SLF001
        )
        config = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(target)
        properties = jvm.java.util.Properties()
        for key, value in {**TUNED, **CLEANING}.items():
            properties.setProperty(key, value)
        built = config.forTable("bench").withProps(properties).build()
        client = jvm.org.apache.hudi.client.SparkRDDWriteClient(context, built)
        try:
            kind = jvm.org.apache.hudi.common.model.TableServiceType.CLEAN
            client.scheduleTableService(jvm.org.apache.hudi.common.util.Option.empty(), kind)
        finally:
            client.close()

    return {"compaction": compaction, "clustering": clustering, "plan_clean": plan_clean}


def _options(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the options for the source, the keys and the partition."""
    generator = "Simple" if len(facts["keys"]) == 1 else "Complex"
    generator_class = f"org.apache.hudi.keygen.{generator}KeyGenerator"
    return {
        "hoodie.table.name": "bench",
        "hoodie.bootstrap.base.path": facts["source"],
        "hoodie.bootstrap.keygen.class": generator_class,
        "hoodie.datasource.write.keygenerator.class": generator_class,
        "hoodie.datasource.write.recordkey.field": ",".join(facts["keys"]),
        "hoodie.datasource.write.partitionpath.field": facts["partition"],
    }
