"""Write `spec/sql/spark_functions.json`: the functions of Spark that SQL of specs may call.

Names come from the registries of the Spark of this environment, and are added to those that are in
the file: run it under each release that is supported. What is refused is listed here, with why.
Not part of `make schemas`, since it starts Spark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_FILE: Final = Path(__file__).parents[1] / "framework" / "spec" / "sql" / "spark_functions.json"
_JAVA: Final = "it runs any method of Java, with the rights of the run"
_PLACE: Final = "it gives the paths and blocks of files on this machine"
_SESSION: Final = "it gives who runs it, where or by which release, not what the rows say"
_PACKAGE: Final = (
    "it runs code of a package that Spark does not bring, or reads a file that is named"
)
REFUSED: Final = {
    **dict.fromkeys(("java_method", "reflect", "try_reflect"), _JAVA),
    **dict.fromkeys(
        ("input_file_name", "input_file_block_start", "input_file_block_length"), _PLACE
    ),
    **dict.fromkeys(("current_user", "session_user", "user", "version"), _SESSION),
    **dict.fromkeys(("current_catalog", "current_database", "current_schema"), _SESSION),
    "python_worker_logs": "it gives what Python processes of the session have logged",
    **dict.fromkeys(("from_avro", "to_avro", "schema_of_avro"), _PACKAGE),
    **dict.fromkeys(("from_protobuf", "to_protobuf"), _PACKAGE),
    **dict.fromkeys(("from_xml", "schema_of_xml"), "an option of it names a file to read"),
}


def main() -> int:
    """Start Spark, ask its registries, write."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    found = set(json.loads(_FILE.read_text())["allowed"] if _FILE.exists() else ()) | _names(spark)
    spark.stop()
    write(found)
    return 0


def _names(spark: SparkSession) -> set[str]:
    """Return the names of all functions that are words, those of tables included."""
    root = spark._jvm  # noqa: SLF001 - the registry has no other door
    found: set[str] = set()
    for name in ("FunctionRegistry", "TableFunctionRegistry"):
        module = getattr(root.org.apache.spark.sql.catalyst.analysis, f"{name}$")
        listed = getattr(module, "MODULE$").builtin().listFunction()
        names = root.scala.collection.JavaConverters.seqAsJavaList(listed)
        found |= {str(each.funcName()) for each in names}
    return {name for name in found if name.isidentifier()}


def write(names: set[str]) -> None:
    """Write the list of what is allowed of the names, and of what is not."""
    lists = {"allowed": sorted(names - REFUSED.keys()), "refused": dict(sorted(REFUSED.items()))}
    _FILE.write_text(json.dumps(lists, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
