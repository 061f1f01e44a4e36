"""The catalog that a spec names, and the names of a table in it."""

from __future__ import annotations

from dataclasses import dataclass

from framework.hudi.table.properties import table_names
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.vocabulary import CatalogKind

__all__ = ["CatalogTarget", "catalog_of", "target_text"]

_DEFAULT_DATABASE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """Where a table is registered; names are in lower case, as catalogs store them.

    Attributes:
        kind: of the catalog.
        database: exists, or is created if `create_database`.
        table: the bare name; a merge-on-read table has two more.
        create_database: whether a missing database is created.
        support_timestamp: whether Hive's columns of times are `timestamp` and not `bigint`.
        uri: addresses of a Hive Metastore, joined by commas; None for AWS Glue.
        region, profile, endpoint, catalog_id: of AWS Glue; None for its client's defaults.
    """

    kind: CatalogKind
    database: str
    table: str
    create_database: bool = True
    support_timestamp: bool = False
    uri: str | None = None
    region: str | None = None
    profile: str | None = None
    endpoint: str | None = None
    catalog_id: str | None = None

    @property
    def place(self) -> str:
        """The catalog, for people: its kind and its address, if that is known."""
        if self.kind is CatalogKind.HIVE:
            return f"hive {self.uri}"
        return " ".join(filter(None, ("glue", self.region, self.catalog_id, self.endpoint)))


def target_text(target: CatalogTarget) -> str:
    """Return where a table is registered, as the end of a sentence."""
    return f"registered as {target.database}.{target.table} in {target.place}"


def catalog_of(spec: PipelineSpec) -> CatalogTarget | None:
    """Return where the table of a spec is registered; None without an enabled section."""
    found = spec.catalog
    if found is None or not found.enabled:
        return None
    database, table = table_names(spec.table.name)
    return CatalogTarget(
        kind=found.type,
        database=(found.database or database or _DEFAULT_DATABASE).lower(),
        table=(found.table or table).lower(),
        create_database=found.create_database,
        support_timestamp=found.support_timestamp,
        uri=found.uri,
        region=found.region,
        profile=found.profile,
        endpoint=found.endpoint,
        catalog_id=found.catalog_id,
    )
