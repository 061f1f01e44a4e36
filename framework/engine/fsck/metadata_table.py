"""Deletion of a stale metadata table, as Apache Hudi deletes it when it is disabled.

All of it is derived from the table, and Apache Hudi makes it again. A metadata table that knows
every completed instant is left to Apache Hudi, since a writer may rely on it.
"""

from __future__ import annotations

from framework.engine.fsck.table_check import table_properties
from framework.engine.services.service_run import ServiceRun
from framework.errors import UnsupportedTableError, Where
from framework.hudi.commit.lease import require
from framework.hudi.commit.properties_update import replace_properties
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import (
    HOODIE,
    METADATA_TABLE,
    PROPERTIES,
    PROPERTIES_BACKUP,
    crc_sidecar,
    join,
)
from framework.hudi.table.properties import read_properties_file
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline, timeline_of

__all__ = ["delete_metadata_table", "unknown_instants"]


def delete_metadata_table(run: ServiceRun) -> tuple[str, ...]:
    """Remove the metadata table from the properties, then delete its folder.

    Returns:
        The files that were rewritten.

    Raises:
        UnsupportedTableError: `fsck/metadata-table-in-use`; nothing was changed.
        LeaseHeldError: the lease was lost.
    """
    storage = run.storage
    properties = table_properties(storage)
    named = properties.metadata_partitions
    if not named:
        _delete_stale_backup(storage)
    if storage.stat(METADATA_TABLE) is None and not named:
        return ()
    if named and not unknown_instants(storage):
        raise UnsupportedTableError(
            "fsck/metadata-table-in-use",
            "the metadata table knows every completed instant, so a writer may rely on it",
            where=Where(table=storage.location),
            remedy="Disable it in Apache Hudi: write once with hoodie.metadata.enable=false, or "
            "`CALL delete_metadata_table(table => 'name')` in Spark SQL.",
        )
    require(storage, run.lease)
    if named:
        staging = Staging(write_id=run.lease.owner.write_id)
        replace_properties(storage, staging, properties.without_metadata_table())
    require(storage, run.lease)
    storage.delete(METADATA_TABLE)
    return (PROPERTIES,) if named else ()


def _delete_stale_backup(storage: Storage) -> None:
    """Delete the backup that an interrupted removal left, with the entries that it removed."""
    backup = read_properties_file(storage, PROPERTIES_BACKUP)
    if backup and backup.metadata_partitions and storage.stat(PROPERTIES) is not None:
        storage.delete(PROPERTIES_BACKUP, crc_sidecar(PROPERTIES_BACKUP))


def unknown_instants(storage: Storage) -> tuple[str, ...]:
    """Return the completed instants of data that the metadata table does not know.

    Their files are invisible to readers that use it.
    """
    folder = join(METADATA_TABLE, HOODIE)
    known = timeline_of(each.name for each in storage.list(folder) if not each.is_folder)
    done = (e for e in load_timeline(storage).completed if e.action in DATA_ACTIONS)
    times = (each.requested_time for each in done)
    return tuple(each for each in times if not known.is_completed(each))
