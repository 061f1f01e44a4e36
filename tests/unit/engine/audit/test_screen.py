"""Rows that are taken out before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.audit.screen import ScreenPlace, screen
from framework.engine.audit.subject import InputRows, Judged, Looking, QuarantineWork, WrittenRows
from framework.errors import AuditFailedError
from framework.hudi.storage.local import LocalStorage
from framework.plan.quality.model import Budget, Check, Quality
from framework.vocabulary import CheckKind, OnFail
from tests.support.fault_storage import FaultStorage, Killed


class _Known:
    """A checker that knows the bad rows of the only check."""

    def __init__(self, *rows: int) -> None:
        self._rows = rows

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Understand all."""

    def find_bad(self, rows: InputRows, checks: Sequence[Check], folder: str) -> Mapping[str, int]:
        """Write the known places."""
        del rows, checks
        Path(folder).mkdir(parents=True)
        places = pa.table(
            {name: pa.array(values, pa.int64()) for name, values in self._places().items()}
        )
        pq.write_table(places, f"{folder}/a.parquet")
        return {}

    def _places(self) -> dict[str, list[int]]:
        count = len(self._rows)
        return {"number": [0] * count, "row": list(self._rows), "mask": [1] * count}

    def quarantine(self, rows: InputRows, work: QuarantineWork) -> None:
        """Quarantine nothing."""

    def judge(self, rows: WrittenRows, how: Looking) -> Judged:
        """Judge nothing."""
        raise NotImplementedError


def screened(
    folder: Path, checker: _Known, budget: int = 0, *, kill_at: int = 0
) -> tuple[int, int]:
    """Return rows dropped, and files that lose rows; `kill_at` as of `FaultStorage`."""
    check = Check(
        name="few",
        kind=CheckKind.EXPECT,
        text="x",
        on_fail=OnFail.DROP,
        budget=Budget(rows=budget),
    )
    rows = InputRows(numbers=[0], paths=["/a"], partition_paths=[""], schema=pa.schema([]))
    place = ScreenPlace(
        storage=FaultStorage(LocalStorage(str(folder)), kill_at=kill_at),
        folder="screen",
        quarantine="",
        run_id="r",
        instant="1",
        total=10,
        origins={0: "/a"},
    )
    found = screen(checker, rows, Quality(checks=(check,)), place)
    return found.dropped, len(found.gone)


def test_input_without_bad_rows_loses_none(tmp_path: Path) -> None:
    """No file excludes any row."""
    assert screened(tmp_path, _Known()) == (0, 0)


def test_input_with_bad_rows_loses_them(tmp_path: Path) -> None:
    """Of their file."""
    assert screened(tmp_path, _Known(3, 5)) == (2, 1)


def test_screening_that_was_killed_at_any_step_is_done_again(tmp_path: Path) -> None:
    """A record that was cut off on its way to the disk is none."""
    kills = 0
    for step in range(1, 99):
        folder = tmp_path / str(step)
        folder.mkdir()
        try:
            found = screened(folder, _Known(3, 5), budget=9, kill_at=step)
        except Killed:
            kills += 1
            found = screened(folder, _Known(3, 5), budget=9)
            assert found == (2, 1)
        else:
            assert found == (2, 1)
            break
    assert kills > 3


def test_screening_that_is_done_again_returns_what_was_found(tmp_path: Path) -> None:
    """The checker is not asked twice."""
    assert screened(tmp_path, _Known(3, 5), budget=9) == (2, 1)
    assert screened(tmp_path, _Known(), budget=9) == (2, 1)


def test_refusal_over_a_budget_names_the_check(tmp_path: Path) -> None:
    """So that a tool can identify which of several it was."""
    with pytest.raises(AuditFailedError) as caught:
        screened(tmp_path, _Known(3, 5), budget=1)
    assert caught.value.condition == "audit/over-budget"
    assert caught.value.report["name"] == "few"
