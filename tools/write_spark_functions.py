"""Write `spec/sql/spark_functions.json`: the functions of Spark that SQL of specs may call.

Adds the names in the registries of this environment's Spark to those in the file: run it under
each supported release. Refused functions are listed here with the reason. Not part of
`make schemas`, since it starts Spark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_FILE: Final = Path(__file__).parents[1] / "framework" / "spec" / "sql" / "spark_functions.json"
_JAVA: Final = "it runs any Java method, with the permissions of the run"
_PLACE: Final = "it returns paths and blocks of files on this machine"
_SESSION: Final = "it returns the user, the place or the release of the run, not values of the rows"
_PACKAGE: Final = "it runs code of a package that is not part of Spark, or reads a named file"
REFUSED: Final = {
    **dict.fromkeys(("java_method", "reflect", "try_reflect"), _JAVA),
    **dict.fromkeys(
        ("input_file_name", "input_file_block_start", "input_file_block_length"), _PLACE
    ),
    **dict.fromkeys(("current_user", "session_user", "user", "version"), _SESSION),
    **dict.fromkeys(("current_catalog", "current_database", "current_schema"), _SESSION),
    "python_worker_logs": "it returns logs of the session's Python processes",
    **dict.fromkeys(("from_avro", "to_avro", "schema_of_avro"), _PACKAGE),
    **dict.fromkeys(("from_protobuf", "to_protobuf"), _PACKAGE),
    **dict.fromkeys(("from_xml", "schema_of_xml"), "one of its options names a file to read"),
}


def main() -> int:
    """Start Spark, read its registries, and write the file."""
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
    """Return the names of all functions that are identifiers, including table functions."""
    root = spark._jvm  # noqa: SLF001 - the registry has no other API
    found: set[str] = set()
    for name in ("FunctionRegistry", "TableFunctionRegistry"):
        module = getattr(root.org.apache.spark.sql.catalyst.analysis, f"{name}$")
        listed = getattr(module, "MODULE$").builtin().listFunction()
        names = root.scala.collection.JavaConverters.seqAsJavaList(listed)
        found |= {str(each.funcName()) for each in names}
    return {name for name in found if name.isidentifier()}


def write(names: set[str]) -> None:
    """Write the lists of allowed and refused functions."""
    lists = {"allowed": sorted(names - REFUSED.keys()), "refused": dict(sorted(REFUSED.items()))}
    _FILE.write_text(json.dumps(lists, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
