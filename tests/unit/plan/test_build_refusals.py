"""Each way in which a spec does not fit what is there, by condition and place."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import (
    CommitConflictError,
    LeaseHeldError,
    PlanError,
    SpecError,
)
from framework.plan import checks
from framework.plan.build import Earlier, build
from framework.plan.observation import Observation
from tests.support.planning import (
    a_pending_run,
    a_plan,
    a_source,
    a_spec,
    a_table,
    findings_of,
    flights_observation,
    partition,
    seen,
    with_columns,
)

FULL = {"mode: metadata_only": "mode: full_record"}


@pytest.mark.parametrize(
    ("table", "source", "condition", "key_path"),
    [
        ("/lake/raw/flights/t", "/lake/raw/flights", "target/inside-source", "table.location"),
        ("/lake/raw/flights", "/lake/raw/flights/", "target/is-source", "table.location"),
        ("/lake", "/lake/raw/flights", "target/holds-source", "bootstrap.path"),
    ],
)
def test_build_with_overlapping_places_is_refused(
    tmp_path: Path, table: str, source: str, condition: str, key_path: str
) -> None:
    """Links may make two different paths the same place; canonical paths are compared."""
    observation = seen(a_source("month=1", location=source), location=table)
    (finding,) = findings_of(tmp_path, observation)
    assert (finding.rule, finding.key_path) == (condition, key_path)


@pytest.mark.parametrize("table", ["/lake/raw/flights2", "/lake/raw/flight"])
def test_build_with_a_shared_prefix_of_names_is_allowed(tmp_path: Path, table: str) -> None:
    """Places are compared by folder, not by text."""
    assert a_plan(tmp_path, seen(a_source("month=1"), location=table)).has_changes


def test_build_on_foreign_content_names_it(tmp_path: Path) -> None:
    """Foreign content at the target is neither used nor removed."""
    observation = seen(a_source("month=1"), foreign_content=("notes.txt", "old"))
    (finding,) = findings_of(tmp_path, observation)
    assert (finding.rule, finding.key_path) == ("target/foreign-content", "table.location")
    assert "notes.txt, old" in finding.message


def test_build_beside_a_foreign_pending_instant_is_refused(tmp_path: Path) -> None:
    """Another writer is at work, or died: its instant must end first."""
    observation = seen(a_source("month=1"), foreign_pending=("20260101000000000.inflight",))
    with pytest.raises(CommitConflictError) as caught:
        a_plan(tmp_path, observation)
    assert caught.value.condition == "table/foreign-pending"


def test_build_while_a_run_holds_the_table_is_refused(tmp_path: Path) -> None:
    """A live run is neither resumed nor rolled back."""
    pending = a_pending_run(held_by="host a, process 1, for 12 s")
    with pytest.raises(LeaseHeldError) as caught:
        a_plan(tmp_path, flights_observation(pending=pending))
    assert (caught.value.condition, caught.value.exit_code) == ("lease/held", 4)


def test_build_of_a_source_without_files_is_refused(tmp_path: Path) -> None:
    """An empty source is most likely a wrong path."""
    (finding,) = findings_of(tmp_path, seen(a_source(schema=None)))
    assert (finding.rule, finding.key_path) == ("source/empty", "bootstrap.path")


def test_build_with_every_partition_skipped_is_refused(tmp_path: Path) -> None:
    """A table without any file is not what rules are for."""
    changes = {"mode: metadata_only": "mode: skip"}
    (finding,) = findings_of(tmp_path, flights_observation(), changes=changes)
    assert finding.rule == "source/empty"
    assert "skipped" in finding.message


def test_build_of_more_files_than_a_table_may_begin_with_is_refused(tmp_path: Path) -> None:
    """The limit is stated, with what to do."""
    many = partition("month=1", 0, files=checks.MAX_FILES + 1)
    (finding,) = findings_of(tmp_path, seen(a_source(many)))
    assert (finding.rule, finding.key_path) == ("source/too-many-files", "bootstrap.path")
    assert "640.0 MB" in finding.message


def test_build_of_as_many_files_as_a_table_may_begin_with_is_allowed(tmp_path: Path) -> None:
    """The limit is inclusive."""
    many = partition("month=1", 0, files=checks.MAX_FILES)
    assert a_plan(tmp_path, seen(a_source(many))).has_changes


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        ("month=01", "partition/value-changes"),
        ("month=x", "partition/value-unreadable"),
        ("mnth=1", "partition/wrong-field"),
        ("month=1/day=2", "partition/wrong-depth"),
    ],
)
def test_build_of_a_partition_that_does_not_fit_its_type_is_refused(
    tmp_path: Path, path: str, condition: str
) -> None:
    """The text of a folder must come back unchanged from the declared type."""
    (finding,) = findings_of(tmp_path, seen(a_source("month=10", path)))
    assert (finding.rule, finding.key_path) == (condition, "table.partition_by")
    assert finding.where.partition == path
    assert (finding.where.file or "").endswith("flights.pipeline.yml")
    assert finding.where.line == 6


def test_build_of_many_partitions_that_do_not_fit_is_one_fault_that_names_them(
    tmp_path: Path,
) -> None:
    """Nine months written with two digits are one mistake, not nine."""
    source = a_source(*(f"month=0{m}" for m in range(1, 10)), "month=10")
    (finding,) = findings_of(tmp_path, seen(source))
    assert finding.where.partition == "month=01"
    assert all(f"'month=0{m}'" in finding.message for m in range(2, 10))
    assert "string" in (finding.suggestion or "")


def test_build_of_a_missing_key_column_suggests_the_right_spelling(tmp_path: Path) -> None:
    """The nearest column is offered."""
    (finding,) = findings_of(
        tmp_path, flights_observation(), changes={"carrier, flight": "carrier, flihgt"}
    )
    assert (finding.rule, finding.key_path) == ("key/column-missing", "table.record_key.columns[4]")
    assert "'flight'" in (finding.suggestion or "")


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        (pa.float64(), "key/type-has-no-stable-text"),
        (pa.float32(), "key/type-has-no-stable-text"),
        (pa.timestamp("us", "UTC"), "key/type-has-no-stable-text"),
        (pa.struct([("a", pa.int32())]), "key/nested"),
        (pa.list_(pa.int32()), "key/nested"),
    ],
)
def test_build_of_a_key_without_one_text_form_is_refused(
    tmp_path: Path, kind: pa.DataType, condition: str
) -> None:
    """Types whose text differs between Hudi's writers are no keys."""
    source = a_source("month=1", schema=with_columns(flight=kind))
    (finding,) = findings_of(tmp_path, seen(source))
    assert (finding.rule, finding.key_path) == (condition, "table.record_key.columns[4]")
    assert "flight" in finding.message


def test_build_of_a_null_key_in_the_path_names_the_partitions(tmp_path: Path) -> None:
    """A key column that only folders hold is null in the default partition."""
    source = a_source("month=1", "month=__HIVE_DEFAULT_PARTITION__")
    (finding,) = findings_of(tmp_path, seen(source))
    assert (finding.rule, finding.key_path) == ("key/null", "table.record_key.columns[1]")
    assert "month=__HIVE_DEFAULT_PARTITION__" in finding.message


def test_build_of_a_null_key_in_a_skipped_partition_is_allowed(tmp_path: Path) -> None:
    """What is left outside the table has no keys."""
    rules = """mode: metadata_only
  rules:
    - {partition: 'month=__HIVE.*', mode: skip}
"""
    source = a_source("month=1", "month=__HIVE_DEFAULT_PARTITION__")
    assert a_plan(tmp_path, seen(source), changes={"mode: metadata_only\n": rules}).has_changes


def test_build_of_a_default_partition_outside_the_key_is_allowed(tmp_path: Path) -> None:
    """A null partition value is legal where it is no part of the key."""
    source = a_source("month=1", "month=__HIVE_DEFAULT_PARTITION__")
    assert a_plan(tmp_path, seen(source), changes={"[year, month, day": "[year, day"}).has_changes


def test_build_of_a_missing_ordering_column_is_refused(tmp_path: Path) -> None:
    """Ties would be broken by nothing."""
    changes = {"copy_on_write": "merge_on_read\n  ordering: {columns: [updated_at]}"}
    (finding,) = findings_of(tmp_path, flights_observation(), changes=changes)
    assert (finding.rule, finding.key_path) == (
        "ordering/column-missing",
        "table.ordering.columns[0]",
    )


@pytest.mark.parametrize(
    ("rule", "condition"),
    [
        ("{partition: 'month=13', mode: skip}", "rules/matches-nothing"),
        ("{where: {month: '> 12'}, mode: skip}", "rules/matches-nothing"),
        ("{partition: 'month=1', mode: fail}", "rules/partition-fails"),
    ],
)
def test_build_of_a_rule_that_stops_points_at_its_line(
    tmp_path: Path, rule: str, condition: str
) -> None:
    """Rule faults are shown at the rule's line."""
    changes = {"mode: metadata_only\n": f"mode: metadata_only\n  rules:\n    - {rule}\n"}
    (finding,) = findings_of(tmp_path, flights_observation(), changes=changes)
    assert (finding.rule, finding.key_path) == (condition, "bootstrap.rules[0]")
    assert (finding.where.line, finding.source_line) == (16, f"    - {rule}")


def test_build_with_several_faults_reports_them_all_by_line(tmp_path: Path) -> None:
    """One run reports everything, sorted by line; the error is the first fault."""
    source = a_source("month=01", schema=with_columns(flight=pa.float64()))
    observation = seen(source, foreign_content=("x",))
    spec = a_spec(tmp_path)
    with pytest.raises(PlanError) as caught:
        build(spec, observation)
    error = caught.value
    assert (error.condition, error.where.line, error.exit_code) == ("target/foreign-content", 4, 1)
    cause = error.__cause__
    assert isinstance(cause, SpecError)
    assert [(f.rule, f.where.line) for f in cause.findings] == [
        ("target/foreign-content", 4),
        ("partition/value-changes", 6),
        ("key/type-has-no-stable-text", 8),
    ]
    assert all(f"{f.where}: {f.message} [{f.rule}]" in error.message for f in cause.findings)


def test_build_resume_without_an_earlier_run_is_refused(tmp_path: Path) -> None:
    """There is nothing to resume."""
    with pytest.raises(PlanError) as caught:
        a_plan(tmp_path, earlier=Earlier.RESUME)
    assert caught.value.condition == "resume/nothing-to-resume"


def test_build_resume_of_a_run_of_another_spec_is_refused(tmp_path: Path) -> None:
    """`resume` never rolls back."""
    observation = flights_observation(pending=a_pending_run(spec_hash="other"))
    with pytest.raises(PlanError) as caught:
        a_plan(tmp_path, observation, earlier=Earlier.RESUME)
    assert caught.value.condition == "resume/changed"
    assert "the spec has changed" in caught.value.message


def test_build_of_a_spec_without_bootstrap_is_refused(tmp_path: Path) -> None:
    """Planning needs to know how the table begins."""
    text = (a_spec(tmp_path).source_path).read_text().split("bootstrap:")[0]
    with pytest.raises(PlanError) as caught:
        build(a_spec(tmp_path, text), flights_observation())
    assert caught.value.condition == "plan/no-bootstrap"


def test_build_of_a_new_table_without_a_source_is_a_programming_error(tmp_path: Path) -> None:
    """An observer that did not look at the source cannot plan a table from it."""
    with pytest.raises(ValueError, match="with a source"):
        a_plan(tmp_path, Observation(table=a_table()))
