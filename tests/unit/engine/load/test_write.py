"""How rewritten base files are made, as a run reports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.events import Event, StageFinished
from framework.vocabulary import WriteOperation
from tests.support.writing import Lake, load

ROWS = [{"id": number, "day": "a", "v": "old"} for number in range(3)]


@pytest.mark.parametrize(
    ("operation", "row", "reported"),
    [
        (WriteOperation.UPSERT, {"id": 1, "day": "a", "v": "new"}, "; 1 patched, 0 written whole"),
        (WriteOperation.DELETE, {"id": 1, "day": "a"}, "; 0 patched, 1 written whole"),
        (WriteOperation.UPSERT, {"id": 9, "day": "b", "v": "new"}, ""),
    ],
    ids=["patched", "whole", "new"],
)
def test_write_summary_counts_files_that_were_not_patched(
    tmp_path: Path, operation: WriteOperation, row: dict[str, object], reported: str
) -> None:
    """A file without one before it counts as neither."""
    lake, heard = Lake(folder=tmp_path), list[Event]()
    load(lake, WriteOperation.INSERT, ROWS)
    load(lake, operation, [row], events=heard.append)
    (summary,) = [
        each.summary for each in heard if isinstance(each, StageFinished) and each.stage == "write"
    ]
    assert summary.startswith("1 file, ")
    assert summary.endswith(f" bytes{reported}")
