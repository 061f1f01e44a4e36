"""Apache Hudi reads every kind of table that we adopt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.interop.canonical import canonical_rows
from tests.interop.cases import Case
from tests.interop.differences import Effect, effect_of
from tests.interop.judge import Judge, JudgeError
from tests.interop.matrix import case_params
from tests.interop.queries import Query, expected_rows, queries_for

BOOTSTRAP_INSTANT = "00000000000001"


@pytest.mark.taking_turns(2)
@pytest.mark.parametrize("case", case_params())
def test_snapshot_of_an_adopted_table_has_the_source_rows(
    case: Case, judge: Judge, adopted: Callable[[Case], Path]
) -> None:
    """All projections, and filters on data, meta columns, both and the partition, are right."""
    location = adopted(case)
    if effect_of(case.exceptions, judge.version, Effect.READ_FAILS):
        with pytest.raises(JudgeError):
            judge.rows(location)
        return
    faults = [
        fault
        for query in queries_for(case)
        if (fault := _fault(case, judge, location, query)) is not None
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.taking_turns(2)
@pytest.mark.parametrize("case", case_params())
def test_meta_columns_of_an_adopted_table_name_their_file_and_row(
    case: Case, judge: Judge, adopted: Callable[[Case], Path]
) -> None:
    """Commit time is the bootstrap instant, sequence numbers differ, file names exist."""
    if effect_of(case.exceptions, judge.version, Effect.READ_FAILS):
        pytest.skip("the release cannot read this table at all")
    location = adopted(case)
    names = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_partition_path"]
    rows = judge.rows(location, [*names, "_hoodie_file_name"])
    assert {row[0] for row in rows} <= {BOOTSTRAP_INSTANT}
    assert len({row[1] for row in rows}) == len(rows) == len(case.rows)
    files = {(str(row[2]), str(row[3])) for row in rows}
    assert all((location / partition / name).is_file() for partition, name in files)


def _fault(case: Case, judge: Judge, location: Path, query: Query) -> str | None:
    """Return what is wrong with the answer to one query, None when it is right."""
    answer = judge.ask(
        "read", location=str(location), columns=list(query.columns), where=query.where
    )
    expected = expected_rows(case, case.rows, query)
    if not query.columns:
        found, count = answer["count"], len(expected)
        return None if found == count else f"{query.name}: {found} rows, not {count}"
    if effect_of(case.exceptions, judge.version, Effect.ESCAPED_VALUE):
        return _escaped_fault(query, answer["rows"], expected)
    return None if answer["rows"] == expected else _shown(query, answer["rows"], expected)


def _escaped_fault(
    query: Query, rows: list[list[object]], expected: list[list[object]]
) -> str | None:
    """Compare after undoing the escapes that the release leaves in partition values."""
    if query.name == "on partition":
        return None
    paths = [place for place, name in enumerate(query.columns) if name == "p"]
    undone = canonical_rows(
        [
            [unquote(str(value)) if place in paths else value for place, value in enumerate(row)]
            for row in rows
        ]
    )
    return None if undone == expected else _shown(query, undone, expected)


def _shown(query: Query, rows: list[list[object]], expected: list[list[object]]) -> str:
    """Say in few lines how two lists of rows differ."""
    extra = [row for row in rows if row not in expected][:2]
    missing = [row for row in expected if row not in rows][:2]
    return f"{query.name}: {len(rows)}/{len(expected)} rows, extra {extra}, missing {missing}"
