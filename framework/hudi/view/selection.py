"""Selection of a file group's slices for a query. Pure: files and facts in, slices out.

The rules are Apache Hudi's (`AbstractTableFileSystemView`, format sheet, section 9.4), so that its
clients get the same response from us as from its own server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias

from framework.hudi.filegroup.group import FileGroup, base_order, log_order
from framework.hudi.filegroup.slices import BaseFile, FileSlice, LogFile, SourceFile
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.timeline.instant import LATEST
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.port import Query, Selection

__all__ = ["GroupSource", "answer", "latest_slice", "select"]


def select(query: Query, groups: Iterable[FileGroup], facts: TableFacts) -> Iterator[FileSlice]:
    """Yield the slices of some groups that a query selects, in group order, newest first in each.

    Ignores the query's partition and file ids: the caller has already applied them.
    """
    chosen = _SELECTORS[query.selection]
    hidden = _HIDDEN.get(query.selection, _is_replaced)
    for group in groups:
        id_ = group.group
        if not hidden(facts.replaced_at(id_.partition_path, id_.file_id), query):
            yield from chosen(group, facts, query)


def latest_slice(group: FileGroup, facts: TableFacts, bound: str | None = None) -> FileSlice | None:
    """Return the newest state of a group as of `bound`, None if nothing counts by then.

    Log files written after a compaction was planned start at the plan's instant; while it is
    pending, they are added to the previous slice.
    """
    timeline = facts.timeline
    end = bound or LATEST
    if len(group.bases) == 1 and not group.logs:  # nearly all groups, and there may be many
        only = group.bases[0]
        counts = only.name.instant <= end and timeline.is_completed(only.name.instant)
        return _slice(group, only.name.instant, only) if counts else None
    bases = [each for each in group.bases if each.name.instant <= end]
    visible = [each for each in bases if timeline.is_completed(each.name.instant)]
    base = max(visible, key=base_order, default=None)
    logs = sorted((each for each in group.logs if _counts(each, facts, end)), key=log_order)
    starts = (base.name.instant,) if base else tuple(each.name.base_instant for each in logs)
    first = next((each for each in starts if timeline.is_completed(each)), None)
    if first is None:
        return None
    return _slice(group, first, base, [each for each in logs if each.name.base_instant >= first])


def _counts(log: LogFile, facts: TableFacts, end: str) -> bool:
    """Whether a log file belongs to a completed slice, or to a pending compaction."""
    time = log.name.base_instant
    return time <= end and (facts.timeline.is_completed(time) or time in facts.compacting)


def _slices(group: FileGroup, facts: TableFacts, _: Query) -> Iterator[FileSlice]:
    """Yield all slices that count, newest first."""
    bases: dict[str, BaseFile] = {}
    for each in group.bases:
        if facts.timeline.is_completed(each.name.instant):
            bases.setdefault(each.name.instant, each)
    logs: dict[str, list[LogFile]] = {}
    for log in group.logs:
        if _counts(log, facts, LATEST):
            logs.setdefault(log.name.base_instant, []).append(log)
    planned = facts.compactions.get(group.group)
    instants = {*bases, *logs, *([planned.instant] if planned else ())}
    for instant in sorted(instants, reverse=True):
        yield _slice(group, instant, bases.get(instant), logs.get(instant, ()))


def _slice(
    group: FileGroup, instant: str, base: BaseFile | None, logs: Sequence[LogFile] = ()
) -> FileSlice:
    """Return a slice, with its source if it is a skeleton."""
    return FileSlice(
        group=group.group,
        base_instant=instant,
        base=base,
        logs=tuple(logs),
        bootstrap=_source(group, base),
    )


def _source(group: FileGroup, base: BaseFile | None) -> SourceFile | None:
    """Return the source file of a base file, None if it is not a skeleton."""
    if base is None or base.name.instant != BOOTSTRAP_INSTANT:
        return None
    return group.source


def _merged(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    found = latest_slice(group, facts, query.instant)
    if found is not None:
        yield found


def _latest(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    yield from _first(_slices(group, facts, query))


def _uncompacted(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    planned = facts.compactions.get(group.group)
    found = _slices(group, facts, query)
    yield from _first(each for each in found if not planned or each.base_instant < planned.instant)


def _before_or_on(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    if group.group in facts.compactions and not query.include_pending:
        return
    end = query.instant or LATEST
    found = (each for each in _slices(group, facts, query) if each.base_instant <= end)
    yield from _first(each for each in found if each.base or each.logs)


def _in_range(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    found = _slices(group, facts, query)
    yield from _first(each for each in found if each.base_instant in query.instants)


def _bases(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    """Yield the base files that count, newest first."""
    for each in _slices(group, facts, query):
        if each.base is not None:
            yield each._replace(logs=())


def _base_latest(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    yield from _first(_bases(group, facts, query))


def _base_before_or_on(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    end = query.instant or LATEST
    yield from _first(e for e in _bases(group, facts, query) if e.base_instant <= end)


def _base_on(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    yield from _first(e for e in _bases(group, facts, query) if e.base_instant == query.instant)


def _base_in_range(group: FileGroup, facts: TableFacts, query: Query) -> Iterator[FileSlice]:
    yield from _first(e for e in _bases(group, facts, query) if e.base_instant in query.instants)


def _first(found: Iterator[FileSlice]) -> Iterator[FileSlice]:
    """Yield the first item, if any."""
    for each in found:
        yield each
        return


def _is_replaced(at: str | None, _: Query) -> bool:
    return at is not None


def _is_replaced_by(at: str | None, query: Query) -> bool:
    return at is not None and at <= (query.instant or LATEST)


def _is_replaced_by_the_last(at: str | None, query: Query) -> bool:
    return at is not None and at <= max(query.instants, default=LATEST)


def _not(hidden: Callable[[str | None, Query], bool]) -> Callable[[str | None, Query], bool]:
    """Return the negation, for selections of replaced groups."""
    return lambda at, query: not hidden(at, query)


_SELECTORS: Mapping[Selection, Callable[[FileGroup, TableFacts, Query], Iterable[FileSlice]]] = (
    MappingProxyType(
        {
            Selection.MERGED: _merged,
            Selection.LATEST: _latest,
            Selection.UNCOMPACTED: _uncompacted,
            Selection.BEFORE_OR_ON: _before_or_on,
            Selection.IN_RANGE: _in_range,
            Selection.ALL: _slices,
            Selection.BASE_LATEST: _base_latest,
            Selection.BASE_BEFORE_OR_ON: _base_before_or_on,
            Selection.BASE_ON: _base_on,
            Selection.BASE_IN_RANGE: _base_in_range,
            Selection.BASE_ALL: _bases,
            Selection.REPLACED: _slices,
            Selection.REPLACED_BEFORE: _slices,
            Selection.REPLACED_BEFORE_OR_ON: _slices,
            Selection.REPLACED_AFTER_OR_ON: _slices,
        }
    )
)

_Hidden: TypeAlias = "Callable[[str | None, Query], bool]"
_HIDDEN: Mapping[Selection, _Hidden] = MappingProxyType(
    {
        Selection.MERGED: _is_replaced_by,
        Selection.BEFORE_OR_ON: _is_replaced_by,
        Selection.IN_RANGE: _is_replaced_by_the_last,
        Selection.BASE_BEFORE_OR_ON: _is_replaced_by,
        Selection.BASE_ON: _is_replaced_by,
        Selection.BASE_IN_RANGE: _is_replaced_by_the_last,
        Selection.REPLACED: _not(_is_replaced),
        Selection.REPLACED_BEFORE: lambda at, q: at is None or at >= (q.instant or LATEST),
        Selection.REPLACED_BEFORE_OR_ON: _not(_is_replaced_by),
        Selection.REPLACED_AFTER_OR_ON: lambda at, q: at is None or at < (q.instant or ""),
    }
)


class GroupSource(Protocol):
    """The source of a local view's groups."""

    @property
    def facts(self) -> TableFacts:
        """As in `FileSystemView`."""
        ...

    def partitions(self) -> Iterator[str]:
        """As in `FileSystemView`."""
        ...

    def groups(
        self, partition_path: str, file_ids: Sequence[str] | None = None
    ) -> Iterable[FileGroup]:
        """Yield the groups of a partition by file id; only those of `file_ids` if given."""
        ...


def answer(query: Query, source: GroupSource) -> list[FileSlice]:
    """Return the slices that a query selects, in its partition or in all."""
    path = query.partition_path
    paths = source.partitions() if path is None else (path,)
    found = (select(query, source.groups(each, query.file_ids), source.facts) for each in paths)
    return [each for part in found for each in part]
