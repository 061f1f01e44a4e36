"""The rows of one file group after a load: old rows, changed in place, then new ones.

Pure. Unchanged rows keep their commit time and sequence number; all rows get the new file's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.input_rows import KEY
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.bloom import BloomBuilder
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.base_file import BLOOM, BLOOM_TYPE, MAX_KEY, MIN_KEY
from framework.hudi.filegroup.merge import ranks
from framework.hudi.table.calendar import GREGORIAN
from framework.hudi.table.layout import MetaField

__all__ = [
    "GROUP_ROWS",
    "KEPT_META",
    "BaseFileForm",
    "Changes",
    "Combined",
    "GrowingFile",
    "NewFile",
    "base_bytes",
    "bloom_of",
    "combined",
    "footers_of",
    "held_schema",
    "whole",
    "written_rows",
]

GROUP_ROWS: Final = 1 << 20

KEPT_META: Final = (MetaField.COMMIT_TIME, MetaField.COMMIT_SEQNO, MetaField.RECORD_KEY)
"""The meta columns of old rows that are kept in a new file."""
_NUMBERED_ROWS: Final = 1 << 20


class BaseFileForm(Protocol):
    """What all base files of one commit have in common."""

    @property
    def table_schema(self) -> pa.Schema:
        """The table's columns without meta columns."""
        ...

    @property
    def avro_schema(self) -> str:
        """The same as Avro, with meta columns."""
        ...

    @property
    def bloom(self) -> BloomChoice:
        """The filter of each file."""
        ...


def base_bytes(
    form: BaseFileForm, rows: Combined, name: str
) -> tuple[bytes, tuple[str | None, str | None]]:
    """Return the file, and its least and greatest key, None if it has no rows.

    The keys are read back from the bytes and compared. Row groups have about a million rows.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    made = GrowingFile(form, name, rows.rows)
    made.add(rows)
    return made.finish()


def written_rows(
    form: BaseFileForm, rows: Combined, footers: Mapping[str, str], name: str
) -> bytes:
    """Return a file of these rows and key-values, after reading back and comparing its keys.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    made = GrowingFile(form, name, None)
    made.add(rows)
    return made.written(footers)


class GrowingFile:
    """A base file that gets its rows a part at a time; it holds the bytes, not the rows."""

    def __init__(self, form: BaseFileForm, name: str, rows: int | None) -> None:
        """Begin a file that gets `rows` rows; None makes no filter and no bounds."""
        self._form = form
        self._name = name
        self._spec = None if rows is None else form.bloom.spec(rows)
        self._bloom = None if self._spec is None else BloomBuilder(self._spec)
        self._ends: list[str] = []
        self._digests: list[base_file.KeyDigest] = []
        self._out: base_file.BaseFileBytes | None = None

    def add(self, rows: Combined) -> None:
        """Add rows, in row groups of about a million."""
        if self._out is None:
            data = rows.columns[len(base_file.META_FIELDS) :]
            schema = held_schema(self._form.table_schema, data)
            self._out = base_file.BaseFileBytes(schema, plain=base_file.varied(schema, data))
        for at in range(0, max(rows.rows, 1), GROUP_ROWS):
            self._out.add_row_group([column.slice(at, GROUP_ROWS) for column in rows.columns])
            self._digests.append(base_file.key_digest([rows.keys.slice(at, GROUP_ROWS)]))
        if rows.rows:
            found = pc.min_max(rows.keys)
            self._ends += [found["min"].as_py(), found["max"].as_py()]
        if self._bloom is not None:
            self._bloom.add(rows.keys)

    def finish(self) -> tuple[bytes, tuple[str | None, str | None]]:
        """Return the file with its filter, and the bounds of its keys.

        Raises:
            CorruptFileError: `bootstrap/read-back-differs`.
        """
        bounds = min(self._ends, default=None), max(self._ends, default=None)
        bloom = None
        if self._bloom is not None and self._spec is not None:
            bloom = self._bloom.footer(), self._spec.type_code
            self._bloom = None  # a byte a bit, more than the file
        return self.written(footers_of(self._form, bounds, bloom)), bounds

    def written(self, footers: Mapping[str, str]) -> bytes:
        """Return the file with these key-values, after reading its keys back.

        Raises:
            ValueError: nothing was added.
            CorruptFileError: `bootstrap/read-back-differs`.
        """
        if self._out is None:
            raise ValueError("a file to which nothing was added")
        written = self._out.finish(footers)
        base_file.check_keys(written, self._digests, self._name)
        return written


def held_schema(fields: Iterable[pa.Field], columns: Iterable[Any]) -> pa.Schema:
    """Return the fields for the columns in the same order, which may be dictionaries."""
    return pa.schema(
        [
            field.with_type(column.type) if pa.types.is_dictionary(column.type) else field
            for field, column in zip(fields, columns, strict=True)
        ]
    )


def footers_of(
    form: BaseFileForm, bounds: tuple[str | None, str | None], bloom: tuple[str, str] | None
) -> dict[str, str]:
    """Return the entries that Spark and Hudi's writers look for, also for a file without rows.

    Args:
        form: of the file.
        bounds: the least and the greatest key.
        bloom: text of the filter and code of its type; None without a filter.
    """
    found = {"parquet.avro.schema": form.avro_schema, "writer.model.name": "avro", **GREGORIAN}
    if bloom is not None:
        found |= {BLOOM: bloom[0], BLOOM_TYPE: bloom[1]}
    if bounds[0] is not None and bounds[1] is not None:
        found |= {MIN_KEY: bounds[0], MAX_KEY: bounds[1]}
    return found


def bloom_of(form: BaseFileForm, keys: pa.Array | pa.ChunkedArray) -> tuple[str, str] | None:
    """Return the filter of these keys and the code of its type; None if there is to be none."""
    spec = form.bloom.spec(len(keys))
    if spec is None:
        return None
    builder = BloomBuilder(spec)
    builder.add(keys)
    return builder.footer(), spec.type_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of a slice.

    Attributes:
        gone: places of rows that are deleted.
        gone_keys: their keys, if only these are written; else none.
        places: places of rows that an incoming row would replace, ascending, each once.
        rows: those incoming rows, in the order of `places`, then the new ones; columns are the key
            and the table's.
    """

    gone: np.ndarray
    gone_keys: pa.Array
    places: np.ndarray
    rows: pa.Table

    @classmethod
    def of_new(cls, rows: pa.Table) -> Self:
        """Return changes that only add rows."""
        none = np.empty(0, np.int64)
        return cls(gone=none, gone_keys=pa.array([], pa.string()), places=none, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """The rows of the new file, column by column.

    Attributes:
        columns: meta columns, then the table's.
        keys: the record keys, as one array.
        fresh: the keys of new rows.
        updated: number of rows that were replaced.
        superseded: number of rows whose ordering value is greater than the incoming one's.
    """

    columns: list[Any]
    keys: pa.Array
    fresh: pa.Array
    updated: int
    superseded: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """The base file to write.

    Attributes:
        name: its name.
        partition_path: its partition.
        numbers: commit and number of the file, which sequence numbers start with.
        first: earlier rows that have a number already.
    """

    name: str
    partition_path: str
    numbers: RowNumbers
    first: int = 0


def combined(
    old: pa.Table | None, changes: Changes, file: NewFile, *, ordering: str | None
) -> Combined:
    """Return the rows of a file group after `changes`.

    Args:
        old: the slice's rows as of `slice_rows`, with `KEPT_META`; None for a new group.
        changes: the changes.
        file: the base file to write.
        ordering: column whose greater value wins; of equal ones the incoming row wins. None: the
            incoming row wins.
    """
    new = changes.rows
    base = old.num_rows if old is not None else 0
    wins = wins_of(old, changes, ordering)
    taken = taken_places(base, changes, wins)
    keys = column_of(old, new, KEY, taken)
    rows, count = len(taken), changes.places.size
    columns = [
        commit_times(old, file.numbers.instant, taken),
        sequence_numbers(old, file, taken),
        keys,
        base_file.constant(file.partition_path, rows),
        base_file.constant(file.name, rows),
        *(column_of(old, new, name, taken) for name in new.column_names if name != KEY),
    ]
    updated = int(np.count_nonzero(wins))
    return Combined(
        columns=columns,
        keys=keys,
        fresh=new[KEY].combine_chunks().slice(count),
        updated=updated,
        superseded=count - updated,
    )


def wins_of(old: pa.Table | None, changes: Changes, ordering: str | None) -> np.ndarray:
    """Return for which of the places the incoming row wins."""
    count = changes.places.size
    if ordering is None or old is None or not count:
        return np.ones(count, dtype=bool)
    before = _decoded(old[ordering]).take(pa.array(changes.places))
    after = _decoded(changes.rows[ordering]).slice(0, count)
    rank = ranks(pa.concat_arrays([before, after]))
    found: np.ndarray = rank[count:] >= rank[:count]
    return found


def taken_places(base: int, changes: Changes, wins: np.ndarray) -> np.ndarray:
    """Return for each row of the new file its place among old rows followed by incoming ones."""
    places = np.arange(base)
    places[changes.places[wins]] = base + np.flatnonzero(wins)
    stays = np.ones(base, dtype=bool)
    stays[changes.gone] = False
    fresh = np.arange(changes.places.size, changes.rows.num_rows)
    return np.concatenate([places[stays], base + fresh])


def column_of(old: pa.Table | None, new: pa.Table, name: str, taken: np.ndarray) -> pa.Array:
    """Return one column of the new file; dictionary-encoded texts stay so."""
    if old is None:
        return whole(new[name])
    before, after = old[name], new[name]
    if pa.types.is_dictionary(before.type):
        after = after.dictionary_encode()
    elif pa.types.is_dictionary(after.type):
        after = after.cast(before.type)
    return whole(pa.chunked_array([*before.chunks, *after.chunks], before.type)).take(
        pa.array(taken)
    )


def _decoded(column: pa.ChunkedArray) -> Any:
    """Return a column as one array of its values, dictionary-encoded or not."""
    found = whole(column)
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def whole(column: pa.ChunkedArray) -> Any:
    """Return a column as one array; dictionary-encoded texts stay so."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    if not column.num_chunks:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def commit_times(old: pa.Table | None, instant: str, taken: np.ndarray) -> pa.DictionaryArray:
    """Return the commit times; unchanged rows keep theirs."""
    if old is None:
        return base_file.constant(instant, len(taken))
    base = old.num_rows
    encoded = whole(old[MetaField.COMMIT_TIME].dictionary_encode())
    texts = pa.concat_arrays([encoded.dictionary, pa.array([instant], pa.string())])
    codes = np.full(len(taken), len(texts) - 1, np.int32)
    kept = taken < base
    codes[kept] = encoded.indices.to_numpy(zero_copy_only=False)[taken[kept]]
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts)


def sequence_numbers(old: pa.Table | None, file: NewFile, taken: np.ndarray) -> pa.Array:
    """Return the sequence numbers; changed rows are numbered from the file's `first`."""
    base = old.num_rows if old is not None else 0
    is_new = taken >= base
    count = int(np.count_nonzero(is_new))
    stop = file.first + count
    starts = range(file.first, stop, _NUMBERED_ROWS)
    fresh = [file.numbers.texts(at, min(_NUMBERED_ROWS, stop - at)) for at in starts]
    if old is None:
        return pa.concat_arrays([pa.array([], pa.string()), *fresh])
    chunks = [*old[MetaField.COMMIT_SEQNO].chunks, *fresh]
    places = taken.copy()
    places[is_new] = base + np.arange(count)
    return pa.concat_arrays([pa.array([], pa.string()), *chunks]).take(pa.array(places))
