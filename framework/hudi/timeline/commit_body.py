"""The files of a commit, decoded partition by partition (format sheet, section 2.5).

A commit of 250,000 files is about 150 MB of JSON. It is first split into undecoded partitions, and
each partition is decoded on demand: memory holds the text and one partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from framework.errors import CorruptFileError, Where
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_metadata import LogAppend, WriteStat
from framework.hudi.timeline.instant import Instant

__all__ = ["CommitBody", "FileStat", "read_commit", "read_commit_body"]

_NO_PREVIOUS: Final = "null"
_T = TypeVar("_T")


class FileStat(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A HoodieWriteStat or HoodieDeltaWriteStat, under Hudi's names.

    `log_version` is None for a base file. `file_size_in_bytes` counts the bytes the commit itself
    wrote: for a log file that existed before, those from `log_offset` on.
    """

    file_id: str
    path: str
    prev_commit: str | None = None
    num_writes: int = 0
    num_inserts: int = 0
    num_update_writes: int = 0
    num_deletes: int = 0
    file_size_in_bytes: int = 0
    log_version: int | None = None
    log_offset: int = 0
    base_file: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the file after the commit; 0 if the commit does not record it."""
        written = self.file_size_in_bytes
        return max(self.log_offset, 0) + written if written > 0 else 0


class _Document(msgspec.Struct, rename="camel"):
    """The members of a commit that name files."""

    partition_to_write_stats: dict[str, msgspec.Raw] | None = None
    partition_to_replace_file_ids: dict[str, list[str] | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBody:
    """The files of one commit.

    Attributes:
        file: path of the commit's file, for errors.
        replaced: file ids that a replacecommit hides, by partition path; empty for other actions.
    """

    file: str
    replaced: Mapping[str, frozenset[str]]
    _stats: Mapping[str, msgspec.Raw] = field(repr=False)

    @property
    def partitions(self) -> Sequence[str]:
        """Paths of the partitions that the commit wrote to, in the commit's order."""
        return tuple(self._stats)

    def stats(self, partition_path: str) -> list[FileStat]:
        """Return the files of a partition in the commit's order; empty for an unknown partition.

        Raises:
            CorruptFileError: `timeline/corrupt-commit`.
        """
        found = self._stats.get(partition_path)
        return [] if found is None else _decoded(_STATS, found, self.file)

    def files(self) -> Iterator[WriteStat]:
        """Yield all files in the commit's order.

        Raises:
            CorruptFileError: `timeline/corrupt-commit`.
        """
        for partition in self._stats:
            yield from self.written(partition)

    def written(self, partition_path: str) -> Iterator[WriteStat]:
        """Yield the files of a partition in the commit's order; none for an unknown partition.

        Raises:
            CorruptFileError: `timeline/corrupt-commit`.
        """
        for stat in self.stats(partition_path):
            yield _write_stat(stat, partition_path)


_STATS: Final = msgspec.json.Decoder(list[FileStat])
_DOCUMENT: Final = msgspec.json.Decoder(_Document)


def read_commit_body(storage: Storage, path: str) -> CommitBody:
    """Return the files of a commit; reads its whole file.

    Raises:
        CorruptFileError: `timeline/empty-commit` for an empty completed instant,
            `timeline/corrupt-commit`.
    """
    place = f"{storage.location}/{path}"
    with storage.open_input(path) as source:
        data = bytes(source.read())
    document = _decoded(_DOCUMENT, data, place) if _has_content(data, place) else _Document()
    replaced = document.partition_to_replace_file_ids or {}
    return CommitBody(
        file=place,
        replaced=MappingProxyType({p: frozenset(ids or ()) for p, ids in replaced.items()}),
        _stats=MappingProxyType(document.partition_to_write_stats or {}),
    )


def read_commit(storage: Storage, path: str) -> Iterator[WriteStat]:
    """Yield the written files of a commit in the commit's order.

    Raises:
        CorruptFileError: as in `read_commit_body`.
    """
    return read_commit_body(storage, path).files()


def _has_content(data: bytes, place: str) -> bool:
    """Return whether there is a commit to decode; an empty pending instant is legal.

    Raises:
        CorruptFileError: `timeline/empty-commit`.
    """
    if data.strip():
        return True
    instant = Instant.parse(place.rpartition("/")[2])
    if instant is None or not instant.is_completed:
        return False
    raise CorruptFileError(
        "timeline/empty-commit",
        "the completed instant is empty, so its files are unknown",
        where=Where(file=place, instant=instant.requested_time),
        remedy="The file is damaged; restore it from a copy, nothing was changed.",
    )


def _decoded(decoder: msgspec.json.Decoder[_T], data: Any, place: str) -> _T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptFileError(
            "timeline/corrupt-commit",
            f"the commit cannot be used: {error}",
            where=Where(file=place),
            remedy="The file is damaged; restore it from a copy, nothing was changed.",
        ) from error


def _write_stat(stat: FileStat, partition: str) -> WriteStat:
    """Return a statistic under our names."""
    previous = stat.prev_commit
    version = stat.log_version
    return WriteStat(
        file_id=stat.file_id,
        path=stat.path,
        partition_path=partition,
        rows=stat.num_writes,
        size=stat.size,
        inserts=stat.num_inserts,
        updates=stat.num_update_writes,
        deletes=stat.num_deletes,
        previous=None if previous in (None, _NO_PREVIOUS) else previous,
        log=None if version is None else LogAppend(version=version, base_file=stat.base_file or ""),
    )
