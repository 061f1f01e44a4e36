"""What a store of a table must be able to do, tried before a table is made there."""

from __future__ import annotations

from framework.errors import UnsupportedTableError, Where
from framework.hudi.commit.store_probe import probe_store
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import PROPERTIES

__all__ = ["require_conditions"]


def require_conditions(storage: Storage) -> None:
    """Raise where a new table's store, without moves, does not keep two runs apart.

    Costs about ten requests for a new table, one for another, and none where files move.

    Raises:
        UnsupportedTableError: `storage/no-conditions`.
        StorageError: the store cannot be reached or written to.
    """
    uploads = uploads_of(storage)
    if uploads is None or not uploads.need_probe or storage.stat(PROPERTIES) is not None:
        return
    lack = probe_store(storage, uploads).lack
    if lack:
        raise UnsupportedTableError(
            "storage/no-conditions",
            f"this store does not keep two writers apart: {lack}",
            where=Where(table=storage.location),
            remedy="Keep the table on a store with conditional writes, HDFS or a disk; or set"
            " `single_writer: true` in `storage` if only one process at a time writes to it.",
        )
