"""Incoming keys divided into lots are found in slices as by comparing every pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.load import key_lots, lot_matches
from framework.engine.load.input_rows import KEY
from framework.engine.load.key_lots import KeyLots, LotsFile, LotsReader, lots_writer
from framework.engine.reading.slice_rows import SliceKeys
from framework.hudi.filegroup.base_file import KeyFooter
from framework.hudi.storage.memory import MemoryStorage

pytestmark = pytest.mark.long

KEYS = st.text("abcé", max_size=3)
OWNED = st.lists(st.lists(KEYS, max_size=8), min_size=1, max_size=4)
SLICES = st.lists(
    st.lists(st.tuples(KEYS, st.booleans()), max_size=10, unique_by=lambda row: row[0]),
    min_size=1,
    max_size=4,
)


def once(owned: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the keys of each bucket, no key twice, as deduplication leaves them."""
    seen: set[str] = set()
    found = []
    for keys in owned:
        found.append([key for key in dict.fromkeys(keys) if key not in seen])
        seen |= {*keys}
    return found


def divided(storage: MemoryStorage, owned: Sequence[Sequence[str]], count: int) -> KeyLots:
    """Return incoming keys in one file for every two buckets."""
    files = []
    for first in range(0, len(owned), 2):
        path = f"{first}.lots"
        with lots_writer(storage, path, count) as writer:
            for bucket, keys in list(enumerate(owned))[first : first + 2]:
                writer.add(pa.array(keys, pa.string()), bucket, np.arange(len(keys), dtype="u4"))
        files.append(LotsFile(scope=None, path=path, bounds=tuple(writer.bounds)))
    return KeyLots(scope=None, count=count, files=tuple(files))


def slice_keys(rows: Sequence[tuple[str, bool]]) -> SliceKeys:
    """Return the keys of a slice in chunks of three; the second field is whether it is deleted."""
    texts = [key for key, _ in rows]
    chunks = [pa.array(texts[at : at + 3], pa.string()) for at in range(0, len(texts), 3)]
    deleted = np.flatnonzero(np.array([gone for _, gone in rows], dtype=bool))
    return SliceKeys(stored=pa.chunked_array(chunks, pa.string()), deleted=deleted)


def expected(
    owned: Sequence[Sequence[str]], rows: Sequence[tuple[str, bool]]
) -> tuple[list[tuple[int, int, int]], int]:
    """Return (position, bucket, row) of a slice, key by key, and how many deleted rows match."""
    incoming = {key: (at, row) for at, keys in enumerate(owned) for row, key in enumerate(keys)}
    records = [key for key, gone in rows if not gone]
    found = [(at, *incoming[key]) for at, key in enumerate(records) if key in incoming]
    return found, sum(gone and key in incoming for key, gone in rows)


def weak_hashes(keys: Any) -> np.ndarray:
    """Return the length of each key."""
    return np.array([len(key) for key in keys.to_pylist()], np.uint64)


@pytest.mark.parametrize("weak", [False, True])
@settings(max_examples=80, deadline=None)
@given(OWNED, SLICES, st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5)))
def test_lots_match_what_comparing_each_pair_finds(
    weak: bool,  # noqa: FBT001 - a parameter of the test
    owned: list[list[str]],
    slices: list[list[tuple[str, bool]]],
    sizes: tuple[int, int, int],
) -> None:
    """Whatever the number of lots and the sizes of rounds and of what is held."""
    owned = once(owned)
    count, in_round, held = sizes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_lots, "_ROUND_KEYS", in_round)
        patch.setattr(lot_matches, "_ADDED_KEYS", in_round + 1)
        patch.setattr(lot_matches, "_PROBED_KEYS", held)
        patch.setattr(lot_matches, "_HELD_MATCHES", held)
        if weak:
            patch.setattr(key_lots, "key_hashes", weak_hashes)
        storage = MemoryStorage(uuid4().hex)
        lots = divided(storage, owned, count)
        before = [entry.path for entry in storage.list("")]
        outcome = list(lot_matches.lot_matches(storage, "", lots, map(slice_keys, slices)))
        assert [entry.path for entry in storage.list("")] == before
    for each, rows in zip(outcome, slices, strict=True):
        found, hidden = expected(owned, rows)
        assert list(zip(*(some.tolist() for some in each.found), strict=True)) == found
        assert each.hidden == hidden
        assert each.rows == sum(not gone for _, gone in rows)


def test_lots_of_a_file_hold_each_key_once_with_its_place() -> None:
    """A key and its equal on the other side have lots of one number."""
    storage = MemoryStorage(uuid4().hex)
    keys = [f"k{number}" for number in range(1_000)]
    lots = divided(storage, [keys[:600], keys[600:]], 7)
    found: dict[str, tuple[int, int]] = {}
    with LotsReader(storage, [file.path for file in lots.files], 7) as reader:
        for number in range(7):
            rows = [row for batch in reader.lot(number) for row in batch.to_pylist()]
            assert 100 < len(rows) < 200
            found |= {row[KEY]: (row["owner"], row["place"]) for row in rows}
    assert found == {key: divmod(at, 600) for at, key in enumerate(keys)}


@pytest.mark.parametrize(
    ("bounds", "is_met"),
    [(("a", "b"), False), (("b", "c"), True), (("e", "x"), True), (("f", "x"), False)],
)
def test_lots_meet_a_slice_where_the_bounds_meet(bounds: tuple[str, str], *, is_met: bool) -> None:
    """Both ends are inclusive."""
    storage = MemoryStorage(uuid4().hex)
    lots = divided(storage, [["c", "e"]], 2)
    least, greatest = bounds
    assert lots.may_meet(KeyFooter(rows=5, least=least, greatest=greatest, bloom=None)) is is_met


def test_lots_between_whose_rounds_a_slice_lies_do_not_meet_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bounds are those of rounds, not of all keys."""
    monkeypatch.setattr(key_lots, "_ROUND_KEYS", 2)
    storage = MemoryStorage(uuid4().hex)
    lots = divided(storage, [["a", "b", "x", "y"]], 2)
    assert not lots.may_meet(KeyFooter(rows=5, least="c", greatest="m", bloom=None))
    assert lots.may_meet(KeyFooter(rows=5, least="c", greatest="x", bloom=None))
    assert lots.may_meet(KeyFooter(rows=5, least=None, greatest=None, bloom=None))
    assert not lots.may_meet(KeyFooter(rows=0, least="a", greatest="x", bloom=None))
    assert lots.may_meet(None)
