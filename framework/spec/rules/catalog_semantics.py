"""Rules of the section `catalog` across fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from framework.spec.rules.lookup import Lookup
from framework.vocabulary import CatalogKind

__all__ = ["CatalogSemantics"]

_OWN: Final[Mapping[CatalogKind, tuple[str, ...]]] = {
    CatalogKind.HIVE: ("uri",),
    CatalogKind.GLUE: ("region", "profile", "endpoint", "catalog_id"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSemantics(Lookup):
    """Validator of `catalog` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        kind = self._at("catalog", "type")
        if kind not in set(CatalogKind):
            return
        self._check_database()
        if kind == CatalogKind.HIVE and not self._has("catalog.uri"):
            suggestion = "uri: thrift://metastore:9083"
            message = "a Hive Metastore needs its address"
            self._note("metastore-uri", "catalog", message, suggestion)
        for other, names in _OWN.items():
            for name in names if other != kind else ():
                if self._has(f"catalog.{name}"):
                    message = f"`{name}` belongs to `type: {other}`"
                    self._note("catalog-field", f"catalog.{name}", message)

    def _check_database(self) -> None:
        """Warn of another database than the table's own."""
        name, database = self._at("table", "name"), self._at("catalog", "database")
        if not isinstance(name, str) or not isinstance(database, str) or "." not in name:
            return
        own = name.partition(".")[0]
        if own.lower() != database.lower():
            self.findings.warn(
                "spec/catalog-database",
                self.positions.span("catalog.database"),
                f"Apache Hudi cannot write by name to a table of `{own}` in another database",
                key_path="catalog.database",
                suggestion=own,
            )
