"""Keys that occur more than once in the input, also where the hashes of others are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from framework.engine.load import dedup
from framework.errors import AuditFailedError
from framework.hudi.codecs.murmur import KeyColumn, key_hashes
from framework.vocabulary import KeyScope, WriteOperation
from tests.support.writing import Lake, load, rows_of

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("n", pa.int64()), ("v", pa.string())]
)
HASHES = {"as they are": None, "all equal": 1, "of two values": 2}


@pytest.fixture(params=HASHES)
def hashed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let keys have hashes of a few values; return how many were asked for, call by call."""
    values, asked = HASHES[request.param], []

    def few(keys: KeyColumn) -> np.ndarray:
        asked.append(len(keys))
        found = key_hashes(keys)
        return found if values is None else found % np.uint64(values)

    monkeypatch.setattr(dedup, "key_hashes", few)
    return asked


@pytest.fixture(autouse=True, params=["in memory", "in parts"])
def compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hashes be compared at once, or from storage in eight parts."""
    if request.param == "in parts":
        monkeypatch.setattr(dedup, "_HELD_HASHES", 0)
        monkeypatch.setattr(dedup, "bucket_bits", lambda _: 3)


def rows(*found: tuple[int, str, int | None, str]) -> pa.Table:
    """Return input rows."""
    columns = zip(*found, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


@pytest.mark.parametrize("scope", KeyScope)
def test_gather_of_repeated_keys_keeps_the_greatest_version_of_each(
    scope: KeyScope, hashed: list[int], tmp_path: Path
) -> None:
    """The greater ordering value, of equal ones the last; by the scope in two partitions."""
    lake = Lake(folder=tmp_path, scope=scope, ordering="n")
    load(
        lake,
        WriteOperation.UPSERT,
        rows(
            (1, "a", 2, "kept"),
            (2, "a", 1, "kept"),
            (1, "a", 1, "older"),
            (3, "b", 5, "first of equal ones"),
            (4, "a", 1, "kept"),
            (3, "b", 5, "kept"),
            (2, "b", 0, "elsewhere"),
            (5, "c", None, "null is least"),
            (5, "c", -9, "kept"),
        ),
    )
    expected = {(1, "a"), (2, "a"), (3, "b"), (4, "a"), (5, "c")}
    if scope is KeyScope.PARTITION:
        expected.add((2, "b"))
    found = {(row["id"], row["day"]): row["v"] for row in rows_of(lake.location)}
    assert set(found) == expected
    assert set(found.values()) <= {"kept", "elsewhere"}
    assert sum(hashed) == 2 * 9  # once more where some hash repeats


def test_gather_of_repeated_keys_names_them_where_they_are_refused(
    hashed: list[int], tmp_path: Path
) -> None:
    """Only keys that are equal, not those whose hashes are."""
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION)
    found = rows((1, "a", 1, "x"), (2, "a", 1, "x"), (1, "a", 2, "y"), (1, "b", 1, "x"))
    with pytest.raises(AuditFailedError, match="1 record keys occur more") as caught:
        load(lake, WriteOperation.INSERT, found)
    assert caught.value.condition == "audit/duplicate-keys"
    samples: Any = caught.value.report["samples"]
    assert [(each["key"], each["count"]) for each in samples] == [("1", 2)]
    assert hashed
