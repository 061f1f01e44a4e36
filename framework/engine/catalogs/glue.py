"""The AWS Glue Data Catalog by boto3; credentials come from the client's own chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from framework.engine.catalogs.port import batches, catalog_error
from framework.errors import CatalogError
from framework.plan.catalogs.registered import CatalogColumn, CatalogPartition, RegisteredTable
from framework.plan.catalogs.sync_plan import TableSync
from framework.plan.catalogs.target import CatalogTarget

__all__ = ["GlueCatalog", "glue_catalog"]

_ADD: Final = 100
_DROP: Final = 25
_GET: Final = 1000
"""Partitions in one request at most, by the service's limits."""
_EXTERNAL: Final = "EXTERNAL_TABLE"
_NOT_FOUND: Final = "EntityNotFoundException"
_EXISTS: Final = "AlreadyExistsException"
_INPUT: Final = (
    *("Name", "Description", "Owner", "Retention", "StorageDescriptor", "PartitionKeys"),
    *("TableType", "Parameters", "LastAccessTime", "LastAnalyzedTime", "TargetTable"),
)
"""Members of a table that a request may send back."""


@contextmanager
def glue_catalog(target: CatalogTarget) -> Iterator[GlueCatalog]:
    """Yield a client, which makes no request yet.

    Raises:
        CatalogError: `catalog/unreachable`: there is no such profile, or no region.
    """
    try:
        session = boto3.Session(profile_name=target.profile, region_name=target.region)
        config = Config(retries={"mode": "standard", "max_attempts": 5})
        client = session.client("glue", endpoint_url=target.endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise _unreachable(target.place, error) from error
    try:
        yield GlueCatalog(client, target)
    finally:
        client.close()


class GlueCatalog:
    """A client for one catalog.

    Attributes:
        client: of boto3.
        place: the catalog, for errors.
    """

    def __init__(self, client: Any, target: CatalogTarget) -> None:
        self.client = client
        self.place = target.place
        self._id = {} if target.catalog_id is None else {"CatalogId": target.catalog_id}

    def has_database(self, name: str) -> bool:
        """Return whether there is a database of that name."""
        return self._found("get_database", Name=name) is not None

    def create_database(self, name: str) -> None:
        """Create a database."""
        self._ask("create_database", allow=_EXISTS, DatabaseInput={"Name": name})

    def table(self, database: str, name: str) -> RegisteredTable | None:
        """Return a table; None if there is none."""
        found = self._found("get_table", DatabaseName=database, Name=name)
        return None if found is None else _registered(found["Table"])

    def partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[CatalogPartition]:
        """Yield the partitions with these values that exist; None means all."""
        for each in self._partitions(table, values):
            location = each["StorageDescriptor"].get("Location", "")
            yield CatalogPartition(values=tuple(each["Values"]), location=location)

    def put_table(self, table: RegisteredTable, *, creates: bool, cascades: bool) -> None:
        """Create or alter a table; no version of the old one is kept, as in Apache Hudi's sync."""
        if creates:
            made = _described({"Name": table.name, "TableType": _EXTERNAL}, table)
            self._ask("create_table", DatabaseName=table.database, TableInput=made)
            return
        names = {"DatabaseName": table.database, "Name": table.name}
        found = self._ask("get_table", **names)["Table"]
        kept = {name: found[name] for name in _INPUT if name in found}
        made = _described(kept, table)
        self._ask("update_table", DatabaseName=table.database, TableInput=made, SkipArchive=True)
        if cascades:
            self._put(table, "update", list(self.partitions(table, None)))

    def put_partitions(self, sync: TableSync) -> None:
        """Add, change and drop the partitions of a sync."""
        self._put(sync.table, "create", sync.add)
        self._put(sync.table, "update", sync.change)
        for some in batches(sync.drop, _DROP):
            gone = [{"Values": list(each.values)} for each in some]
            answer = self._ask("batch_delete_partition", **_of(sync.table), PartitionsToDelete=gone)
            self._check(sync.table, answer, allow=_NOT_FOUND)

    def _put(self, table: RegisteredTable, verb: str, parts: Sequence[CatalogPartition]) -> None:
        """Create or update partitions, with the columns and formats of their table."""
        described = _described({}, table)["StorageDescriptor"]
        for some in batches(parts, _ADD):
            inputs = [
                {
                    "Values": list(each.values),
                    "StorageDescriptor": {**described, "Location": each.location},
                }
                for each in some
            ]
            if verb == "create":
                answer = self._ask(
                    "batch_create_partition", **_of(table), PartitionInputList=inputs
                )
            else:
                entries = [
                    {"PartitionValueList": each["Values"], "PartitionInput": each}
                    for each in inputs
                ]
                answer = self._ask("batch_update_partition", **_of(table), Entries=entries)
            self._check(table, answer, allow=_EXISTS)

    def _check(self, table: RegisteredTable, answer: Any, *, allow: str) -> None:
        """Raise the first error of a batch that is not allowed."""
        for each in answer.get("Errors") or ():
            detail = each.get("ErrorDetail") or {}
            if detail.get("ErrorCode") != allow:
                reason = f"{detail.get('ErrorCode')}: {detail.get('ErrorMessage')}"
                raise self._refused(reason, table.database, table.name)

    def _partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[Any]:
        if values is None:
            pages = self.client.get_paginator("get_partitions")
            of = {**self._id, **_of(table), "ExcludeColumnSchema": True}
            yield from self._answer(
                lambda: [p for page in pages.paginate(**of) for p in page["Partitions"]]
            )
            return
        for some in batches(values, _GET):
            wanted = [{"Values": list(each)} for each in some]
            answer = self._ask("batch_get_partition", **_of(table), PartitionsToGet=wanted)
            yield from answer["Partitions"]

    def _found(self, method: str, **arguments: Any) -> Any:
        """Return an answer; None if there is no such entity."""
        return self._ask(method, allow=_NOT_FOUND, **arguments)

    def _ask(self, method: str, *, allow: str = "", **arguments: Any) -> Any:
        """Return the answer of one request; None for the error that is allowed.

        Raises:
            CatalogError: `catalog/unreachable`, `catalog/refused`.
        """
        call = getattr(self.client, method)
        return self._answer(lambda: call(**self._id, **arguments), allow, _named(arguments))

    def _answer(self, call: Callable[[], Any], allow: str = "", names: Sequence[str] = ()) -> Any:
        try:
            return call()
        except ClientError as error:
            if error.response["Error"]["Code"] == allow:
                return None
            raise self._refused(str(error), *names) from error
        except (BotoCoreError, OSError) as error:
            raise _unreachable(self.place, error) from error

    def _refused(self, reason: str, *names: str) -> CatalogError:
        remedy = "Grant what it names, or remove the cause."
        return catalog_error("refused", reason, place=self.place, names=names, remedy=remedy)


def _unreachable(place: str, error: Exception) -> CatalogError:
    asks = "credentials" if isinstance(error, NoCredentialsError) else "region, profile and network"
    return catalog_error(
        "unreachable",
        f"AWS Glue cannot be asked: {error}",
        place=place,
        remedy=f"Check {asks} of the AWS client, such as with `aws glue get-databases`.",
    )


def _named(arguments: Mapping[str, Any]) -> list[str]:
    """Return the names of database and table in the arguments of a request."""
    table = arguments.get("TableInput") or {}
    names = (arguments.get("DatabaseName"), arguments.get("TableName"), arguments.get("Name"))
    return [name for name in (*names, table.get("Name")) if name]


def _of(table: RegisteredTable) -> dict[str, str]:
    return {"DatabaseName": table.database, "TableName": table.name}


def _registered(found: Any) -> RegisteredTable:
    sd = found.get("StorageDescriptor") or {}
    serde = sd.get("SerdeInfo") or {}
    return RegisteredTable(
        database=found["DatabaseName"],
        name=found["Name"],
        location=sd.get("Location") or "",
        columns=tuple(map(_column, sd.get("Columns") or ())),
        partition_columns=tuple(map(_column, found.get("PartitionKeys") or ())),
        input_format=sd.get("InputFormat") or "",
        output_format=sd.get("OutputFormat") or "",
        serde=serde.get("SerializationLibrary") or "",
        serde_properties=dict(serde.get("Parameters") or {}),
        properties=dict(found.get("Parameters") or {}),
    )


def _described(found: dict[str, Any], table: RegisteredTable) -> dict[str, Any]:
    """Return the input of a table, changed so that it is like `table`."""
    sd = found.get("StorageDescriptor") or {}
    serde = {
        **(sd.get("SerdeInfo") or {}),
        "SerializationLibrary": table.serde,
        "Parameters": dict(table.serde_properties),
    }
    return {
        **found,
        "StorageDescriptor": {
            **sd,
            "Columns": [_field(each) for each in table.columns],
            "Location": table.location,
            "InputFormat": table.input_format,
            "OutputFormat": table.output_format,
            "SerdeInfo": serde,
        },
        "PartitionKeys": [_field(each) for each in table.partition_columns],
        "Parameters": dict(table.properties),
    }


def _column(field: Any) -> CatalogColumn:
    return CatalogColumn(
        name=field["Name"], type=field.get("Type") or "", comment=field.get("Comment") or ""
    )


def _field(column: CatalogColumn) -> dict[str, str]:
    return {"Name": column.name, "Type": column.type, "Comment": column.comment}
