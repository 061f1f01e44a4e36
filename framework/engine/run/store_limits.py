"""What a run cannot do yet on an object store, refused before anything is written."""

from __future__ import annotations

from framework.engine.run.state import RunContext
from framework.errors import NotYetBuiltError, UnsupportedTableError, Where
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of
from framework.plan.stages import LoadStages

__all__ = ["refuse_unbuilt", "require_fence"]


def refuse_unbuilt(ctx: RunContext) -> None:
    """Raise where the run needs what is not built for the store of its table, or of its quarantine.

    Raises:
        UnsupportedTableError: `storage/no-fence`.
        NotYetBuiltError: `quarantine/object-store`, `input/object-store`.
    """
    require_fence(ctx.storage)
    table = Where(table=ctx.storage.location)
    uploads, quarantine = uploads_of(ctx.storage), ctx.plan.target.quality.quarantine
    if quarantine is not None and uploads_of(open_storage(quarantine)) is not None:
        raise NotYetBuiltError(
            "quarantine/object-store",
            "quarantined rows cannot be kept on an object store yet",
            where=Where(file=quarantine),
            remedy="Give `quality.quarantine.location` a folder that files can be moved in.",
        )
    if uploads is not None and _is_staged(ctx):
        raise NotYetBuiltError(
            "input/object-store",
            "the rows of this source are staged beside the table, which is not built yet for a"
            " table on an object store",
            where=table,
            remedy="Load plain Parquet files, without transforms.",
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


def _is_staged(ctx: RunContext) -> bool:
    """Return whether the run first writes its input as files of its own."""
    work = ctx.plan.work
    read = work.rows.read if isinstance(work, LoadStages) and work.rows else None
    return read is not None and (read.copies or read.request.files is None)
