"""The input files of a load: the rows, sizes and columns in their footers."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.load.job import InputFile
from framework.engine.load.schema_evolution import InputSchema
from framework.errors import CorruptFileError, SourceDriftError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.table.schema import parquet_schema, unify

__all__ = ["InputFooters", "input_footers"]

_READERS = 8
_BATCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFooters:
    """The files of an input.

    Attributes:
        files: in the order of the input.
        schemas: the columns of the first file, then of each file that differs from the file
            before it; empty without files.
    """

    files: tuple[InputFile, ...]
    schemas: tuple[InputSchema, ...]

    def united(self) -> pa.Schema:
        """Return one schema that all files fit into.

        Raises:
            CorruptFileError: `input/schema-conflict`.
        """
        seen = {each.number: each for each in reversed(self.schemas)}
        first = [seen[number] for number in sorted(seen)]
        found = unify([each.schema for each in first])
        for conflict in found.conflicts:
            raise CorruptFileError(
                "input/schema-conflict",
                f"column '{conflict.column}' is {conflict.right}, but {conflict.left} in"
                f" {first[conflict.left_index].file}",
                where=Where(file=first[conflict.right_index].file),
                remedy="Write it in one type, or move such files to a separate folder and load"
                " them with a transform that casts it.",
            )
        return found.schema


def input_footers(paths: Iterable[str]) -> InputFooters:
    """Read the footers of files, several at once.

    Raises:
        SourceDriftError: `input/drift`; a file is missing.
        CorruptFileError: `input/corrupt-file`.
    """
    files: list[InputFile] = []
    distinct: list[pa.Schema] = []
    schemas: list[InputSchema] = []
    with ThreadPoolExecutor(_READERS) as pool:
        rest = iter(paths)
        while some := list(islice(rest, _BATCH)):
            for path, (entry, metadata) in zip(some, pool.map(_footer, some), strict=True):
                schema = parquet_schema(metadata)
                if schema not in distinct:
                    distinct.append(schema)
                number = distinct.index(schema)
                if not schemas or schemas[-1].number != number:
                    schemas.append(InputSchema(number=number, schema=distinct[number], file=path))
                files.append(
                    InputFile(
                        number=len(files),
                        path=path,
                        size=entry.size,
                        mtime_ns=entry.mtime_ns,
                        rows=metadata.num_rows,
                    )
                )
    return InputFooters(files=tuple(files), schemas=tuple(schemas))


def _footer(path: str) -> tuple[Entry, pq.FileMetaData]:
    """Return a file's current entry, and its footer."""
    folder, name = open_storage(parent_of(path)), name_of(path)
    entry = folder.stat(name)
    if entry is None:
        raise SourceDriftError(
            "input/drift",
            "an input file is missing",
            where=Where(file=path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name) as stream:
            return entry, pq.ParquetFile(stream).metadata
    except UNREADABLE as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=path),
            remedy="Restore the file, or remove it from the source.",
        ) from error
