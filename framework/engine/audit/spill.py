"""Hashes of keys, sent from the tasks that compute them to the tasks that compare them.

A spill is written by one task. Hashes are grouped into *buckets* by their highest bits, so that
comparing a bucket reads one block per flush of each spill:

    magic | flush 0: bucket 0, bucket 1, … | flush 0: files | flush 1: … | index | trailer

Inside a bucket the hashes are grouped by file; a large file comes in several parts, each like a
separate file. The counts per file and bucket lead from a hash back to the
files that contain it. The index is JSON. The trailer has the index's length and checksum, and the
magic again; the index has checksums of all blocks.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.storage.port import Storage

__all__ = [
    "Block",
    "SpillReader",
    "SpillWriter",
    "bucket_bits",
    "is_among",
    "partition_mix",
    "scope_mix",
]

_MAGIC: Final = b"LSSPILL1"
_ROWS_PER_BUCKET: Final = 1 << 20
_MOST_BITS: Final = 12
_LEAST_FLUSH: Final = 2 << 20
_MOST_FLUSH: Final = 8 << 20
_ROWS_PER_BLOCK: Final = 8 << 10
_NARROW: Final = 8
_TRAILER: Final = struct.Struct("<QI8s")


class Stretch(NamedTuple):
    """A range of bytes in a spill, with its CRC-32."""

    offset: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """One flush: a block for each bucket, and the counts of `count` files."""

    blocks: list[Stretch]
    files: Stretch
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillIndex:
    """The index at the end of a spill; `bits` of a hash choose its bucket."""

    bits: int
    flushes: list[Flush]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One bucket of one flush.

    Attributes:
        hashes: uint64, grouped by file.
        numbers: files of the flush, by their place in the inventory.
        counts: number of hashes of each file, in the same order.
    """

    hashes: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray

    def files_with(self, wanted: np.ndarray) -> np.ndarray:
        """Return the numbers of the files that contain one of the sorted `wanted` hashes."""
        places = np.flatnonzero(is_among(self.hashes, wanted))
        files = np.searchsorted(np.cumsum(self.counts), places, side="right")
        found: np.ndarray = self.numbers[np.unique(files)]
        return found


def bucket_bits(rows: int) -> int:
    """Return how many of the highest bits choose the bucket, for `rows` hashes in all."""
    buckets = -(-rows // _ROWS_PER_BUCKET)
    return min(_MOST_BITS, max(0, buckets - 1).bit_length())


def partition_mix(partition_path: str) -> int:
    """Return the value xored into the hashes of a partition's keys if keys are unique in it."""
    digest = hashlib.blake2b(partition_path.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def scope_mix(partition_path: str, *, by_partition: bool) -> np.uint64:
    """Return the value to xor into the hashes of a partition's keys; 0 in a table-wide scope."""
    return np.uint64(partition_mix(partition_path) if by_partition else 0)


class SpillWriter:
    """Writes a spill; holds at most two to eight million hashes, and those added last.

    It holds only enough to keep blocks from being small, so memory does not grow with the rows.
    """

    def __init__(self, out: BinaryIO, bits: int) -> None:
        self._out = out
        self._bits = bits
        self._flush_rows = min(_MOST_FLUSH, max(_LEAST_FLUSH, _ROWS_PER_BLOCK << bits))
        self._at = out.write(_MAGIC)
        self._files: list[tuple[int, np.ndarray, np.ndarray]] = []
        self._rows = 0
        self._flushes: list[Flush] = []

    def add(self, number: int, hashes: np.ndarray) -> None:
        """Add hashes of a file, which may come in several parts."""
        self._files.append((number, *self._by_bucket(hashes)))
        self._rows += hashes.size
        if self._rows >= self._flush_rows:
            self._flush()

    def finish(self) -> None:
        """Write the remaining hashes, and the index."""
        self._flush()
        index = encode(SpillIndex(bits=self._bits, flushes=self._flushes)).encode()
        self._out.write(index)
        self._out.write(_TRAILER.pack(len(index), zlib.crc32(index), _MAGIC))

    def _flush(self) -> None:
        """Write the held files, bucket by bucket, then their counts."""
        if not self._files:
            return
        numbers = np.array([number for number, _, _ in self._files], np.int64)
        cuts = np.stack([starts for _, _, starts in self._files])
        blocks = [
            self._write(
                np.concatenate(
                    [h[a:b] for (_, h, _), a, b in zip(self._files, first, last, strict=True)]
                )
            )
            for first, last in zip(cuts.T[:-1].tolist(), cuts.T[1:].tolist(), strict=True)
        ]
        counts = np.diff(cuts, axis=1).astype(np.uint32)
        files = self._write(
            np.concatenate([numbers.view(np.uint8), counts.reshape(-1).view(np.uint8)])
        )
        self._flushes.append(Flush(blocks=blocks, files=files, count=len(numbers)))
        self._files, self._rows = [], 0

    def _by_bucket(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return hashes by bucket, and where each bucket starts, with their number at the end."""
        if not self._bits:
            return hashes, np.array([0, hashes.size])
        narrow = np.uint8 if self._bits <= _NARROW else np.uint16  # numpy sorts both by radix
        buckets = (hashes >> np.uint64(64 - self._bits)).astype(narrow)
        sizes = np.bincount(buckets, minlength=1 << self._bits)
        order = np.argsort(buckets, kind="stable")
        return hashes[order], np.concatenate([[0], np.cumsum(sizes)])

    def _write(self, data: np.ndarray) -> Stretch:
        place = Stretch(self._at, data.nbytes, zlib.crc32(data.data))
        self._out.write(data.data)
        self._at += data.nbytes
        return place


class SpillReader:
    """Reads a spill by bucket.

    Raises:
        CorruptFileError: `audit/corrupt-spill`, here and from its methods.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path
        with storage.open_input(path) as stream:
            start = stream.size() - _TRAILER.size
            if start < 0:
                raise self._corrupt("it is truncated")
            length, crc, magic = _TRAILER.unpack(self._read(stream, start, _TRAILER.size))
            text = self._read(stream, max(0, start - length), length if length < start else 0)
            if magic != _MAGIC or zlib.crc32(text) != crc:
                raise self._corrupt("its trailer is damaged")
            index = decode(SpillIndex, bytes(text).decode())
        self.bits = index.bits
        self._flushes = index.flushes

    @property
    def total(self) -> int:
        """Number of hashes."""
        return sum(map(self.rows, range(1 << self.bits)))

    def verify(self) -> None:
        """Read all of it and compare the checksums."""
        with self._storage.open_input(self._path) as stream:
            for flush in self._flushes:
                for place in [*flush.blocks, flush.files]:
                    self._checked(stream, place, np.uint8)

    def rows(self, bucket: int) -> int:
        """Return the number of hashes in a bucket."""
        return sum(flush.blocks[bucket].size for flush in self._flushes) // 8

    def hashes(self, bucket: int) -> Iterator[np.ndarray]:
        """Yield the hashes of a bucket, one array per flush."""
        with self._storage.open_input(self._path) as stream:
            for flush in self._flushes:
                yield self._checked(stream, flush.blocks[bucket], np.uint64)

    def blocks(self, bucket: int) -> Iterator[Block]:
        """Yield a bucket with the files that its hashes come from."""
        with self._storage.open_input(self._path) as stream:
            for flush in self._flushes:
                count = flush.count
                files = self._checked(stream, flush.files, np.uint8)
                counts = files[count * 8 :].view(np.uint32).reshape(count, 1 << self.bits)
                yield Block(
                    hashes=self._checked(stream, flush.blocks[bucket], np.uint64),
                    numbers=files[: count * 8].view(np.int64),
                    counts=counts[:, bucket],
                )

    def _checked(self, stream: Any, place: Stretch, kind: Any) -> np.ndarray:
        """Return one array, after comparing its checksum."""
        data = self._read(stream, place.offset, place.size)
        if len(data) != place.size or zlib.crc32(data) != place.crc:
            raise self._corrupt(f"{place.size} bytes at {place.offset} are damaged")
        return np.frombuffer(data, kind)

    def _read(self, stream: Any, offset: int, size: int) -> memoryview:
        stream.seek(offset)
        return memoryview(stream.read_buffer(size))

    def _corrupt(self, reason: str) -> CorruptFileError:
        return CorruptFileError(
            "audit/corrupt-spill",
            f"the hashes of the keys cannot be used: {reason}",
            where=Where(file=f"{self._storage.location}/{self._path}"),
            remedy="Run again with --fresh; nothing was published.",
        )


def is_among(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return which values are among the sorted, non-empty `wanted`."""
    places = np.searchsorted(wanted, values)
    places[places == wanted.size] = 0
    found: np.ndarray = wanted[places] == values
    return found
