"""The key entries of a base file's footer (format sheet, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.bloom import BloomFilter
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.hudi.storage.port import Storage
from framework.vocabulary import BloomKind

__all__ = [
    "BLOOM",
    "BLOOM_TYPE",
    "MAX_KEY",
    "MIN_KEY",
    "KeyFooter",
    "key_footer",
    "read_key_footer",
]

BLOOM: Final = "org.apache.hudi.bloomfilter"
BLOOM_TYPE: Final = "hoodie_bloom_filter_type_code"
MIN_KEY: Final = "hoodie_min_record_key"
MAX_KEY: Final = "hoodie_max_record_key"

_KINDS: Final = {"DYNAMIC_V0": BloomKind.DYNAMIC, "SIMPLE": BloomKind.SIMPLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFooter:
    """The part of a footer that describes keys.

    Attributes:
        rows: rows of the file.
        least: least record key in byte order, None if the footer lacks it.
        greatest: greatest record key, as `least`.
        bloom: text and type code of the filter, None without a filter of a known type.
    """

    rows: int
    least: str | None
    greatest: str | None
    bloom: tuple[str, str] | None

    def may_hold(self, keys: pa.Array) -> np.ndarray | None:
        """Return which keys are within the bounds; None if the footer has none."""
        if not self.rows:
            return np.zeros(len(keys), dtype=bool)
        if self.least is None or self.greatest is None:
            return None
        inside: Any = pc.and_(
            pc.greater_equal(keys, self.least), pc.less_equal(keys, self.greatest)
        )
        found: np.ndarray = inside.to_numpy(zero_copy_only=False)
        return found

    def might_contain(self, keys: pa.Array) -> np.ndarray | None:
        """Return which keys the filter does not exclude; None if there is no filter.

        Raises:
            CorruptFileError: as in `BloomFilter.parse`.
        """
        if self.bloom is None or not len(keys):
            return None
        text, code = self.bloom
        return BloomFilter.parse(text, _KINDS[code]).might_contain(keys)


def read_key_footer(storage: Storage, path: str) -> KeyFooter:
    """Return the key entries of a base file's footer; reads only the footer.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    try:
        with storage.open_input(path) as stream:
            metadata = SealedFooter.read(stream).metadata
    except UNREADABLE as error:
        raise CorruptFileError(
            "file/not-readable",
            f"the file cannot be read: {error}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="Restore the file from a copy.",
        ) from error
    return key_footer(metadata)


def key_footer(metadata: pq.FileMetaData) -> KeyFooter:
    """Return the key entries of a base file's metadata."""
    entries = metadata.metadata or {}
    texts = {name: _text(entries, name) for name in (BLOOM, BLOOM_TYPE, MIN_KEY, MAX_KEY)}
    text, code = texts[BLOOM], texts[BLOOM_TYPE]
    return KeyFooter(
        rows=metadata.num_rows,
        least=texts[MIN_KEY],
        greatest=texts[MAX_KEY],
        bloom=(text, code) if text is not None and code in _KINDS else None,
    )


def _text(entries: dict[bytes, bytes], name: str) -> str | None:
    """Return the text of one entry, None if it is absent or not text."""
    value = entries.get(name.encode())
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
