"""Looking up incoming keys: the rows with the same texts are found."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.load.dedup import Bucket
from framework.engine.load.incoming_keys import incoming_keys
from framework.engine.load.input_rows import KEY
from framework.engine.load.key_input import Part
from framework.hudi.filegroup.base_file import KeyFooter
from framework.hudi.storage.memory import MemoryStorage

KEYS = st.text("abc", max_size=3)
PARTS = st.lists(
    st.tuples(st.sampled_from(["p=1", "p=2"]), st.lists(KEYS, min_size=1, max_size=6)),
    min_size=1,
    max_size=5,
)


def bucket_of(storage: MemoryStorage, parts: Sequence[tuple[str, list[str]]]) -> Bucket:
    """Store the parts as one Arrow file."""
    schema = pa.schema([(KEY, pa.string())])
    with storage.create("rows") as out, pa.ipc.new_file(out, schema) as writer:
        for _, keys in parts:
            writer.write_batch(pa.record_batch([pa.array(keys)], schema=schema))
    return Bucket(
        parts=[Part(path, len(keys), "rows", at) for at, (path, keys) in enumerate(parts)]
    )


def without_repeats(parts: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Return the parts with each key once, as deduplication leaves them."""
    seen: set[str] = set()
    found = []
    for path, keys in parts:
        fresh = [key for key in dict.fromkeys(keys) if key not in seen]
        seen |= {*fresh}
        if fresh:
            found.append((path, fresh))
    return found


def expected(
    parts: Sequence[tuple[str, list[str]]], keys: Sequence[str], path: str | None
) -> set[tuple[int, int]]:
    """Return the pairs of places, key by key."""
    rows = [(p, key) for p, found in parts for key in found]
    return {
        (position, row)
        for position, key in enumerate(keys)
        for row, (p, other) in enumerate(rows)
        if key == other and path in {None, p}
    }


@settings(max_examples=60, deadline=None)
@given(PARTS, st.lists(KEYS, max_size=12), st.sampled_from(["p=1", None]))
def test_incoming_keys_match_the_same_texts(
    parts: list[tuple[str, list[str]]], keys: list[str], path: str | None
) -> None:
    """Those of the asked partitions."""
    storage = MemoryStorage(uuid4().hex)
    parts = without_repeats(parts)
    bucket = bucket_of(storage, parts)
    found = incoming_keys(storage, bucket, None if path is None else frozenset({path}))
    wanted = expected(parts, keys, path)
    if found is None:
        assert not wanted
        return
    held = found.within(None)
    assert held is not None
    positions, rows = held.matches(texts(keys))
    assert positions.tolist() == sorted(positions.tolist())
    assert {*zip(positions.tolist(), rows.tolist(), strict=True)} == wanted
    assert len(positions) == len(wanted)


def texts(keys: Sequence[str]) -> pa.ChunkedArray:
    """Return a slice's keys."""
    return pa.chunked_array([pa.array(keys, pa.string())])


@pytest.mark.parametrize(
    ("bounds", "is_asked"),
    [(("a", "b"), False), (("b", "c"), True), (("e", "x"), True), (("f", "x"), False)],
)
def test_incoming_keys_are_asked_where_the_bounds_meet(
    bounds: tuple[str, str], *, is_asked: bool
) -> None:
    """Both ends are inclusive."""
    storage = MemoryStorage(uuid4().hex)
    bucket = bucket_of(storage, [("p=1", ["c", "e"])])
    found = incoming_keys(storage, bucket, None)
    assert found is not None
    footer = KeyFooter(rows=5, least=bounds[0], greatest=bounds[1], bloom=None)
    assert (found.within(footer) is not None) is is_asked


def test_incoming_keys_of_another_partition_are_none() -> None:
    """The bucket has rows of others only."""
    storage = MemoryStorage(uuid4().hex)
    bucket = bucket_of(storage, [("p=1", ["c"])])
    assert incoming_keys(storage, bucket, frozenset({"p=2"})) is None
