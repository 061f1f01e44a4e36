"""Bloom filters as in Apache Hudi's Parquet footers: SIMPLE and DYNAMIC_V0.

Byte layout: format sheet, section 3.4. A SIMPLE filter is one Hadoop `BloomFilter`. A DYNAMIC_V0
filter is a header and rows, each a whole filter. A row is full after `expected_keys` keys; once
`max_keys` are reached no row is added, and keys go to the existing rows in turn. So a key's row
depends on the order of insertion, which must therefore be the order of the rows in the file.

Bits are held one per byte, which numpy scatters into fast, and packed when the filter is written.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from framework.errors import CorruptFileError, PlanError
from framework.hudi.codecs.murmur import BLOCK_KEYS, KeyColumn, KeyWords, key_hashes, key_words
from framework.vocabulary import BloomKind

__all__ = [
    "MURMUR",
    "ONE_FILTER",
    "ROWS",
    "VERSION",
    "BloomBuilder",
    "BloomFilter",
    "BloomSpec",
    "HashedKeys",
    "Positions",
    "bloom_footer",
    "corrupt",
    "read_header",
]


ONE_FILTER: Final = struct.Struct(">iibi")
"""Header of one row: version, hash rounds, type of hash, bits."""
ROWS: Final = struct.Struct(">iii")
"""Fields after a dynamic filter's header: keys per row, keys in the last row, rows."""
VERSION: Final = -1
MURMUR: Final = 1

_INT32_MAX: Final = 2**31 - 1
_TEXT_MAX: Final = 64_000_000  # Arrow refuses footers with a text of more than 100 MB
_QUICK_ROUNDS: Final = 4
_TYPE_CODES: Final = {BloomKind.SIMPLE: "SIMPLE", BloomKind.DYNAMIC: "DYNAMIC_V0"}


class Positions:
    """`abs(seed % bits)` with Java's signs, into reused memory."""

    def __init__(self, bits: int) -> None:
        self._bits = np.uint32(bits)
        self._absolute = np.empty(BLOCK_KEYS, np.uint32)
        self._quotient = np.empty(BLOCK_KEYS, np.uint32)
        self._at = np.empty(BLOCK_KEYS, np.intp)

    def of(self, seeds: np.ndarray, base: np.ndarray | None = None) -> np.ndarray:
        """Return the positions plus `base` (uint32); valid until the next call."""
        a, q, at = (
            self._absolute[: seeds.size],
            self._quotient[: seeds.size],
            self._at[: seeds.size],
        )
        # The remainder's sign follows the seed, so its absolute value is that of abs(seed); the
        # least int32 stays itself, which as uint32 is right again.
        np.absolute(seeds.view(np.int32), out=a.view(np.int32))
        np.floor_divide(a, self._bits, out=q)  # numpy divides by a constant five times faster
        np.multiply(q, self._bits, out=q)  #      than it takes remainders
        np.subtract(a, q, out=a)
        if base is not None:
            np.add(a, base, out=a)
        at[:] = a
        return at


def read_header(data: bytes, at: int) -> tuple[int, int]:
    """Return rounds and bits of the filter at `at`."""
    if len(data) < at + ONE_FILTER.size:
        raise corrupt("is truncated in a header", len(data))
    version, rounds, hash_type, bits = ONE_FILTER.unpack_from(data, at)
    if (version, hash_type) != (VERSION, MURMUR) or rounds < 1 or bits < 1:
        raise corrupt(
            f"has version {version}, hash type {hash_type}, {rounds} rounds, {bits} bits", at
        )
    return rounds, bits


def corrupt(what: str, offset: int) -> CorruptFileError:
    """Return the error for a filter whose bytes are wrong at `offset`."""
    return CorruptFileError("bloom/corrupt", f"the bloom filter {what} (byte {offset})")


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSpec:
    """The dimensions of a filter.

    Attributes:
        kind: simple or dynamic; `none` has no filter, so nothing else may be used.
        expected_keys: keys of one row of the filter, at least 1.
        fpp: false-positive rate of one full row, between 0 and 1.
        max_keys: keys after which a dynamic filter stops growing; unused by a simple one.
        is_quick: whether it has two thirds of Hudi's hash rounds and a twentieth more bits, at the
            same rate (ADR 0011). Readers take both numbers from the filter.

    Raises:
        PlanError: `bloom/bad-size` if Hudi cannot hold a filter of these numbers.
    """

    kind: BloomKind = BloomKind.DYNAMIC
    expected_keys: int = 60_000
    fpp: float = 1e-9
    max_keys: int = 100_000
    is_quick: bool = False

    def __post_init__(self) -> None:
        if not (self.expected_keys >= 1 and 0 < self.fpp < 1 and 1 <= self.max_keys <= _INT32_MAX):
            message = f"no bloom filter has {self.expected_keys} keys, {self.fpp} false positives"
            raise PlanError("bloom/bad-size", f"{message} and at most {self.max_keys} keys")
        if self.bits > _INT32_MAX:
            raise PlanError(
                "bloom/bad-size",
                f"a bloom filter of {self.bits} bits is larger than Hudi can address",
                remedy="Lower bloom.expected_keys or raise bloom.false_positive_rate.",
            )
        if self.most_text > _TEXT_MAX:
            raise PlanError(
                "bloom/bad-size",
                f"a bloom filter of {self.max_keys} keys takes {self.most_text:,} bytes in the "
                f"footer, but Parquet readers accept at most {_TEXT_MAX:,}",
                remedy="Lower bloom.max_keys or raise bloom.false_positive_rate.",
            )

    @property
    def bits(self) -> int:
        """Bits of one row.

        Hudi's number is `ceil(n * (-ln p / (ln 2)^2))`, multiplied in its order; for k rounds,
        fewer than Hudi's, it is `ceil(n * k / -ln(1 - p^(1/k)))`.
        """
        if not self.is_quick:
            return self._usual_bits
        share = self.rounds / -math.log1p(-(self.fpp ** (1 / self.rounds)))
        return math.ceil(self.expected_keys * share)

    @property
    def rounds(self) -> int:
        """Hash rounds per key: Hudi's `ceil(ln 2 * bits / n)`, or two thirds of it."""
        usual = math.ceil(math.log(2) * self._usual_bits / self.expected_keys)
        return -(-2 * usual // 3) if self.is_quick else usual

    @property
    def _usual_bits(self) -> int:
        """Bits of one row of Hudi's filter."""
        return math.ceil(self.expected_keys * (-math.log(self.fpp) / (math.log(2) * math.log(2))))

    @property
    def most_text(self) -> int:
        """Bytes of the footer's text for `max_keys` keys or more."""
        return self.text_bytes(self.max_keys)

    def text_bytes(self, keys: int) -> int:
        """Return the bytes of the footer's text for a filter of `keys` keys."""
        row = ONE_FILTER.size + -(-self.bits // 8)
        if self.kind is BloomKind.SIMPLE:
            return _base64_bytes(row)
        most = max(1, -(-self.max_keys // self.expected_keys))
        rows = min(most, max(1, -(-keys // self.expected_keys)))
        return _base64_bytes(ONE_FILTER.size + ROWS.size + rows * row)

    @property
    def type_code(self) -> str:
        """The text of the footer `hoodie_bloom_filter_type_code`."""
        return _TYPE_CODES[self.kind]


class BloomBuilder:
    """Builder of a filter from batches of keys, in the order of the file's rows.

    Raises:
        ValueError: a spec of kind `none`.
    """

    def __init__(self, spec: BloomSpec) -> None:
        if spec.kind is BloomKind.NONE:
            raise ValueError("there is no filter of kind none")
        self.spec = spec
        self._keys = 0
        self._bits = np.zeros((1, spec.bits), np.bool_)
        self._positions = Positions(spec.bits)

    def add(self, keys: KeyColumn) -> np.ndarray:
        """Add the keys; return their `hash64` at no extra cost.

        Raises:
            ValueError: as in `framework.hudi.codecs.murmur.key_words`.
        """
        halves = np.empty((len(keys), 2), "<u4")
        rows = self._rows_of_next(len(keys))
        for block in key_words(keys):
            self._add_block(block, halves, None if rows is None else rows[block.places])
        self._keys += len(keys)
        return halves.view("<u8").reshape(len(keys))

    def serialize(self) -> bytes:
        """Return the filter as Hudi writes it, before base64."""
        row_header = ONE_FILTER.pack(VERSION, self.spec.rounds, MURMUR, self.spec.bits)
        packed = [row_header + np.packbits(r, bitorder="little").tobytes() for r in self._bits]
        if self.spec.kind is BloomKind.SIMPLE:
            return packed[0]
        in_last_row = self._keys - (len(packed) - 1) * self.spec.expected_keys
        sizes = ROWS.pack(self.spec.expected_keys, in_last_row, len(packed))
        return b"".join([row_header, sizes, *packed])

    def footer(self) -> str:
        """Return the text of the footer `org.apache.hudi.bloomfilter`."""
        return base64.b64encode(self.serialize()).decode("ascii")

    def clear(self) -> None:
        """Forget all keys but keep the memory for the next file, which saves page faults."""
        self._keys = 0
        self._bits = self._bits[:1]
        self._bits.fill(False)

    def _rows_of_next(self, count: int) -> np.ndarray | None:
        """Return each new key's row, None if all go to row 0; adds missing rows."""
        per_row = self.spec.expected_keys
        if self.spec.kind is BloomKind.SIMPLE or self._keys + count <= per_row:
            return None
        most = max(1, -(-self.spec.max_keys // per_row))
        needed = min(most, -(-(self._keys + count) // per_row))
        if needed > len(self._bits):
            fresh = np.zeros((needed - len(self._bits), self.spec.bits), np.bool_)
            self._bits = np.concatenate([self._bits, fresh])
        limit = most * per_row
        until = (np.arange(1, most + 1) * per_row - self._keys).clip(0, count)
        rows = np.repeat(np.arange(most, dtype=np.uint32), np.diff(until, prepend=0))
        # Hudi's first two keys past the end both go to row 0: its counter of turns starts late.
        past = self._keys + rows.size - limit
        one_turn = np.roll(np.arange(most, dtype=np.uint32), 1 - past)
        left = count - rows.size
        turns = np.tile(one_turn, -(-left // most))[:left]
        if past == 0:
            turns[:1] = 0
        return np.concatenate([rows, turns])

    def _add_block(self, block: KeyWords, halves: np.ndarray, rows: np.ndarray | None) -> None:
        """Set the bits of one block and store its first two rounds in `halves`."""
        flat = self._bits.reshape(-1)
        base = None if rows is None else rows * np.uint32(self.spec.bits)
        rounds = self.spec.rounds
        for turn in range(max(2, rounds)):
            h = block.next_round()
            if turn in {0, 1}:
                halves[block.places, 1 - turn] = h
            if turn < rounds:
                flat[self._positions.of(h, base)] = True


class HashedKeys:
    """A column of keys whose hashes and filter are made together.

    Build the filter before reading the hashes: it yields them for free.
    """

    __slots__ = ("_hash64", "keys")

    def __init__(self, keys: KeyColumn) -> None:
        self.keys = keys
        self._hash64: np.ndarray | None = None

    @classmethod
    def from_arrow(cls, keys: KeyColumn) -> HashedKeys:
        """Wrap a string or binary column without nulls; nothing is computed yet."""
        return cls(keys)

    @property
    def hash64(self) -> np.ndarray:
        """One uint64 per key, in the column's order: the hash's first two rounds."""
        if self._hash64 is None:
            self._hash64 = key_hashes(self.keys)
        return self._hash64

    def bloom(self, spec: BloomSpec) -> bytes:
        """Return the serialized filter of exactly these keys, before base64."""
        builder = BloomBuilder(spec)
        self._hash64 = builder.add(self.keys)
        return builder.serialize()


def bloom_footer(keys: KeyColumn, spec: BloomSpec) -> str:
    """Return the text of the footer `org.apache.hudi.bloomfilter` for these keys."""
    return base64.b64encode(HashedKeys(keys).bloom(spec)).decode("ascii")


class BloomFilter:
    """A filter read from a footer; any number of bits and rounds is accepted."""

    def __init__(self, rounds: int, rows: tuple[np.ndarray, ...], bits: int) -> None:
        self.rounds = rounds
        self.bits = bits
        self._rows = rows  # packed, lowest bit first

    @property
    def row_count(self) -> int:
        """Rows of a dynamic filter; 1 for a simple one."""
        return len(self._rows)

    @property
    def false_positive_rate(self) -> float:
        """Share of absent keys that it reports as present, computed from the set bits."""
        shares = (np.bitwise_count(row).sum() / self.bits for row in self._rows)
        return 1 - math.prod(1 - float(share) ** self.rounds for share in shares)

    @classmethod
    def parse(cls, text: str, kind: BloomKind) -> BloomFilter:
        """Parse the text of a footer.

        Raises:
            CorruptFileError: `bloom/corrupt`; `where.offset` counts the decoded bytes.
        """
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise CorruptFileError("bloom/corrupt", "the bloom filter is not base64") from error
        at, count = 0, 1
        if kind is BloomKind.DYNAMIC:
            read_header(data, 0)
            at = ONE_FILTER.size + ROWS.size
            if len(data) < at:
                raise corrupt("is truncated in its header", len(data))
            count = ROWS.unpack_from(data, ONE_FILTER.size)[2]
        return cls._of_rows(data, at, count)

    def might_contain(self, keys: KeyColumn) -> np.ndarray:
        """Return one bool per key: False is certain, True may be a false positive.

        A first pass of a few rounds drops most absent keys; only the rest get all rounds.
        """
        quick = min(self.rounds, _QUICK_ROUNDS)
        found = self._probe(keys, quick)
        left = np.flatnonzero(found)
        if quick < self.rounds and left.size:
            found[left] = self._probe(keys.take(left), self.rounds)
        return found

    @classmethod
    def _of_rows(cls, data: bytes, at: int, count: int) -> BloomFilter:
        """Parse `count` equal rows from `at` to the end of the data."""
        rounds, bits = read_header(data, at)
        size = ONE_FILTER.size + (bits + 7) // 8
        if count < 1 or len(data) - at != count * size:
            raise corrupt(f"has {len(data) - at} bytes for {count} rows of {size}", at)
        for row in range(1, count):
            if read_header(data, at + row * size) != (rounds, bits):
                raise corrupt(f"has a row {row} unlike the first", at + row * size)
        packed = np.frombuffer(data, np.uint8, offset=at).reshape(count, size)
        return cls(rounds, tuple(packed[:, ONE_FILTER.size :]), bits)

    def _probe(self, keys: KeyColumn, rounds: int) -> np.ndarray:
        """Return, per key, whether one row has all bits of the first `rounds` rounds."""
        found = np.empty(len(keys), np.bool_)
        positions = Positions(self.bits)
        for block in key_words(keys):
            passing = np.ones((len(self._rows), len(block)), np.bool_)
            for _ in range(rounds):
                at = positions.of(block.next_round())
                mask = np.left_shift(1, at & 7, dtype=np.uint8, casting="unsafe")
                for number, row in enumerate(self._rows):
                    passing[number] &= (row[at >> 3] & mask) != 0
            found[block.places] = passing.any(axis=0)
        return found


def _base64_bytes(size: int) -> int:
    """Return the base64 length of `size` bytes."""
    return 4 * -(-size // 3)
