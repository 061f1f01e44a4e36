"""Rules of the section `catalog`, in the manner of `fault_cases`."""

from __future__ import annotations

from tests.unit.spec.fault_cases import BOOTSTRAP, Case

__all__ = ["CATALOG_CASES", "CATALOG_WARNINGS"]

_URI = "uri: thrift://host:9083"


def _case(rule: str, fields: str, suggestion: str | None = None) -> Case:
    """A sound spec's end, and then the section with these fields."""
    return Case(rule, BOOTSTRAP, f"{BOOTSTRAP}catalog: {{{fields}}}\n", suggestion)


CATALOG_CASES = [
    Case(
        "metastore-uri",
        BOOTSTRAP,
        f"{BOOTSTRAP}catalog: ➜{{type: hive}}\n",
        "uri: thrift://metastore:9083",
    ),
    _case("unknown-value", "type: ➜hiv", "hive"),
    _case("metastore-uri", "type: hive, uri: ➜'host:9083'"),
    _case("metastore-uri", "type: hive, uri: ➜'thrift://host'"),
    _case("metastore-uri", "type: hive, uri: ➜'thrift://me:secret@host:9083'"),
    _case("metastore-uri", "type: hive, uri: ➜'thrift://host:99999'"),
    _case("catalog-name", f"type: hive, {_URI}, table: ➜my-orders", "my_orders"),
    _case("catalog-name", f"type: hive, {_URI}, table: ➜'a.b'", "a_b"),
    _case("catalog-field", f"type: hive, {_URI}, region: ➜eu-central-1"),
    _case("catalog-field", "type: glue, uri: ➜thrift://host:9083"),
    _case("unknown-field", f"type: hive, {_URI}, ➜password: x"),
]

CATALOG_WARNINGS = [
    _case("catalog-database", f"type: hive, {_URI}, database: ➜lake", "nyc"),
]
