"""What each release makes of timestamps in milliseconds, and of a copy of their rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.interop.cases import CASES
from tests.interop.differences import DIFFERENCES
from tests.interop.judge import Judge
from tests.interop.support import adopt_case
from tests.interop.upserts import upsert_for, write_batch, writer_options

pytestmark = [pytest.mark.interop, pytest.mark.full]

NAME: Final = "millisecond-timestamp"
RIGHT: Final = "t:2024-05-06T12:30:01.005000"
WRONG: Final = "t:1970-01-20T20:23:18.601005"
"""As many microseconds after 1970 as there should be milliseconds."""


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_upsert_spoils_milliseconds_of_skeletons_just_where_the_gate_says_so(
    judge: Judge, tmp_path: Path, mode: str, table_type: str
) -> None:
    """Rows that the upsert leaves alone keep their times, or lose them without an error."""
    plain = next(case for case in CASES if NAME in case.exceptions)
    case = replace(plain, mode=mode, table_type=table_type)
    location = adopt_case(case, tmp_path)
    assert {row[0] for row in judge.rows(location, ["at"])} == {RIGHT}
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    judge.upsert(location, batch, writer_options(case, "SIMPLE"))
    spoils = judge.version in DIFFERENCES[NAME].releases and mode == "metadata_only"
    for key, at in judge.rows(location, ["_hoodie_record_key", "at"]):
        untouched = key not in upsert.touched
        assert at == (WRONG if spoils and untouched else RIGHT), key
