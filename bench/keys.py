"""Cost of automatic keys: RFC-76's table of encodings reproduced, and ours beside it.

One file of 100,000 rows written by one task. RFC-76's four encodings are plain Parquet pages with
gzip, as in the RFC; ours is the original text, encoded as `DELTA_BYTE_ARRAY` with zstd as in
skeletons. Times are CPU time per key: making the text, writing the column, reading it.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import base64
import statistics
import sys
import time
import uuid
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from contest import ROOT
from report import finish
from targets import KEY_TARGETS

sys.path.insert(0, str(ROOT))

from collections.abc import Callable

from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes

__all__ = ["main"]

ROWS = 100_000
INSTANT = "20261121093000123"
PARTITION = 7
_EPOCH_MS = 1_795_253_400_123
_KEY = "_hoodie_record_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """Sizes of the key column in bytes, and nanoseconds per key."""

    plain: int
    packed: int
    make_ns: float
    write_ns: float
    read_ns: float

    @property
    def ns(self) -> float:
        """Time of making and writing together."""
        return self.make_ns + self.write_ns


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    makers = {
        "original": lambda: [f"{INSTANT}_{PARTITION}_{row}" for row in range(ROWS)],
        "UUID 7": lambda: [str(_uuid7()) for _ in range(ROWS)],
        "Base64": lambda: [base64.b64encode(_bytes13(row)).decode() for row in range(ROWS)],
        "ASCII": lambda: [_ascii(row) for row in range(ROWS)],
    }
    costs = {("keys", name): _rfc(make, options.samples) for name, make in makers.items()}
    costs["keys", "ours"] = _ours(options.samples)
    for (_, name), cost in costs.items():
        print(
            f"{name:9} plain {cost.plain:9,} B  packed {cost.packed:9,} B  "
            f"ratio {cost.plain / cost.packed:7.1f}  make {cost.make_ns:7.1f} ns  "
            f"write {cost.write_ns:6.1f} ns  read {cost.read_ns:6.1f} ns"
        )
    ratios = {target.name: target.ratio(costs) for target in KEY_TARGETS}
    missed = finish("keys", ratios, KEY_TARGETS)
    return int(bool(missed) and options.check)


def _rfc(make: Callable[[], list[str]], samples: int) -> Encoding:
    """Return the cost of an encoding of RFC-76."""

    def write(table: pa.Table) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="gzip", use_dictionary=False, store_schema=False)
        return sink.getvalue()

    table = pa.table({_KEY: make()})
    file = write(table)
    return Encoding(
        **_sizes(file),
        make_ns=_ns(make, samples),
        write_ns=_ns(lambda: write(table), samples),
        read_ns=_ns(lambda: pq.read_table(pa.BufferReader(file), use_threads=False), samples),
    )


def _ours(samples: int) -> Encoding:
    """Return the cost of a skeleton's key column."""
    numbers = RowNumbers(instant=INSTANT, number=PARTITION)

    def write(texts: pa.Array) -> bytes:
        out = SkeletonBytes(numbers=numbers, partition_path="", name="", numbers_are_keys=True)
        out.add_row_group([texts])
        return out.finish({})

    def read() -> pa.Table:
        return pq.read_table(pa.BufferReader(file), columns=[_KEY], use_threads=False)

    made = numbers.texts(0, ROWS)
    file = write(made)
    return Encoding(
        **_sizes(file),
        make_ns=_ns(lambda: numbers.texts(0, ROWS), samples),
        write_ns=_ns(lambda: write(made), samples),
        read_ns=_ns(read, samples),
    )


def _sizes(file: bytes | pa.Buffer) -> dict[str, int]:
    """Return the sizes of the key column: as plain values, and as pages."""
    group = pq.read_metadata(pa.BufferReader(file)).row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    texts = pq.read_table(pa.BufferReader(file), columns=[_KEY])[_KEY]
    plain = sum(len(text) + 4 for text in texts.to_pylist())
    return {"plain": plain, "packed": columns[_KEY].total_compressed_size}


def _ns(work: Callable[[], object], samples: int) -> float:
    """Return the median CPU time of the runs, in nanoseconds per key."""
    found = []
    for _ in range(samples):
        begun = time.process_time_ns()
        work()
        found.append((time.process_time_ns() - begun) / ROWS)
    return statistics.median(found)


def _uuid7() -> uuid.UUID:
    """Return a UUID of the current time and 74 random bits."""
    random = uuid.uuid4().int
    low = random & ((1 << 62) - 1)
    middle = random >> 116
    return uuid.UUID(int=_EPOCH_MS << 80 | 0x7 << 76 | middle << 64 | 0b10 << 62 | low)


def _bytes13(row: int) -> bytes:
    """Return the low bytes of instant, partition and row: 5, 3 and 5."""
    return (
        (_EPOCH_MS & (1 << 40) - 1).to_bytes(5, "big")
        + PARTITION.to_bytes(3, "big")
        + row.to_bytes(5, "big")
    )


def _ascii(row: int) -> str:
    """Return the same 13 bytes as 15 characters of seven bits."""
    number = int.from_bytes(_bytes13(row), "big") << 1
    return "".join(chr(number >> shift & 0x7F) for shift in range(98, -1, -7))


if __name__ == "__main__":
    sys.exit(main())
