"""A metastore in this process that speaks thrift, over dictionaries.

Its answers are those of a Hive Metastore as far as `CatalogSuite` tells; the same suite passes on a
real one in `tests/interop/test_catalogs.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from framework.hudi.table.partition_path import escape

__all__ = ["thrift_metastore"]

_Name = tuple[str, str]


class Handler:
    """The methods that our client calls; each has the name and arguments of the interface."""

    def __init__(self) -> None:
        self.databases: dict[str, Any] = {}
        self.tables: dict[_Name, Any] = {}
        self.parts: dict[_Name, dict[str, Any]] = {}

    def get_database(self, name: str) -> Any:
        """Return a database."""
        return _found(self.databases, name)

    def create_database(self, database: Any) -> None:
        """Create a database."""
        if database.name in self.databases:
            raise ttypes.AlreadyExistsException("there is such a database")
        self.databases[database.name] = database

    def get_table(self, dbname: str, tbl_name: str) -> Any:
        """Return a table."""
        return _found(self.tables, (dbname, tbl_name))

    def get_table_req(self, req: Any) -> Any:
        """Return a table, as release 4 does."""
        return ttypes.GetTableResult(self.get_table(req.dbName, req.tblName))

    def create_table(self, tbl: Any) -> None:
        """Create a table."""
        if tbl.dbName not in self.databases:
            raise ttypes.InvalidObjectException("there is no such database")
        if (tbl.dbName, tbl.tableName) in self.tables:
            raise ttypes.AlreadyExistsException("there is such a table")
        tbl.parameters["transient_lastDdlTime"] = "1"
        self.tables[tbl.dbName, tbl.tableName] = _lowered(tbl)
        self.parts[tbl.dbName, tbl.tableName] = {}

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        """Alter a table, and the columns of its partitions if that cascades."""
        self.get_table(dbname, tbl_name)
        self.tables[dbname, tbl_name] = _lowered(new_tbl)
        if (environment_context.properties or {}).get("CASCADE") == "true":
            for each in self.parts[dbname, tbl_name].values():
                each.sd.cols = deepcopy(new_tbl.sd.cols)

    def get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        """Return the names of all partitions."""
        del max_parts
        return sorted(self.parts[db_name, tbl_name])

    def get_partitions_by_names(self, db_name: str, tbl_name: str, names: list[str]) -> list[Any]:
        """Return the partitions with these names that exist."""
        there = self.parts[db_name, tbl_name]
        return [there[name] for name in names if name in there]

    def add_partitions_req(self, request: Any) -> Any:
        """Add partitions."""
        there = self.parts[request.dbName, request.tblName]
        for each in request.parts:
            there.setdefault(self._name(each), each)
        return ttypes.AddPartitionsResult()

    def alter_partitions(self, db_name: str, tbl_name: str, new_parts: list[Any]) -> None:
        """Replace partitions."""
        for each in new_parts:
            self.parts[db_name, tbl_name][self._name(each)] = each

    def drop_partitions_req(self, req: Any) -> Any:
        """Drop partitions by name."""
        assert req.deleteData is False
        for name in req.parts.names:
            self.parts[req.dbName, req.tblName].pop(name, None)
        return ttypes.DropPartitionsResult()

    def _name(self, part: Any) -> str:
        keys = self.tables[part.dbName, part.tableName].partitionKeys
        pairs = zip(keys, part.values, strict=True)
        return "/".join(f"{key.name}={escape(value)}" for key, value in pairs)


@contextmanager
def thrift_metastore(*, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Handler]]:
    """Yield the address of a metastore, and its content.

    Args:
        without: methods that its release does not know.
    """
    handler = Handler()
    processor = ThriftHiveMetastore.Processor(handler)
    for name in without:
        del processor._processMap[name]  # noqa: SLF001 - the table of its methods
    server = TServerSocket("127.0.0.1", 0)
    server.listen()
    port = server.handle.getsockname()[1]
    threading.Thread(target=_serve, args=(server, processor), daemon=True).start()
    try:
        yield f"thrift://127.0.0.1:{port}", handler
    finally:
        server.close()


def _serve(server: Any, processor: Any) -> None:
    """Answer each connection on a thread of its own, until the server is closed."""
    with suppress(OSError, AttributeError):
        while True:
            client = server.accept()
            threading.Thread(target=_answer, args=(client, processor), daemon=True).start()


def _answer(client: Any, processor: Any) -> None:
    protocol = TBinaryProtocol(TBufferedTransport(client))
    with suppress(TTransportException, OSError):
        while True:
            processor.process(protocol, protocol)
    client.close()


def _found(there: dict[Any, Any], name: Any) -> Any:
    if name not in there:
        raise ttypes.NoSuchObjectException(f"there is no {name}")
    return there[name]


def _lowered(table: Any) -> Any:
    """Return the table with its columns' names in lower case, as a metastore stores them."""
    for each in table.sd.cols:
        each.name = each.name.lower()
    return table
