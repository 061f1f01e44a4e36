"""Declared and named columns against those that a table has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.errors import PlanError
from framework.plan.quality.contract import (
    column_faults,
    contract_faults,
    quality_faults,
    spark_type_text,
    splitting_faults,
)
from framework.plan.quality.model import MAX_SPLITTING, Check, ColumnContract, Quality
from framework.plan.quality.of_spec import quality_of
from framework.plan.refusals import refuse
from framework.spec.loader import load_spec
from framework.spec.sql.spark_types import normal_type
from framework.vocabulary import CheckKind, OnFail
from tests.support.planning import (
    FLIGHTS,
    FLIGHTS_SCHEMA,
    a_plan,
    findings_of,
    flights_observation,
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.int8(), "tinyint"),
        (pa.int64(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float32(), "float"),
        (pa.bool_(), "boolean"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.binary(16), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.decimal128(10, 2), "decimal(10,2)"),
        (pa.list_(pa.list_(pa.int32())), "array<array<int>>"),
        (pa.map_(pa.string(), pa.decimal128(3, 0)), "map<string,decimal(3,0)>"),
        (
            pa.struct([("A", pa.int64()), ("b c", pa.struct([("d", pa.string())]))]),
            "struct<a:bigint,`b c`:struct<d:string>>",
        ),
    ],
)
def test_arrow_type_has_sparks_text(kind: Any, text: str) -> None:
    """The text is the normal one, so that both sides can be compared."""
    assert spark_type_text(kind) == text
    assert normal_type(text) == text


def test_type_without_a_text_of_sparks_has_arrows() -> None:
    """No contract can name it."""
    assert spark_type_text(pa.time64("us")) == "time64[us]"


def test_contract_that_fits_has_no_faults() -> None:
    """Case and second names of types make no difference; what is not declared is free."""
    columns = [
        ColumnContract(name="YEAR", type=normal_type("LONG")),
        ColumnContract(name="origin", nullable=False),
        ColumnContract(name="time_hour", type="timestamp"),
    ]
    assert contract_faults(columns, FLIGHTS_SCHEMA) == []


def test_columns_that_are_missing_or_have_another_type_are_all_reported() -> None:
    """With the nearest name, and the type that is there."""
    columns = [
        ColumnContract(name="orgin", key_path="table.columns.orgin"),
        ColumnContract(name="day", type="int", key_path="table.columns.day"),
    ]
    missing, differs = contract_faults(columns, FLIGHTS_SCHEMA)
    assert (missing.condition, missing.key_path) == (
        "contract/column-missing",
        "table.columns.orgin",
    )
    assert "'origin'" in missing.remedy
    assert (differs.condition, differs.key_path) == (
        "contract/type-differs",
        "table.columns.day.type",
    )
    assert "bigint" in differs.message


def a_check(kind: CheckKind, text: str, **more: Any) -> Check:
    """A check of the spec."""
    return Check(name="a", kind=kind, text=text, key_path="quality.checks[0]", **more)


def test_columns_that_checks_name_and_the_table_lacks_are_reported() -> None:
    """In predicates and conditions, and among those that are never shown."""
    quality = Quality(
        checks=(
            a_check(CheckKind.EXPECT, "dya > 0 AND _hoodie_file_name > ''", where="orgin = 'x'"),
            a_check(CheckKind.EXPECT_AGGREGATE, "max(YEAR) > 0 AND min(yaer) > 0"),
            a_check(CheckKind.QUERY, "SELECT nothing FROM this"),
        ),
        redacted=("carrier", "emial"),
    )
    found = column_faults(quality, [*FLIGHTS_SCHEMA.names, "month"])
    assert {fault.condition for fault in found} == {"quality/column-missing"}
    assert [(fault.key_path, fault.remedy) for fault in found] == [
        ("quality.checks[0].where", "Did you mean 'origin'?"),
        ("quality.checks[0].expect", "Did you mean 'day'?"),
        ("quality.checks[0].expect_aggregate", "Did you mean 'year'?"),
        ("quality.redact[1]", "Correct the name."),
    ]


def test_texts_that_do_not_fit_are_reported_if_types_are_known() -> None:
    """Without types nothing can be said of them."""
    quality = Quality(checks=(a_check(CheckKind.EXPECT, "day >= 'x' AND origin >= 'x'"),))
    names = FLIGHTS_SCHEMA.names
    types = {field.name: spark_type_text(field.type) for field in FLIGHTS_SCHEMA}
    assert column_faults(quality, names) == []
    (fault,) = column_faults(quality, names, types)
    assert (fault.condition, fault.key_path) == (
        "quality/text-does-not-fit",
        "quality.checks[0].expect",
    )


def test_fault_of_a_profile_is_refused_at_its_line_in_the_project_file(tmp_path: Path) -> None:
    """Positions of the spec lead to every file that it takes in."""
    (tmp_path / "run-pipeline.yml").write_text(
        "version: 1\nprofiles:\n  days:\n    - name: a\n      expect: dya > 0\n"
    )
    path = tmp_path / "a.pipeline.yml"
    path.write_text(FLIGHTS + "quality: {profiles: [days]}\n")
    spec = load_spec(path)
    faults = column_faults(quality_of(spec), FLIGHTS_SCHEMA.names)
    with pytest.raises(PlanError) as caught:
        refuse(faults, spec.positions)
    where = caught.value.where
    assert (where.file, where.line) == (str(tmp_path / "run-pipeline.yml"), 5)


def test_plan_takes_a_contract_that_the_footers_fit(tmp_path: Path) -> None:
    """A column that only folders have is there as well."""
    contract = "unique_within: table\n  columns: {day: {type: long}, month: {type: int}}"
    changes = {"unique_within: table": contract}
    assert a_plan(tmp_path, flights_observation(), changes=changes).has_changes


def test_plan_refuses_a_contract_that_the_footers_do_not_fit(tmp_path: Path) -> None:
    """At the line of the type."""
    contract = "unique_within: table\n  columns:\n    day: {type: int}"
    changes = {"unique_within: table": contract}
    (finding,) = findings_of(tmp_path, flights_observation(), changes=changes)
    assert (finding.rule, finding.where.line) == ("contract/type-differs", 11)


def test_plan_reports_columns_of_checks_without_a_contract(tmp_path: Path) -> None:
    """It is the first that knows them."""
    check = "quality: {redact: [emial], checks: [{name: a, expect: mnth > 0 AND day > 'x'}]}"
    changes = {"mode: metadata_only": f"mode: metadata_only\n{check}"}
    found = findings_of(tmp_path, flights_observation(), changes=changes)
    assert sorted((f.rule, f.key_path) for f in found) == [
        ("quality/column-missing", "quality.checks[0].expect"),
        ("quality/column-missing", "quality.redact[0]"),
        ("quality/text-does-not-fit", "quality.checks[0].expect"),
    ]


def splitting(count: int) -> Quality:
    """Return so many checks that take rows out, beside one that does not."""
    checks = [
        Check(
            name=f"c{number}",
            kind=CheckKind.EXPECT,
            text="id > 0",
            on_fail=[OnFail.QUARANTINE, OnFail.DROP][number % 2],
            key_path=f"quality.checks[{number}]",
        )
        for number in range(count)
    ]
    return Quality(checks=(*checks, Check(name="other", kind=CheckKind.EXPECT, text="id > 1")))


def test_more_checks_that_take_rows_out_than_there_are_bits_are_refused_at_the_first_too_many() -> (
    None
):
    """A row's failed checks are bits of one long."""
    assert splitting_faults(splitting(MAX_SPLITTING)) == []
    schema = pa.schema([("id", pa.int64())])
    (fault,) = quality_faults(splitting(MAX_SPLITTING + 2), schema)
    assert (fault.condition, fault.key_path) == ("quality/too-many", "quality.checks[62]")
