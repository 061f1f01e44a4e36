"""Replacing `hoodie.properties`, in the order of Apache Hudi: backup, new file, no backup.

At every moment a reader finds the old or the new entries, in the file or in its backup.
"""

from __future__ import annotations

from framework.errors import CorruptFileError
from framework.hudi.commit.placement import place_bytes, read_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import PROPERTIES, PROPERTIES_BACKUP, crc_sidecar
from framework.hudi.table.properties import TableProperties, read_properties_file

__all__ = ["replace_properties"]


def replace_properties(storage: Storage, staging: Staging, properties: TableProperties) -> None:
    """Replace the properties of a table; the caller holds its lease.

    May be killed and run again.
    """
    if _is_sound(storage):
        storage.delete(PROPERTIES_BACKUP, crc_sidecar(PROPERTIES_BACKUP))
        old = read_bytes(storage, PROPERTIES)
        place_bytes(storage, staging, PROPERTIES_BACKUP, old, has_begun=False)
    storage.delete(PROPERTIES, crc_sidecar(PROPERTIES))
    new = properties.render().encode("latin-1")
    place_bytes(storage, staging, PROPERTIES, new, has_begun=False)
    storage.delete(PROPERTIES_BACKUP, crc_sidecar(PROPERTIES_BACKUP))


def _is_sound(storage: Storage) -> bool:
    """Return whether the main file is readable, so that it may become the backup."""
    try:
        return read_properties_file(storage, PROPERTIES) is not None
    except CorruptFileError:
        return False
