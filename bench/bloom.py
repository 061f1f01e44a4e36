"""Cost of a bloom filter, and its savings for Apache Hudi's bloom index, by size and rate.

Every filter is built by our own code from random keys, which key ranges cannot separate, so the
filter alone decides which files the index opens. Two sizings: for the file's own rows, and Apache
Hudi's default (60,000 keys a row of the filter, full at 100,000).

The columns: bytes of footer and nanoseconds of CPU per record; the share of absent keys that pass,
estimated from the set bits and measured with a million absent keys; the share of files that an
upsert of N new keys reads in vain; and the bytes per record that the index then reads (the filter,
and the keys of the files that it did not rule out). The last line is one JSON object
`{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import Target, finish

from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.codecs.bloom import BloomBuilder, BloomFilter
from framework.spec.sections.table_spec import BloomSpecModel

__all__ = ["main"]

FILE_ROWS = (1_000, 60_000, 400_000, 2_000_000)
RATES = (1e-9, 1e-7, 1e-6, 1e-4, 1e-3, 1e-2)
BATCHES = (10_000, 100_000, 1_000_000)
ABSENT = 1_000_000
DIGITS = 32
HUDI = "hudi"
DEFAULT = "default"
TARGETS = (
    Target(name="bytes, 1,000 rows: Hudi / default", set="", ours="", least=50),
    Target(name="bytes, 60,000 rows: Hudi / default", set="", ours="", least=1.25),
    Target(name="time, 60,000 rows: Hudi / default", set="", ours="", least=1.0),
    Target(name="read in vain, 60,000 rows, 10,000 keys", set="", ours="", most=0.02),
    Target(name="read in vain, 2,000,000 rows, 100,000 keys", set="", ours="", most=0.12),
    Target(name="index reads, 60,000 rows: Hudi / default", set="", ours="", least=0.9),
    Target(name="index reads, 2,000,000 rows: Hudi / default", set="", ours="", least=2.5),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One filter: bytes and time per record, and the share of absent keys that pass."""

    footer_bytes: float
    build_ns: float
    by_bits: float
    by_keys: float
    key_bytes: float

    def read_in_vain(self, keys: int) -> float:
        """Return the share of files that an upsert of N absent keys cannot rule out."""
        return float(-np.expm1(keys * np.log1p(-min(self.by_bits, 1 - 1e-12))))

    def index_reads(self, keys: int) -> float:
        """Return bytes per record that the index reads: filter, and keys of remaining files."""
        return self.footer_bytes + self.read_in_vain(keys) * self.key_bytes


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    _print_head()
    found: dict[tuple[int, str], Measured] = {}
    for rows in FILE_ROWS:
        keys = random_keys(rows, seed=rows)
        absent = random_keys(ABSENT, seed=1)
        key_bytes = _column_bytes(keys) / rows
        for name, choice in _contenders():
            # Apache Hudi sizes filters by its option only; ours never exceed the file's needs.
            fits = choice.spec(rows if name != HUDI else max(rows, choice.expected_keys))
            measured = _measure(keys, absent, fits, key_bytes)
            found[rows, name] = measured
            _print_row(rows, name, choice.fpp, measured)
    missed = finish("bloom", _ratios(found), TARGETS)
    return int(bool(missed) and options.check)


def random_keys(count: int, *, seed: int) -> pa.StringArray:
    """Return distinct keys of 32 random hexadecimal digits."""
    text = np.random.default_rng(seed).bytes(count * DIGITS // 2).hex().encode()
    offsets = np.arange(0, (count + 1) * DIGITS, DIGITS, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def _contenders() -> list[tuple[str, BloomChoice]]:
    """Return each filter by name: both sizings at each rate, and a spec's default."""
    made = []
    for rate in RATES:
        made.append((f"rows {rate:g}", BloomChoice(fpp=rate)))
        made.append(
            (f"60,000 {rate:g}", BloomChoice(expected_keys=60_000, fpp=rate, max_keys=100_000))
        )
    model = BloomSpecModel()
    default = BloomChoice(
        expected_keys=model.expected_keys or 0,
        fpp=model.false_positive_rate,
        max_keys=model.max_keys,
    )
    return [*made, (HUDI, made[1][1]), (DEFAULT, default)]


def _measure(keys: Any, absent: Any, spec: Any, key_bytes: float) -> Measured:
    """Build one filter, taking the best of three times, and query it."""
    seconds = []
    for _ in range(3):
        begun = time.process_time()
        builder = BloomBuilder(spec)
        builder.add(keys)
        text = builder.footer()
        seconds.append(time.process_time() - begun)
    filter_ = BloomFilter.parse(text, spec.kind)
    return Measured(
        footer_bytes=len(text) / len(keys),
        build_ns=min(seconds) / len(keys) * 1e9,
        by_bits=filter_.false_positive_rate,
        by_keys=float(filter_.might_contain(absent).mean()),
        key_bytes=key_bytes,
    )


def _column_bytes(keys: Any) -> int:
    """Return the bytes of the keys as a skeleton's column."""
    sink = pa.BufferOutputStream()
    encoding = {"k": "DELTA_BYTE_ARRAY"}
    table = pa.table({"k": keys})
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, column_encoding=encoding)
    return int(sink.getvalue().size)


def _print_head() -> None:
    batches = "".join(f" vain {keys // 1000:>4}k" for keys in BATCHES)
    print(
        f"{'rows':>9} {'sized for':12} {'rate':>6} {'B/rec':>7} {'ns/rec':>7} "
        f"{'by bits':>8} {'by keys':>8}{batches}{'reads 100k':>12}"
    )


def _print_row(rows: int, name: str, rate: float, measured: Measured) -> None:
    vain = "".join(f" {measured.read_in_vain(keys):10.2%}" for keys in BATCHES)
    print(
        f"{rows:9,} {name.split(' ', maxsplit=1)[0]:12} {rate:6.0e} {measured.footer_bytes:7.2f} "
        f"{measured.build_ns:7.1f} {measured.by_bits:8.1e} {measured.by_keys:8.1e}{vain}"
        f"{measured.index_reads(BATCHES[1]):12.2f}",
        flush=True,
    )


def _ratios(found: dict[tuple[int, str], Measured]) -> dict[str, float]:
    """Return the ratios of the targets."""
    ratios: dict[str, float] = {}
    for rows in FILE_ROWS:
        hudi, ours = found[rows, HUDI], found[rows, DEFAULT]
        ratios |= {
            f"bytes, {rows:,} rows: Hudi / default": hudi.footer_bytes / ours.footer_bytes,
            f"time, {rows:,} rows: Hudi / default": hudi.build_ns / ours.build_ns,
            f"index reads, {rows:,} rows: Hudi / default": (
                hudi.index_reads(BATCHES[1]) / ours.index_reads(BATCHES[1])
            ),
        } | {
            f"read in vain, {rows:,} rows, {keys:,} keys": ours.read_in_vain(keys)
            for keys in BATCHES
        }
    return {name: round(ratio, 4) for name, ratio in ratios.items()}


if __name__ == "__main__":
    sys.exit(main())
