"""What a store of a table must be able to do, checked before anything is written."""

from __future__ import annotations

from framework.errors import UnsupportedTableError, Where
from framework.hudi.storage.port import Storage, uploads_of

__all__ = ["require_fence"]


def require_fence(storage: Storage) -> None:
    """Raise on a store without moves whose uploads do not keep a late run from publishing.

    Raises:
        UnsupportedTableError: `storage/no-fence`.
    """
    uploads = uploads_of(storage)
    if uploads is not None and not uploads.are_fences:
        raise UnsupportedTableError(
            "storage/no-fence",
            "this store can complete an upload that was aborted, so a late run could publish",
            where=Where(table=storage.location),
            remedy="Keep the table on S3, HDFS or a disk.",
        )
