"""The files of a Spark job once it has committed: only these, under names that stay."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from framework.errors import EngineError, Where

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

__all__ = ["StagedFile", "settle"]

_COMMITTED: Final = "_SUCCESS"
_PART: Final = re.compile(r"part-(\d+)-.*-c(\d+)(?:\.\w+)?\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """One file of a staged input; `path` is absolute, `rows` is never 0."""

    path: str
    rows: int
    size_bytes: int


def settle(folder: Path, *, rows: int) -> tuple[pa.Schema, tuple[StagedFile, ...]]:
    """Return schema and files of a committed job after they got their names; the rest is removed.

    Files without rows go too. Spark writes one for its first task even so, which has the schema.

    Args:
        folder: absolute; nothing but one job of Spark has written into it.
        rows: how many it says that it has written.

    Raises:
        EngineError: `input/rows-differ`; the files are not those that Spark has written.
        OSError: as the operating system says.
    """
    parts = _parts(folder) if (folder / _COMMITTED).exists() else []
    if not parts:
        raise _rows_differ(folder, "no file")
    footers = [_footer(part) for part in parts]
    found = sum(count for _, count in footers)
    if found != rows:
        raise _rows_differ(folder, f"{found} of {rows} rows")
    files: list[StagedFile] = []
    for part, (_, count) in zip(parts, footers, strict=True):
        if count:
            files.append(_named(part, len(files), count))
        else:
            part.unlink()
    for other in folder.iterdir():
        if other.name.startswith((".", "_")):  # checksums of names that went, and the mark
            other.unlink()
    return footers[0][0], tuple(files)


def _parts(folder: Path) -> list[Path]:
    """Return the data files in the order of Spark's tasks, and of files within a task."""
    matches = [(_PART.fullmatch(path.name), path) for path in folder.iterdir()]
    numbered = [(int(match[1]), int(match[2]), path) for match, path in matches if match]
    return [path for *_, path in sorted(numbered)]


def _footer(path: Path) -> tuple[pa.Schema, int]:
    """Return schema and rows of a file."""
    with path.open("rb") as data:
        file = pq.ParquetFile(data)
        return file.schema_arrow.remove_metadata(), file.metadata.num_rows


def _named(part: Path, number: int, rows: int) -> StagedFile:
    """Give a file the name of its place among those with rows."""
    path = part.rename(part.parent / f"part-{number:05d}.parquet")
    return StagedFile(path=str(path), rows=rows, size_bytes=path.stat().st_size)


def _rows_differ(folder: Path, found: str) -> EngineError:
    """Return the error for a folder that does not have what Spark has written."""
    return EngineError(
        "input/rows-differ",
        f"{found} that Spark has written can be found in the folder",
        where=Where(file=str(folder)),
        remedy="Let every executor see this folder under the same path, as it must see the table.",
    )
