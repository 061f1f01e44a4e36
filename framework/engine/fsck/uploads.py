"""Unfinished uploads of an object store: found by a check, and aborted by a repair.

An upload without a name is no file, but the store keeps its bytes, and bills them. Those of the
timeline are ours: a run aborts its own, unless it died before it had recorded one. Others may be of
a writer at work.
"""

from __future__ import annotations

from collections.abc import Iterator

from framework.engine.fsck.findings import Check, Repair, Severity, TableFinding, of_error
from framework.errors import StorageError
from framework.hudi.commit.drop import DROPPED
from framework.hudi.commit.lease import Lease, require
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import HOODIE, join, name_of
from framework.hudi.timeline.instant import Instant

__all__ = ["abort_unfinished", "check_uploads"]


def check_uploads(storage: Storage) -> Iterator[TableFinding]:
    """Yield uploads below the table that were begun and neither completed nor aborted.

    A warning where they may not be listed.
    """
    uploads = uploads_of(storage)
    try:
        found = sorted(path for path, _ in uploads.unfinished()) if uploads else []
    except StorageError as error:
        if error.condition != "storage/permission":
            raise
        yield of_error(Check.LEFTOVERS, error, storage.location, Severity.WARNING)
        return
    for path in found:
        is_own = _is_own(path)
        yield TableFinding(
            check=Check.LEFTOVERS,
            severity=Severity.WARNING,
            condition="fsck/upload-left",
            message="an upload that was begun is neither completed nor aborted",
            remedy="Abort it with --repair uploads."
            if is_own
            else "Wait for the writer that began it; if none is at work, abort it in the bucket.",
            file=path,
            repair=Repair.UPLOADS if is_own else None,
        )


def abort_unfinished(storage: Storage, lease: Lease) -> Iterator[str]:
    """Abort the uploads that Lakestrap has begun; yield their paths.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    uploads = uploads_of(storage)
    for path, upload in list(uploads.unfinished()) if uploads else ():
        if uploads is not None and _is_own(path):
            require(storage, lease)
            uploads.abort(path, upload)
            yield path


def _is_own(path: str) -> bool:
    """Return whether only Lakestrap makes a file of this path by an upload."""
    instant = Instant.parse(name_of(path))
    return path == DROPPED or (instant is not None and path == join(HOODIE, name_of(path)))
