"""Quarantined rows are read a few at a time, and shown as JSON has them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from framework.engine.quarantine.rows import rows_of
from framework.errors import CorruptFileError
from tests.support.quarantine import hand_made

RUN, INSTANT = "a" * 32, "20260101000000000"

ODD = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "Name": ["a", None, "ü"],
        "at": pa.array([0, 10**18, None], pa.timestamp("us")),
        "day": pa.array([date(2026, 1, 2), None, None]),
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(9, 2)),
        "share": [0.5, float("nan"), float("inf")],
        "raw": pa.array([b"\x00\xff", None, b""], pa.binary()),
        "parts": pa.array([[{"at": 10**18}], [], None], pa.list_(pa.struct([("at", pa.int64())]))),
    }
)


def test_rows_come_with_rules_and_places(tmp_path: Path) -> None:
    """In stored order, across files."""
    made = hand_made(tmp_path / "quarantine", tmp_path / "table", INSTANT, RUN)
    found = list(rows_of([made]))
    assert [each.row for each in found] == [0, 1, 2]
    assert [each.values["id"] for each in found] == [1, 2, 3]
    assert found[1].rules == ("odd",)
    assert found[1].file == "a.parquet"


def test_rows_of_a_rule_are_those_that_failed_it(tmp_path: Path) -> None:
    """Whatever else they failed."""
    made = hand_made(tmp_path / "quarantine", tmp_path / "table", INSTANT, RUN)
    assert [each.row for each in rows_of([made], rule="even")] == [0, 2]
    assert [each.row for each in rows_of([made], rule="odd")] == [0, 1, 2]
    assert list(rows_of([made], rule="none")) == []


def test_values_of_every_type_are_ready_for_json(tmp_path: Path) -> None:
    """Times beyond Python's years, decimals with their digits, bytes, what no number is."""
    made = hand_made(tmp_path / "quarantine", tmp_path / "table", INSTANT, RUN, ODD)
    found = [dict(each.values) for each in rows_of([made])]
    assert json.loads(json.dumps(found)) == found
    assert found[0]["price"] == "1.50"
    assert found[0]["day"] == "2026-01-02"
    assert str(10**18) in str(found[1]["at"])
    assert (found[1]["share"], found[2]["share"]) == ("nan", "inf")
    assert found[0]["raw"] == "AP8="
    assert found[0]["parts"] == [{"at": 10**18}]
    assert found[2]["Name"] == "ü"


def test_redacted_values_are_hidden_and_nulls_are_not(tmp_path: Path) -> None:
    """Those of the spec as it is, and as it was; case makes no difference."""
    made = hand_made(tmp_path / "quarantine", tmp_path / "table", INSTANT, RUN, ODD)
    rows = rows_of([replace(made, redacted=("id",))], redacted=("NAME",))
    found = [(each.values["id"], each.values["Name"]) for each in rows]
    assert found == [("***", "***"), ("***", None), (None, "***")]


def test_rows_are_read_as_far_as_they_are_asked_for(tmp_path: Path) -> None:
    """A later file may be missing."""
    made = hand_made(tmp_path / "quarantine", tmp_path / "table", INSTANT, RUN)
    Path(made.files[1]).write_bytes(b"no Parquet")
    assert len(list(islice(rows_of([made]), 2))) == 2
    with pytest.raises(CorruptFileError) as caught:
        list(rows_of([made]))
    assert caught.value.condition == "quarantine/not-readable"
