"""The port that provides a run with the files of its table (RFC-03).

The adapter here lists folders; the one that keeps a view in the driver, and serves it to tasks, is
in `framework.spark.backend`. Tasks know neither: they get an address, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from framework.engine.reading.slice_rows import SliceFiles, SliceTable
from framework.engine.reading.table import Table
from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.log_changes import LogPart
from framework.hudi.filegroup.slices import Extent, FileGroupId, FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import FileSystemView
from framework.hudi.view.recorded import CheckableView, CheckedView, Damage, RecordedFiles
from framework.hudi.view.remote import FallbackView, RemoteView, ServiceAddress

__all__ = [
    "LISTED",
    "AskedSlice",
    "AskedSlices",
    "Views",
    "asked",
    "checked",
    "latest_slices",
    "listing_view",
    "looked_up",
]


class Views(Protocol):
    """Provides views of a table as of the timeline of a run."""

    def opened(self, table: Table) -> AbstractContextManager[FileSystemView]:
        """Open a view for use in this process, as of `table.timeline`."""
        ...

    def address(self, table: Table) -> ServiceAddress | None:
        """Return where tasks may request the same view; None if descriptors name the files."""
        ...


class ListedViews:
    """Views by listing; tasks get the slices themselves."""

    def opened(self, table: Table) -> AbstractContextManager[FileSystemView]:
        """Open a view that lists each requested partition."""
        return listing_view(table)

    def address(self, _: Table) -> ServiceAddress | None:
        """Return None: there is no service."""
        return None


LISTED: Final = ListedViews()


@contextmanager
def listing_view(table: Table) -> Iterator[FileSystemView]:
    """Open a view that lists and compares with commits, while the table's index is open."""
    with BootstrapIndex.open(table.storage) or nullcontext() as index:
        yield checked(ListingView(table.storage, table.timeline, index), table)


def checked(view: CheckableView, table: Table) -> CheckedView:
    """Return a view of a table whose answers are compared with what its commits recorded.

    Reads each completed commit of the active timeline; lists nothing.

    Raises:
        CorruptFileError: `timeline/empty-commit`, `timeline/corrupt-commit`.
    """
    return CheckedView(view, RecordedFiles(table.storage, table.timeline))


def latest_slices(
    table: Table,
    views: Views,
    paths: Iterable[str] | None,
    *,
    without: frozenset[str] = frozenset(),
) -> Iterator[FileSlice]:
    """Yield the latest slices of some partitions, sorted by path and file id; None means all.

    All slices are in memory then. A listing view lists each folder once.
    """
    with views.opened(table) as view:
        chosen = view.partitions() if paths is None else set(paths)
        found = {path: view.latest_slices(path) for path in chosen if path not in without}
    for path in sorted(found, key=str.encode):
        yield from found[path]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSlice:
    """A slice as a task gets it.

    Attributes:
        group: the file group.
        files: of its latest slice; None if the task requests them from the timeline service.
        committed: in that case the commits' record of each log file, by path, which a service does
            not serve.
    """

    group: FileGroupId
    files: SliceFiles | None = None
    committed: dict[str, tuple[Extent, ...]] = field(default_factory=dict)


def asked(found: FileSlice, *, by_address: bool) -> AskedSlice:
    """Return a slice for a task with or without access to the service."""
    if not by_address:
        return AskedSlice(group=found.group, files=SliceFiles.of(found))
    committed = {each.path: each.committed for each in found.logs}
    return AskedSlice(group=found.group, committed=committed)


class AskedSlices:
    """The files of the slices that one task works on.

    Attributes:
        fallbacks: number of requests that the service did not answer, so that folders were listed.
    """

    def __init__(
        self, location: str, slices: Mapping[FileGroupId, SliceFiles], fallbacks: int
    ) -> None:
        self._location = location
        self._slices = slices
        self.fallbacks = fallbacks

    def files(self, wanted: AskedSlice) -> SliceFiles:
        """Return the files of one of the slices.

        Raises:
            CorruptFileError: `table/file-lost`; a log file of the driver's slice is missing.
        """
        if wanted.files is not None:
            return wanted.files
        found, committed = self._slices[wanted.group], wanted.committed
        logs = tuple(
            LogPart(log.path, committed.get(log.path, log.committed)) for log in found.logs
        )
        lost = committed.keys() - {log.path for log in logs}
        if lost:
            raise Damage(
                condition="table/file-lost",
                message="a log file was removed during the run",
                path=min(lost),
                partition_path=wanted.group.partition_path,
                instant="",
            ).error(self._location)
        return replace(found, logs=logs)


def looked_up(
    address: ServiceAddress | None, table: SliceTable, slices: Iterable[AskedSlice]
) -> AskedSlices:
    """Return the slices of a task's groups: by one call of the service, if there is an address.

    If the service does not answer as of exactly the run's timeline, the partitions are listed; the
    answer is the same.

    Args:
        address: the service's; None if the slices name their files.
        table: the parameters of their table, with the run's timeline.
        slices: the slices of the task.

    Raises:
        CorruptFileError: `view/group-gone`; a group no longer exists.
    """
    wanted = [each.group for each in slices if each.files is None]
    if address is None or not wanted:
        return AskedSlices(table.location, {}, 0)
    view = FallbackView(RemoteView(address), lambda: _own_view(table))
    try:
        latest = view.look_up(wanted, are_there=True)
    finally:
        view.close()
    found = {each.group: SliceFiles.of(each) for each in latest}
    gone = next((each for each in wanted if each not in found), None)
    if gone is not None:
        raise _gone(table, *gone)
    return AskedSlices(table.location, found, view.fallbacks)


def _own_view(table: SliceTable) -> ListingView:
    """Return a view that lists, as of the run's timeline; its index stays open with the task."""
    storage = open_storage(table.location)
    return ListingView(storage, table.timeline, BootstrapIndex.open(storage))


def _gone(table: SliceTable, path: str, file_id: str) -> CorruptFileError:
    """Return the error for a group that disappeared during a run."""
    return CorruptFileError(
        "view/group-gone",
        f"file group {file_id} no longer exists",
        where=Where(table=table.location, partition=path),
        remedy="Another writer removed it during the run; nothing was published, run again.",
    )
