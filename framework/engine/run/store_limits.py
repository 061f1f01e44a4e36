"""What a run cannot do yet on an object store, refused before anything is written."""

from __future__ import annotations

from framework.engine.run.state import RunContext
from framework.errors import NotYetBuiltError, UnsupportedTableError, Where
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of

__all__ = ["refuse_unbuilt", "require_fence"]


def refuse_unbuilt(ctx: RunContext) -> None:
    """Raise where the run needs what is not built for the store of its table, or of its quarantine.

    Raises:
        UnsupportedTableError: `storage/no-fence`.
        NotYetBuiltError: `quarantine/object-store`.
    """
    require_fence(ctx.storage)
    quarantine = ctx.plan.target.quality.quarantine
    if quarantine is not None and uploads_of(open_storage(quarantine)) is not None:
        raise NotYetBuiltError(
            "quarantine/object-store",
            "quarantined rows cannot be kept on an object store yet",
            where=Where(file=quarantine),
            remedy="Give `quality.quarantine.location` a folder that files can be moved in.",
        )


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
