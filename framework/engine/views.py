"""The port through which a run learns which files make up its table (RFC-03).

The adapter here lists folders; the one that keeps a view in the driver, and serves it to tasks, is
in `framework.spark.views`. Tasks know neither: they are told an address, or nothing.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol

from framework.engine.reading.slice_rows import describe
from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.slices import FileGroupId
from framework.hudi.storage.locations import open_storage
from framework.hudi.view.damage import Damage
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.recorded import CheckedView, RecordedFiles
from framework.hudi.view.remote import FallbackView, RemoteView, ServiceAddress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from framework.engine.reading.slice_rows import SliceTable
    from framework.engine.reading.table import Table
    from framework.hudi.filegroup.slices import FileSlice
    from framework.hudi.view.port import FileSystemView
    from framework.hudi.view.recorded import CheckableView

__all__ = [
    "LISTED",
    "AskedSlices",
    "Views",
    "address_fields",
    "asked",
    "checked",
    "listing_view",
    "looked_up",
]


class Views(Protocol):
    """Gives views of a table as of the timeline that a run goes by."""

    def opened(self, table: Table) -> AbstractContextManager[FileSystemView]:
        """Give a view for use in this process, as of `table.timeline`."""
        ...

    def address(self, table: Table) -> ServiceAddress | None:
        """Return where tasks may ask for the same view, None where they have to be told."""
        ...


class ListedViews:
    """Views by listing; tasks are told the slices themselves."""

    def opened(self, table: Table) -> AbstractContextManager[FileSystemView]:
        """Give a view that lists each partition it is asked for."""
        return listing_view(table)

    def address(self, _: Table) -> ServiceAddress | None:
        """There is nobody to ask."""
        return None


LISTED: Final = ListedViews()


@contextmanager
def listing_view(table: Table) -> Iterator[FileSystemView]:
    """Give a view that lists and compares with commits, while the table's index is open."""
    with BootstrapIndex.open(table.storage) or nullcontext() as index:
        yield checked(ListingView(table.storage, table.timeline, index), table)


def checked(view: CheckableView, table: Table) -> CheckedView:
    """Return a view of a table whose answers are compared with what its commits recorded.

    Reads each completed commit of the active timeline; lists nothing.

    Raises:
        CorruptFileError: `timeline/empty-commit`, `timeline/corrupt-commit`.
    """
    return CheckedView(view, RecordedFiles(table.storage, table.timeline))


def asked(found: FileSlice, *, by_address: bool) -> dict[str, Any]:
    """Return a slice as a task gets it: its group where the task can ask for it, else all of it.

    What commits recorded of log files comes with the group, since a service does not serve it.
    """
    if not by_address:
        return describe(found)
    committed = {each.path: each.committed for each in found.logs}
    return {"file_id": found.group.file_id, "committed": committed}


class AskedSlices:
    """The slices that one task was told to work on, as `describe` gives them.

    Attributes:
        fallbacks: how many questions the service did not answer, so that folders were listed.
    """

    def __init__(
        self, location: str, slices: Mapping[FileGroupId, dict[str, Any]], fallbacks: int
    ) -> None:
        self._location = location
        self._slices = slices
        self.fallbacks = fallbacks

    def described(self, partition_path: str, asked_for: dict[str, Any]) -> dict[str, Any]:
        """Return the slice that `asked_for` stands for, which may be it already.

        Raises:
            CorruptFileError: `table/file-lost`; a log file of the driver's slice is missing.
        """
        file_id = asked_for.get("file_id")
        if file_id is None:
            return asked_for
        found = self._slices[FileGroupId(partition_path, file_id)]
        committed = asked_for["committed"]
        logs = [[path, committed.get(path, said)] for path, said in found["logs"]]
        lost = committed.keys() - {path for path, _ in logs}
        if lost:
            raise Damage(
                condition="table/file-lost",
                message="a log file was removed during the run",
                path=min(lost),
                partition_path=partition_path,
                instant="",
            ).error(self._location)
        return {**found, "logs": logs}


def looked_up(
    address: dict[str, Any] | None,
    table: SliceTable,
    told: Iterable[tuple[str, dict[str, Any]]],
) -> AskedSlices:
    """Return the slices of a task's groups: by one call of the service, if there is an address.

    Where the service does not answer, as of the very timeline of the run, the partitions are
    listed; the answer is the same.

    Args:
        address: fields of a `ServiceAddress`, None where tasks were told all.
        table: whose slices they are, with the run's timeline.
        told: partition path and what `asked` returned, of each slice.

    Raises:
        CorruptFileError: `view/group-gone`; a group is not there any more.
    """
    wanted = [FileGroupId(path, each["file_id"]) for path, each in told if "file_id" in each]
    if address is None or not wanted:
        return AskedSlices(table.location, {}, 0)
    view = FallbackView(RemoteView(ServiceAddress(**address)), lambda: _own_view(table))
    try:
        slices = view.look_up(wanted, are_there=True)
    finally:
        view.close()
    found = {each.group: describe(each) for each in slices}
    gone = next((each for each in wanted if each not in found), None)
    if gone is not None:
        raise _gone(table, *gone)
    return AskedSlices(table.location, found, view.fallbacks)


def _own_view(table: SliceTable) -> ListingView:
    """Return a view that lists, as of the run's timeline; its index stays open with the task."""
    storage = open_storage(table.location)
    return ListingView(storage, table.timeline, BootstrapIndex.open(storage))


def _gone(table: SliceTable, path: str, file_id: str) -> CorruptFileError:
    """Return the error for a group that went while a run worked on it."""
    return CorruptFileError(
        "view/group-gone",
        f"file group {file_id} is not there any more",
        where=Where(table=table.location, partition=path),
        remedy="Another writer removed it during the run; nothing was published, run again.",
    )


def address_fields(address: ServiceAddress | None) -> dict[str, Any] | None:
    """Return an address for a task."""
    return None if address is None else asdict(address)
