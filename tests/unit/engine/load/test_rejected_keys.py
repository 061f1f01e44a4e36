"""Ways to number rows that RFC-76 rejects, and what each of them loses."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4
from zlib import crc32

from framework.vocabulary import KeyScope, WriteOperation
from tests.support.writing import Lake, load, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_ROWS = [{"day": "mon", "v": f"row {n}"} for n in range(6)]


def keys_by_partition(parts: Sequence[Sequence[dict[str, str]]]) -> list[int]:
    """Return what `monotonically_increasing_id` gives: partition and place in it."""
    return [(at << 33) + place for at, part in enumerate(parts) for place in range(len(part))]


def keys_by_chance(parts: Sequence[Sequence[dict[str, str]]]) -> list[str]:
    """Return a commit time with something random behind it."""
    return [f"20260101000000000_{uuid4()}" for part in parts for _ in part]


def lost_by_a_retry(keys: Callable[[Sequence[Sequence[dict[str, str]]]], Sequence[object]]) -> int:
    """Return how many rows a writer loses when half of its slices are computed a second time.

    Rows are packed by the hash of their key, as the upsert partitioner does; the second half of
    the buckets is written by a retry, for which rows and keys were computed anew, and the rows came
    in other partitions than before.
    """
    first = dict(zip(keys([_ROWS[:3], _ROWS[3:]]), _ROWS, strict=True))
    again_rows = [*_ROWS[3:], *_ROWS[:3]]
    again = dict(zip(keys([again_rows[:2], again_rows[2:]]), again_rows, strict=True))
    kept = [row for key, row in first.items() if crc32(str(key).encode()) % 2 == 0]
    kept += [row for key, row in again.items() if crc32(str(key).encode()) % 2 == 1]
    return len(_ROWS) - len({row["v"] for row in kept})


def test_keys_by_partition_and_place_lose_rows_when_a_stage_is_computed_again() -> None:
    """`monotonically_increasing_id` gives a row another key when partitions come otherwise."""
    assert lost_by_a_retry(keys_by_partition) > 0


def test_keys_by_chance_lose_rows_when_a_stage_is_computed_again() -> None:
    """A random suffix puts a row into another bucket each time: some are in none."""
    assert max(lost_by_a_retry(keys_by_chance) for _ in range(50)) > 0


def test_keys_of_pinned_rows_are_the_same_whoever_computes_them(tmp_path: Path) -> None:
    """Automatic keys tell instant, file and row, so a retry has nothing to choose."""
    lake = Lake(folder=tmp_path, record_key=(), scope=KeyScope.TABLE)
    result = load(lake, WriteOperation.INSERT, _ROWS[:3], _ROWS[3:])
    found = {row["v"]: row["_hoodie_record_key"] for row in rows_of(lake.location)}
    assert found == {
        row["v"]: f"{result.instant}_{at // 3}_{at % 3}" for at, row in enumerate(_ROWS)
    }
