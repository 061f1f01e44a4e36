"""The Hive Metastore by thrift, of releases 2.3 to 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Final

from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from framework.engine.catalogs.port import batches, catalog_error
from framework.errors import CatalogError
from framework.hudi.table.partition_path import HIVE_DEFAULT, escape
from framework.plan.catalogs.registered import CatalogColumn, CatalogPartition, RegisteredTable
from framework.plan.catalogs.sync_plan import TableSync
from framework.plan.catalogs.target import CatalogTarget

__all__ = ["HiveCatalog", "hive_catalog"]

_CONNECT_MS: Final = 20_000
_ANSWER_MS: Final = 600_000
"""As Hive's own client waits: a metastore lists the folder of each partition that is added."""
_BATCH: Final = 1000
"""Partitions in one request: more of them take a metastore longer than clients wait."""
_DROPPED: Final = 100
"""The same of those that are dropped: a metastore nests a condition for each in one query, and one
on Derby fails at a thousand."""
_ADDED_BY_METASTORE: Final = frozenset(
    {
        "transient_lastDdlTime",
        "totalSize",
        "numFiles",
        "COLUMN_STATS_ACCURATE",
        "numFilesErasureCoded",
    }
)
_COMMENT: Final = "created by Lakestrap"
_EXTERNAL: Final = "EXTERNAL_TABLE"


@contextmanager
def hive_catalog(target: CatalogTarget) -> Iterator[HiveCatalog]:
    """Yield a client of the first metastore of the target that answers.

    Raises:
        CatalogError: `catalog/unreachable`.
    """
    uris = [uri.strip() for uri in (target.uri or "").split(",")]
    transport = _opened(uris)
    try:
        yield HiveCatalog(ThriftHiveMetastore.Client(TBinaryProtocol(transport)), target.place)
    finally:
        transport.close()


def _opened(uris: Sequence[str]) -> Any:
    """Return a connection to the first address that takes one."""
    last: Exception | None = None
    for uri in uris:
        host, _, port = uri.removeprefix("thrift://").rpartition(":")
        socket = TSocket(host.strip("[]"), int(port))
        socket.setTimeout(_CONNECT_MS)
        transport = TBufferedTransport(socket)
        try:
            transport.open()
        except TTransportException as error:
            last = error
        else:
            socket.setTimeout(_ANSWER_MS)
            return transport
    raise _unreachable(",".join(uris), last) from last


class HiveCatalog:
    """A connected client.

    Attributes:
        client: generated from the metastore's thrift interface.
        place: the metastore, for errors.
    """

    def __init__(self, client: Any, place: str) -> None:
        self.client = client
        self.place = place

    def has_database(self, name: str) -> bool:
        """Return whether there is a database of that name."""
        return self._found(lambda: self.client.get_database(name), name) is not None

    def create_database(self, name: str) -> None:
        """Create a database."""
        database = ttypes.Database(name=name, description=_COMMENT, parameters={})
        self._asked(
            lambda: self.client.create_database(database), name, allow=ttypes.AlreadyExistsException
        )

    def table(self, database: str, name: str) -> RegisteredTable | None:
        """Return a table; None if there is none."""
        found = self._table(database, name)
        return None if found is None else _registered(found)

    def partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[CatalogPartition]:
        """Yield the partitions with these values that exist; None means all.

        Costs a request for a thousand partitions, and one for the names of all.
        """
        for each in self._partitions(table, values):
            yield CatalogPartition(values=tuple(each.values), location=each.sd.location or "")

    def put_table(self, table: RegisteredTable, *, creates: bool, cascades: bool) -> None:
        """Create or alter a table."""
        at = (table.database, table.name)
        if creates:
            made = ttypes.Table(
                dbName=table.database,
                tableName=table.name,
                tableType=_EXTERNAL,
                sd=ttypes.StorageDescriptor(
                    serdeInfo=ttypes.SerDeInfo(), compressed=False, numBuckets=0, sortCols=[]
                ),
                partitionKeys=[_field(each) for each in table.partition_columns],
                parameters={},
            )
            self._asked(lambda: self.client.create_table(_described(made, table)), *at)
            return
        found = self._table(*at)
        if found is None:
            raise self._refused("the table has just been removed", *at)
        changed = _described(found, table)
        context = ttypes.EnvironmentContext({"CASCADE": "true"} if cascades else {})
        self._asked(
            lambda: self.client.alter_table_with_environment_context(*at, changed, context), *at
        )

    def put_partitions(self, sync: TableSync) -> None:
        """Add, change and drop the partitions of a sync, a thousand in one request."""
        at = (sync.table.database, sync.table.name)
        found = self._table(*at)
        if found is None:
            raise self._refused("the table has just been removed", *at)
        for some in batches(sync.add, _BATCH):
            self._add(found, some)
        for some in batches(sync.change, _BATCH):
            self._move(sync.table, some)
        for some in batches(sync.drop, _DROPPED):
            self._drop(sync.table, some)

    def _add(self, found: Any, some: Sequence[CatalogPartition]) -> None:
        at = (found.dbName, found.tableName)
        parts = [_partition(found, each) for each in some]
        request = ttypes.AddPartitionsRequest(*at, parts, ifNotExists=True, needResult=False)
        self._asked(lambda: self.client.add_partitions_req(request), *at)

    def _move(self, table: RegisteredTable, some: Sequence[CatalogPartition]) -> None:
        at = (table.database, table.name)
        locations = {each.values: each.location for each in some}
        parts = list(self._partitions(table, list(locations)))
        for each in parts:
            each.sd.location = locations[tuple(each.values)]
        self._asked(lambda: self.client.alter_partitions(*at, parts), *at)

    def _drop(self, table: RegisteredTable, some: Sequence[CatalogPartition]) -> None:
        at = (table.database, table.name)
        names = [_name(table, each.values) for each in some]
        spec = ttypes.RequestPartsSpec(names=names)
        request = ttypes.DropPartitionsRequest(
            *at, spec, deleteData=False, ifExists=True, needResult=False
        )
        self._asked(lambda: self.client.drop_partitions_req(request), *at)

    def _table(self, database: str, name: str) -> Any:
        """Return the metastore's own value; None if there is none.

        Release 4 has no `get_table` any more, 2.2 and earlier have no `get_table_req`.
        """
        request = ttypes.GetTableRequest(dbName=database, tblName=name)

        def either() -> Any:
            try:
                return self.client.get_table(database, name)
            except TApplicationException as error:
                if error.type != TApplicationException.UNKNOWN_METHOD:
                    raise
                return self.client.get_table_req(request).table

        return self._found(either, database, name)

    def _partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[Any]:
        at = (table.database, table.name)
        if values is None:
            names = self._asked(lambda: self.client.get_partition_names(*at, -1), *at)
        else:
            names = [_name(table, each) for each in values]
        for some in batches(names, _BATCH):
            yield from self._named(at, list(some))

    def _named(self, at: tuple[str, str], names: list[str]) -> Any:
        return self._asked(lambda: self.client.get_partitions_by_names(*at, names), *at)

    def _found(self, call: Callable[[], Any], *names: str) -> Any:
        """Return the answer; None if the metastore has no such object."""
        return self._asked(call, *names, allow=ttypes.NoSuchObjectException)

    def _asked(
        self, call: Callable[[], Any], *names: str, allow: type[Exception] | None = None
    ) -> Any:
        """Return the answer of one request; None for the error that is allowed.

        Raises:
            CatalogError: `catalog/unreachable`, `catalog/refused`.
        """
        try:
            return call()
        except (TTransportException, OSError) as error:
            raise _unreachable(self.place, error) from error
        except TException as error:
            if allow is not None and isinstance(error, allow):
                return None
            raise self._refused(getattr(error, "message", None) or str(error), *names) from error

    def _refused(self, reason: str, *names: str) -> CatalogError:
        remedy = "Remove the cause, which the metastore's log has too."
        return catalog_error("refused", reason, place=self.place, names=names, remedy=remedy)


def _unreachable(place: str, error: Exception | None) -> CatalogError:
    reason = getattr(error, "message", None) or str(error)
    return catalog_error(
        "unreachable",
        f"the metastore does not answer: {reason}",
        place=place,
        remedy="Check `catalog.uri`; the metastore must take connections without SASL and TLS.",
    )


def _registered(found: Any) -> RegisteredTable:
    sd = found.sd
    return RegisteredTable(
        database=found.dbName,
        name=found.tableName,
        location=sd.location or "",
        columns=tuple(map(_column, sd.cols or ())),
        partition_columns=tuple(map(_column, found.partitionKeys or ())),
        input_format=sd.inputFormat or "",
        output_format=sd.outputFormat or "",
        serde=sd.serdeInfo.serializationLib or "",
        serde_properties=dict(sd.serdeInfo.parameters or {}),
        properties={
            k: v for k, v in (found.parameters or {}).items() if k not in _ADDED_BY_METASTORE
        },
    )


def _described(found: Any, table: RegisteredTable) -> Any:
    """Return a copy of the metastore's table, changed so that it is like `table`."""
    made = deepcopy(found)
    made.sd.location = table.location
    made.sd.cols = [_field(each) for each in table.columns]
    made.sd.inputFormat = table.input_format
    made.sd.outputFormat = table.output_format
    made.sd.serdeInfo.serializationLib = table.serde
    made.sd.serdeInfo.parameters = dict(table.serde_properties)
    own = {k: v for k, v in (made.parameters or {}).items() if k in _ADDED_BY_METASTORE}
    made.parameters = {**own, **table.properties}
    return made


def _partition(found: Any, each: CatalogPartition) -> Any:
    sd = deepcopy(found.sd)
    sd.location = each.location
    return ttypes.Partition(
        values=list(each.values),
        dbName=found.dbName,
        tableName=found.tableName,
        sd=sd,
        parameters={},
    )


def _name(table: RegisteredTable, values: tuple[str, ...]) -> str:
    """Return the name of a partition, as the metastore makes it of the values."""
    pairs = zip(table.partition_columns, values, strict=True)
    return "/".join(f"{escape(c.name)}={escape(value or HIVE_DEFAULT)}" for c, value in pairs)


def _column(field: Any) -> CatalogColumn:
    return CatalogColumn(name=field.name, type=field.type, comment=field.comment or "")


def _field(column: CatalogColumn) -> Any:
    return ttypes.FieldSchema(name=column.name, type=column.type, comment=column.comment)
