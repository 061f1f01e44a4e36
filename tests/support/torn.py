"""Tearing one page of a Parquet file behind its sound footer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from framework.hudi.codecs.parquet_seal import chunk_start
from framework.hudi.codecs.thrift_struct import read_struct

__all__ = ["TEARS", "pages_of", "tear"]

TEARS: Final = ("dictionary header", "dictionary body", "data header", "data body")
_PAGE_BYTES: Final = 3  # field id of parquet.thrift


def pages_of(file: Path, column: int, group: int) -> list[tuple[range, range]]:
    """Return the places of the header and the body of each page of a column chunk."""
    data = file.read_bytes()
    chunk = pq.read_metadata(file).row_group(group).column(column)
    at, found = chunk_start(chunk), list[tuple[range, range]]()
    end = at + chunk.total_compressed_size
    while at < end:
        header, size = read_struct(data[at:end])
        body = at + size
        found.append((range(at, body), range(body, body + header[_PAGE_BYTES][1])))
        at = found[-1][1].stop
    return found


def tear(file: Path, column: int, group: int, what: str) -> None:
    """Invert the first bytes of one of `TEARS`; of a chunk with a dictionary, the first page."""
    first, *others = pages_of(file, column, group)
    header, body = first if what.startswith("dictionary") else others[0]
    place = (header if what.endswith("header") else body)[:8]
    data = bytearray(file.read_bytes())
    for at in place:
        data[at] ^= 0xFF
    file.write_bytes(data)
