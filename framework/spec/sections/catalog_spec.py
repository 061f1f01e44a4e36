"""The section `catalog`: where a table is registered after each run."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StrictStr

from framework.spec.sections.fields import Flag, SpecModel, Text, fault
from framework.vocabulary import CatalogKind

__all__ = ["CatalogSpec"]

_NAME: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_URI: Final = re.compile(r"thrift://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})", re.ASCII)
_LAST_PORT: Final = 65_535


def _name(name: str) -> str:
    """Return the name, if every catalog accepts it."""
    if _NAME.fullmatch(name):
        return name
    message = "a catalog's names have letters, digits and `_` only"
    raise fault("catalog-name", message, re.sub("[^A-Za-z0-9_]+", "_", name) or None)


def _uris(text: str) -> str:
    """Return the addresses of a metastore, if each is `thrift://host:port`."""
    for uri in text.split(","):
        found = _URI.fullmatch(uri.strip())
        if found is None or not 0 < int(found[2]) <= _LAST_PORT:
            message = "a metastore's address is `thrift://host:port`; several are joined by commas"
            raise fault("metastore-uri", message)
    return text


Name = Annotated[StrictStr, AfterValidator(_name)]
Uris = Annotated[StrictStr, AfterValidator(_uris)]


class CatalogSpec(SpecModel):
    """The catalog in which the table is registered, as Apache Hudi's sync registers it."""

    type: CatalogKind = Field(description="The kind of catalog: `hive` or `glue`.")
    enabled: Flag = Field(default=True, description="Whether runs register the table.")
    database: Name | None = Field(
        default=None,
        description="The database; by default that of the table's name, or else `default`.",
    )
    table: Name | None = Field(
        default=None, description="The table's name in the catalog; by default that of the table."
    )
    create_database: Flag = Field(
        default=True, description="Whether a missing database is created."
    )
    support_timestamp: Flag = Field(
        default=False,
        description="Whether Hive's columns of times are `timestamp`; otherwise they are `bigint`,"
        " which is Apache Hudi's default.",
    )
    uri: Uris | None = Field(
        default=None,
        description="The address of the Hive Metastore; required by `hive`.",
        examples=["thrift://metastore:9083"],
    )
    region: Text | None = Field(default=None, description="The region of AWS Glue.")
    profile: Text | None = Field(
        default=None, description="The profile of the AWS configuration files."
    )
    endpoint: Text | None = Field(default=None, description="The URL of AWS Glue, if not AWS's.")
    catalog_id: Text | None = Field(
        default=None, description="The id of the Glue catalog, if not the account's own."
    )
