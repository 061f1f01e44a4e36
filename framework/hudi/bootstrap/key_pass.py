"""One pass over a file's key columns: text, order, hashes and bloom filter together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.bloom import BloomBuilder, BloomSpec
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.keygen.ordering import FollowedOrder, is_injective
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import null_rows, record_keys
from framework.hudi.table.partition_path import PartitionValue
from framework.vocabulary import BloomKind

__all__ = [
    "BloomChoice",
    "KeyFacts",
    "KeyPass",
    "KeyScan",
    "check_text",
    "key_columns",
    "key_facts",
]


_NULL_TEXT: Final = "__null__"
_WINDOW: Final = 8


class KeyScan:
    """Scan of one file's keys, batch by batch; keys are from columns, not automatic.

    Attributes:
        injective: whether composite texts so far split in only one way; if not, hashes of values
            are not valid for them.
    """

    def __init__(self, rule: KeyRule, values: Mapping[str, PartitionValue]) -> None:
        self._rule = rule
        self._values = values
        self._order = FollowedOrder()
        self._rows = self._nulls = 0
        self.injective = True

    @property
    def increasing(self) -> bool:
        """Whether all keys so far are not null and increase from row to row."""
        return self._order.increasing and not self._nulls

    def add(self, batch: Any) -> None:
        """Add a batch of key columns with at least one row.

        Raises:
            CorruptFileError: `key/not-utf8`.
        """
        check_text(batch, self._rows)
        self._rows += batch.num_rows
        self._nulls += null_rows(self._rule, batch, self._values).size
        if self._order.increasing:
            self._order.add(self._rule, batch, self._values)
            self.injective &= self._order.injective
        else:
            self.injective = self.injective and is_injective(self._rule, batch, self._values)

    def facts(self) -> KeyFacts:
        """Return the facts after the last batch, without least and greatest text."""
        return key_facts(self._rows, self._nulls, self._order)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomChoice:
    """The choice of each file's bloom filter.

    Attributes:
        kind: a value of `BloomKind`.
        expected_keys: keys to size the filter for; a file with fewer rows gets a filter for its
            rows. 0 always means the file's rows, at most `max_keys`.
        fpp: false-positive rate of a full filter.
        max_keys: keys of one file after which its filter does not grow.
    """

    kind: str = BloomKind.DYNAMIC.value
    expected_keys: int = 0
    fpp: float = 1e-9
    max_keys: int = 4_000_000

    def spec(self, rows: int) -> BloomSpec | None:
        """Return the filter for a file of `rows` rows, None if it gets none."""
        if self.kind == BloomKind.NONE:
            return None
        most = max(1, min(rows, self.max_keys))
        return BloomSpec(
            kind=BloomKind(self.kind),
            expected_keys=min(most, self.expected_keys or most),
            fpp=self.fpp,
            max_keys=most,
            is_quick=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """The facts of one file's keys.

    Attributes:
        rows: number of keys, including null ones.
        null_keys: rows whose key is null or, if Hudi refuses that, empty.
        min_key: least text by UTF-8 bytes; None without rows, or if no texts were made.
        max_key: greatest text, likewise.
        order_first: first key as order-preserving bytes; None unless `increasing` and with rows.
        order_last: last key, likewise.
        increasing: whether keys strictly increase in typed order from row to row.
        injective: whether different keys are sure to have different texts; checked only while
            keys increase.
    """

    rows: int
    null_keys: int
    min_key: str | None
    max_key: str | None
    order_first: bytes | None
    order_last: bytes | None
    increasing: bool
    injective: bool


class KeyPass:
    """Builder of one file's keys, batch by batch, and of their facts.

    `hashes` holds one uint64 array per batch, in order: equal keys have equal hashes.
    """

    def __init__(
        self,
        rule: KeyRule,
        values: Mapping[str, PartitionValue],
        bloom: BloomSpec | None,
        numbers: RowNumbers,
    ) -> None:
        """Start a file; `numbers` are used only for automatic keys."""
        self._rule = rule
        self._values = values
        self._numbers = numbers
        self._label = len(f"{rule.record_key[0]}:".encode()) if rule.is_composite else 0
        self._builder = BloomBuilder(bloom) if bloom else None
        self.hashes: list[np.ndarray] = []
        self._rows = self._nulls = 0
        self._bounds: tuple[str, str] | None = None
        self._order = FollowedOrder()

    def add(self, batch: Any) -> Any:
        """Return the record keys of a batch of key columns, as a string array without nulls.

        Raises:
            CorruptFileError: `key/not-utf8`.
        """
        keys = self._numbered(batch) if self._rule.is_automatic else self._of_columns(batch)
        self._rows += len(keys)
        if len(keys):
            self._note_bounds(keys)
            self.hashes.append(self._builder.add(keys) if self._builder else key_hashes(keys))
        return keys

    def _numbered(self, batch: Any) -> Any:
        """Return the automatic keys of a batch, of which only the number of rows is used."""
        keys = self._numbers.texts(self._rows, batch.num_rows)
        if len(keys):
            self._order.extend(self._numbers.order(self._rows, len(keys)))
        return keys

    def _of_columns(self, batch: Any) -> Any:
        """Return the keys made from a batch's columns."""
        check_text(batch, self._rows)
        self._nulls += null_rows(self._rule, batch, self._values).size
        keys = record_keys(self._rule, batch, self._values)
        if isinstance(keys, pa.ChunkedArray):
            keys = keys.combine_chunks()
        if keys.null_count:
            keys = keys.fill_null(_NULL_TEXT)
        if len(keys):
            self._order.add(self._rule, batch, self._values)
        return keys

    def facts(self) -> KeyFacts:
        """Return the facts after the last batch."""
        low, high = self._bounds or (None, None)
        return key_facts(self._rows, self._nulls, self._order, (low, high))

    def hash64(self) -> np.ndarray:
        """Return the hashes of all keys, in row order."""
        if len(self.hashes) == 1:
            return self.hashes[0]
        return np.concatenate([np.empty(0, np.uint64), *self.hashes])

    def bloom_footer(self) -> str | None:
        """Return the text of the bloom filter's footer, None if there is no filter."""
        return self._builder.footer() if self._builder else None

    def _note_bounds(self, keys: Any) -> None:
        """Widen the bounds by a batch of keys."""
        low, high = _bounds_of(keys, self._label)
        if self._bounds:
            low = min(low, self._bounds[0], key=str.encode)
            high = max(high, self._bounds[1], key=str.encode)
        self._bounds = low, high


def key_facts(
    rows: int,
    null_keys: int,
    order: FollowedOrder,
    bounds: tuple[str | None, str | None] = (None, None),
) -> KeyFacts:
    """Return the facts of a file's keys; `bounds` are the least and the greatest text."""
    ordered = order.increasing and null_keys == 0
    return KeyFacts(
        rows=rows,
        null_keys=null_keys,
        min_key=bounds[0],
        max_key=bounds[1],
        order_first=order.first if ordered else None,
        order_last=order.last if ordered else None,
        increasing=ordered,
        injective=ordered and order.injective,
    )


def key_columns(schema: Any, rule: KeyRule) -> Any:
    """Return the key columns of an Arrow schema; path-only columns are absent."""
    return pa.schema([schema.field(name) for name in rule.record_key if name in schema.names])


def check_text(batch: Any, before: int) -> None:
    """Refuse text that is not UTF-8, since each reader would replace it differently.

    `before` rows of the file came before the batch.

    Raises:
        CorruptFileError: `key/not-utf8`.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            values = column.cast(pa.large_binary()).to_pylist()
            row = next((at for at, value in enumerate(values) if _is_bad(value)), 0)
            raise CorruptFileError(
                "key/not-utf8",
                f"key column '{name}' contains text that is not UTF-8 in row {before + row}",
                remedy="Correct the file, choose another key column, or skip its partition.",
            ) from error


def _is_bad(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def _bounds_of(keys: Any, label: int) -> tuple[str, str]:
    """Return the least and the greatest of at least one key, in byte order.

    All keys start with the same `label` bytes. If all keys are long enough, comparing the next
    eight bytes as one number leaves few keys to compare as text.
    """
    _, offsets_buffer, data = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[keys.offset :][: len(keys) + 1]
    if np.diff(offsets).min() < label + _WINDOW:
        found = pc.min_max(keys)
        return found["min"].as_py(), found["max"].as_py()
    windows = np.ndarray((data.size - _WINDOW + 1,), f"V{_WINDOW}", data, strides=(1,))
    heads = windows[offsets[:-1] + label].view(">u8").astype(np.uint64)
    least, greatest = (
        keys.take(pa.array(np.flatnonzero(heads == edge))) for edge in (heads.min(), heads.max())
    )
    return pc.min(least).as_py(), pc.max(greatest).as_py()
