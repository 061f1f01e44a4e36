"""Tests of specs, tried with the pipeline itself: what passes, what differs, what is an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.engine.spec_tests.result import SpecTestOutcome, SpecTestResult
from framework.errors import SpecError
from framework.spark.spec_tests.run_test import run_spec_test
from tests.support.spec_tests import a_spec, a_test, ready_tests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CSV: dict[str, Any] = {
    "format": "csv",
    "path": "lake/landing",
    "options": {"header": True, "sep": ";"},
    "schema": "id BIGINT, v DECIMAL(9,2), at TIMESTAMP, day DATE, note STRING",
}
HIVE: dict[str, Any] = {"path": "lake/raw", "layout": "hive"}
ALONE: dict[str, Any] = {"source": None, "write": None}


def checks(*found: Mapping[str, Any]) -> dict[str, Any]:
    """The section `quality` with these checks."""
    return {"quality": {"checks": list(found)}}


POSITIVE = {"name": "positive", "expect": "v > 0"}
QUARANTINING = {**POSITIVE, "on_fail": "quarantine"}


@pytest.fixture
def tried(spark: SparkSession, tmp_path: Path) -> Any:
    """Tries one test of a spec with some sections."""

    def try_it(test: Mapping[str, Any], **sections: Any) -> SpecTestResult:
        spec = a_spec(tmp_path, test, **sections)
        (ready,), faults = ready_tests(spec)
        assert faults == []
        folder = tmp_path / "tried"
        folder.mkdir()
        found = run_spec_test(spark, spec, ready, folder)
        assert not (tmp_path / "lake").exists()
        return found

    return try_it


def passed(trial: SpecTestResult) -> bool:
    """Return whether the test passed; print its result if not."""
    assert trial.error is None, str(trial.error)
    assert (trial.reasons, trial.differences) == ((), ())
    return trial.outcome is SpecTestOutcome.PASSED


def test_upsert_changes_quarantines_and_keeps_rows(tried: Any) -> None:
    """Each list is compared with what it is about."""
    test = a_test(
        table=[{"id": 1, "v": 5, "p": 1}, {"id": 2, "v": 5, "p": 1}],
        given=[{"id": 2, "v": 7.5, "p": 1}, {"id": 3, "v": -1, "p": 2}],
        expect={
            "written": [{"id": 2, "v": 7.5}],
            "quarantined": [{"id": 3, "_lakestrap_rules": ["positive"]}],
            "table_after": [{"id": 2, "p": 1}, {"id": 1, "p": 1}],
        },
    )
    assert passed(tried(test, **checks(QUARANTINING)))


def test_clean_rows_pass_a_check_that_quarantines_rows(tried: Any) -> None:
    """Where none is bad."""
    test = a_test(
        given=[{"id": 1, "v": 1, "p": 1}], expect={"written": [{"id": 1}], "quarantined": []}
    )
    assert passed(tried(test, **checks(QUARANTINING)))


def test_rows_that_differ_are_reported(tried: Any) -> None:
    """Of every list, with the values that there are."""
    test = a_test(
        given=[{"id": 1, "v": 7, "p": 1}, {"id": 2, "v": -7, "p": 1}],
        expect={"written": [{"id": 1, "v": 8}], "table_after": [], "quarantined": []},
    )
    found = tried(test, **checks(QUARANTINING))
    assert found.outcome is SpecTestOutcome.FAILED
    assert [(d.what, d.missing) for d in found.differences] == [
        ("written", (("1", "8"),)),
        ("table_after", ()),
        ("quarantined", ()),
    ]
    assert [d.unexpected for d in found.differences] == [
        (("1", "7"),),
        (("1", "7", "1"),),
        (("2", "-7", "1"),),
    ]


def test_csv_is_written_and_read_with_the_options_of_the_source(tried: Any) -> None:
    """No value is lost on the way, a partition column may be in folders, and SQL runs."""
    row = {"id": 1, "v": 2.5, "at": "2026-01-01 10:00:00.123456", "day": "2026-01-31"}
    test = a_test(
        given=[{**row, "note": " a;b", "p": 3}],
        expect={"written": [{**row, "note": " A;B", "p": 3}]},
    )
    sql = "SELECT id, v, at, day, upper(note) AS note, p FROM source"
    assert passed(tried(test, source=CSV, transforms=[{"name": "loud", "sql": sql}]))


@pytest.mark.parametrize("form", ["json", "orc", "parquet"])
def test_other_formats_of_files_are_written_as_such(tried: Any, form: str) -> None:
    """With nested values, and with columns that hold nothing but nulls."""
    row = {"id": 1, "p": 1, "a": [1, 2], "s": {"x": "y"}, "n": None}
    source = {
        "format": form,
        "path": "lake/landing",
        "schema": "id BIGINT, p INT, a ARRAY<INT>, s STRUCT<x: STRING>, n STRING",
    }
    assert passed(tried(a_test(given=[row], expect={"written": [row]}), source=source))


def test_source_in_another_format_is_replaced(tried: Any) -> None:
    """Its options and its secrets are not asked."""
    source = {"format": "jdbc", "options": {"url": "${secret.none}", "dbtable": "x"}}
    test = a_test(given=[{"id": 1, "p": 1}], expect={"written": [{"id": 1}]})
    assert passed(tried(test, source=source))


def test_types_of_the_contract_hold_for_given_rows(tried: Any) -> None:
    """And a column that rows leave out is there."""
    columns = {
        "id": {"type": "bigint"},
        "p": {},
        "v": {"type": "decimal(9,2)"},
        "day": {"type": "date"},
    }
    sql = "SELECT id, p, v, day FROM this WHERE typeof(v) <> 'decimal(9,2)' OR day IS NOT NULL"
    test = a_test(given=[{"id": 1, "p": 1, "v": 2}], expect={"written": [{"v": "2.00", "id": 1}]})
    found = tried(test, table={"columns": columns}, **checks({"name": "types", "query": sql}))
    assert passed(found)


def test_rows_before_take_the_types_of_what_is_loaded(tried: Any) -> None:
    """Also behind transforms; a column that they leave out is null."""
    sql = "SELECT id, p, CAST(v AS DECIMAL(9,2)) AS v, current_date() AS day FROM source"
    test = a_test(
        table=[{"id": 1, "p": 1, "v": 5}],
        given=[{"id": 2, "p": 1, "v": "7.25"}],
        expect={"table_after": [{"id": 1, "v": 5}, {"id": 2, "v": 7.25}]},
    )
    assert passed(tried(test, transforms=[{"name": "cast_all", "sql": sql}]))


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_delete_writes_no_rows_and_takes_some(tried: Any, kind: str) -> None:
    """In both types of tables."""
    test = a_test(
        table=[{"id": 1, "p": 1, "v": 5}, {"id": 2, "p": 1, "v": 6}],
        given=[{"id": 1, "p": 1}, {"id": 9, "p": 1}],
        expect={"written": [], "table_after": [{"id": 2, "v": 6}]},
    )
    assert passed(tried(test, table={"type": kind}, write={"operation": "delete"}))


def test_merge_on_read_shows_the_rows_that_win(tried: Any) -> None:
    """An older version changes nothing."""
    test = a_test(
        table=[{"id": 1, "p": 1, "v": 5}],
        given=[{"id": 1, "p": 1, "v": 4}, {"id": 2, "p": 1, "v": 1}],
        expect={"written": [{"id": 2}], "table_after": [{"id": 1, "v": 5}, {"id": 2, "v": 1}]},
    )
    table = {"type": "merge_on_read", "ordering": {"columns": ["v"]}}
    assert passed(tried(test, table=table))


def test_deleted_partitions_are_removed(tried: Any) -> None:
    """Without a source."""
    test = a_test(table=[{"id": 1, "p": 1}, {"id": 2, "p": 2}], expect={"table_after": [{"id": 2}]})
    write = {"operation": "delete_partition", "partitions": ["p=1"]}
    assert passed(tried(test, source=None, write=write))


@pytest.mark.parametrize("layout", ["hive", "positional"])
def test_bootstrap_adopts_rows_by_its_modes_and_rules(tried: Any, layout: str) -> None:
    """Of partitions that are taken; a rule that matches nothing is no fault here."""
    rules = [
        {"where": {"p": ">= 9"}, "mode": "skip"},
        {"where": {"p": "2"}, "mode": "full_record"},
        {"where": {"p": "7"}, "mode": "fail"},
    ]
    test = a_test(
        given=[{"id": number, "p": number, "v": number - 3} for number in (1, 2, 4, 9)],
        expect={
            "written": [{"id": 4, "p": 4, "v": 1}],
            "quarantined": [{"id": 1, "p": 1}, {"id": 2, "p": 2}],
        },
    )
    bootstrap = {**HIVE, "layout": layout, "rules": rules}
    assert passed(tried(test, bootstrap=bootstrap, **ALONE, **checks(QUARANTINING)))


def test_bootstrap_of_an_unpartitioned_source_is_tried(tried: Any) -> None:
    """Its rows are in one file."""
    test = a_test(given=[{"id": 1}, {"id": 2}], expect={"written": [{"id": 2}, {"id": 1}]})
    bootstrap = {"path": "lake/raw", "layout": "none"}
    assert passed(tried(test, bootstrap=bootstrap, table={"partition_by": {}}, **ALONE))


def test_load_into_an_adopted_table_is_tried(tried: Any) -> None:
    """The rows before are those that are adopted."""
    test = a_test(
        table=[{"id": 1, "p": 1, "v": 1}, {"id": 2, "p": 2, "v": 1}],
        given=[{"id": 1, "p": 1, "v": 2}],
        expect={"written": [{"id": 1, "v": 2}], "table_after": [{"id": 1}, {"id": 2}]},
    )
    assert passed(tried(test, bootstrap=HIVE))


GIVEN = [{"id": 1, "p": 1, "v": 1}, {"id": 2, "p": 1, "v": -1}]


@pytest.mark.parametrize(
    ("section", "given", "refused_by", "rejected"),
    [
        (POSITIVE, GIVEN, "positive", [{"id": 2, "v": -1}]),
        ({**POSITIVE, "over": "table"}, GIVEN, "positive", [{"id": 2}, {"id": 7}]),
        (
            {"name": "no_twos", "query": "SELECT id AS bad FROM this WHERE id = 2"},
            GIVEN,
            "no_twos",
            [{"bad": 2}],
        ),
        ({"name": "many", "expect_aggregate": "count(*) > 5"}, GIVEN, "many", []),
        ({**QUARANTINING, "max_failed": "1%"}, GIVEN, "positive", []),
        (POSITIVE, [{"id": None, "p": 1, "v": 1}, GIVEN[0]], "null-keys", [{"id": None}]),
        (POSITIVE, [{"id": 7, "p": 2, "v": 1}, GIVEN[0]], "taken-keys", [{"id": 7}]),
        (
            POSITIVE,
            [GIVEN[0], {**GIVEN[0], "v": 2}],
            "duplicate-keys",
            [{"id": 1, "v": 1}, {"id": 1, "v": 2}],
        ),
    ],
)
def test_refused_run_is_expected_by_its_checks_and_rows(
    tried: Any, section: Any, given: Any, refused_by: str, rejected: Any
) -> None:
    """Whatever refuses it; the table is as it was."""
    test = a_test(
        table=[{"id": 7, "p": 2, "v": -5}],
        given=given,
        expect={
            "refused_by": [refused_by],
            "rejected": rejected,
            "written": [],
            "table_after": [{"id": 7, "v": -5}],
        },
    )
    assert passed(tried(test, write={"operation": "insert"}, **checks(section)))


def test_keys_that_a_bootstrap_refuses_are_rejected(tried: Any) -> None:
    """With the columns of their folders."""
    test = a_test(
        given=[{"id": 1, "p": 1}, {"id": 1, "p": 2}, {"id": 2, "p": 2}],
        expect={
            "refused_by": ["duplicate-keys"],
            "rejected": [{"id": 1, "p": 1}, {"id": 1, "p": 2}],
        },
    )
    assert passed(tried(test, bootstrap=HIVE, **ALONE))


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ({"written": []}, "the run was refused: 1 check of 1 failed: `positive` (v > 0) by 1 of 2"),
        ({"refused_by": ["null-keys"]}, "should be refused by `null-keys`, but was by `positive`"),
    ],
)
def test_unexpected_refusal_is_reported(tried: Any, expect: Any, reason: str) -> None:
    """In its own words."""
    found = tried(a_test(given=GIVEN, expect=expect), **checks(POSITIVE))
    assert found.outcome is SpecTestOutcome.FAILED
    assert reason in found.reasons[0]


def test_run_that_should_be_refused_and_is_not_is_reported(tried: Any) -> None:
    """By that alone."""
    expect = {"refused_by": ["null-keys"], "table_after": []}
    found = tried(a_test(given=GIVEN, expect=expect))
    assert found.reasons == ("the run should be refused by `null-keys`, but was not",)
    assert found.differences == ()


def test_run_without_rows_writes_none(tried: Any) -> None:
    """There is nothing to load, and no table."""
    assert passed(tried(a_test(given=[], expect={"written": [], "table_after": []})))


@pytest.mark.parametrize(
    ("test", "sections", "condition"),
    [
        (a_test(given=GIVEN), {"write": {"operation": "delete"}}, "load/no-table"),
        (
            a_test(given=GIVEN),
            {"transforms": [{"name": "wrong", "sql": "SELECT nothing FROM source"}]},
            "input/bad-sql",
        ),
        (a_test(given=GIVEN, expect={"written": [{"x": 1}]}), {}, "tests/unknown-column"),
        (a_test(given=GIVEN, expect={"written": [{"id": "a"}]}), {}, "tests/value-does-not-fit"),
        (a_test(table=[GIVEN[0], GIVEN[0]], given=GIVEN), {}, "tests/no-table"),
        (
            a_test(table=[{"id": 1, "v": "x"}], given=GIVEN),
            {"transforms": [{"name": "same", "sql": "SELECT * FROM source"}]},
            "tests/value-does-not-fit",
        ),
    ],
)
def test_test_without_a_result_is_an_error(
    tried: Any, test: Any, sections: Any, condition: str
) -> None:
    """Typed, and where it is the test's own fault, with its line."""
    found = tried(test, **sections)
    assert found.outcome is SpecTestOutcome.ERROR
    assert found.error.condition == condition
    if condition.startswith("tests/"):
        assert found.error.where.line is not None
    if isinstance(found.error.__cause__, SpecError):
        (finding,) = found.error.__cause__.findings
        assert finding.source_line is not None
