"""Comparing the keys that a base file's bytes hold with those that were meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.table.layout import MetaField

__all__ = ["KeyDigest", "check_keys", "differs", "key_digest"]

KeyDigest = tuple[int, int, int]
"""Rows, checksum of the text and checksum of the lengths of some keys."""

_KEY: Final = [MetaField.RECORD_KEY.value]


def key_digest(texts: Sequence[Any]) -> KeyDigest:
    """Return the digest of string arrays without nulls; how they are cut makes no difference."""
    rows = text = lengths = 0
    for array in texts:
        _, offsets_buffer, data = array.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset :][: len(array) + 1]
        rows += len(array)
        begin, end = int(offsets[0]), int(offsets[-1])
        text = google_crc32c.extend(text, data.slice(begin, end - begin))
        lengths = google_crc32c.extend(lengths, np.diff(offsets).tobytes())
    return rows, text, lengths


def check_keys(data: bytes | pa.Buffer, digests: Sequence[KeyDigest], name: str) -> None:
    """Read the keys back from a base file's bytes and compare each row group.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    parquet = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    if parquet.num_row_groups != len(digests):
        raise differs(name, f"{parquet.num_row_groups} row groups, not {len(digests)}")
    for group, expected in enumerate(digests):
        table = parquet.read_row_group(group, columns=_KEY, use_threads=False)
        if key_digest(table.column(0).chunks) != expected:
            raise differs(name, f"row group {group} holds other keys than were written")


def differs(name: str, message: str) -> CorruptFileError:
    """Return the error for a base file that does not hold what was meant."""
    return CorruptFileError(
        "bootstrap/read-back-differs",
        f"the file just written is wrong: {message}",
        where=Where(file=name),
        remedy="This is a fault of the machine or of this program; nothing was published.",
    )
