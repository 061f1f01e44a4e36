"""Automatic keys of loads: the instant, the pinned file and the row in it (RFC-76)."""

from __future__ import annotations

from pathlib import Path

from framework.vocabulary import KeyScope, WriteOperation
from tests.support.writing import Lake, load, rows_of

_ROWS = [{"day": "mon", "v": f"row {n}"} for n in range(6)]


def test_automatic_keys_of_pinned_rows_are_the_same_in_every_attempt(tmp_path: Path) -> None:
    """They name instant, file and row: a task that runs again has nothing to choose."""
    lake = Lake(folder=tmp_path, record_key=(), scope=KeyScope.TABLE)
    result = load(lake, WriteOperation.INSERT, _ROWS[:3], _ROWS[3:])
    found = {row["v"]: row["_hoodie_record_key"] for row in rows_of(lake.location)}
    assert found == {
        row["v"]: f"{result.instant}_{at // 3}_{at % 3}" for at, row in enumerate(_ROWS)
    }
