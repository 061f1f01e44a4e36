"""Readers that the spec requires: refused if one cannot read, a warning if it is unproven."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import Finding, PlanError, SpecError
from framework.plan.build import build
from framework.plan.definition import Plan
from framework.plan.observation import Observation
from framework.plan.readers.versions import READERS
from framework.plan.render.document import plan_document
from framework.vocabulary import ReaderName
from tests.support.planning import (
    FLIGHTS_SCHEMA,
    a_plan,
    a_source,
    a_spec,
    a_table,
    an_adopted_table,
)

FULL = {"mode: metadata_only": "mode: full_record"}


def asking(*names: str) -> dict[str, str]:
    """Return the change to the flights spec that asks for these readers."""
    listed = f"type: copy_on_write\n  readers: [{', '.join(names)}]"
    return {"type: copy_on_write": listed}


def faults_of(
    folder: Path, *names: str, schema: pa.Schema = FLIGHTS_SCHEMA, changes: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return what the plan refuses, as findings."""
    observation = Observation(table=a_table(), source=a_source("month=1", schema=schema))
    with pytest.raises(PlanError) as caught:
        a_plan(folder, observation, changes={**asking(*names), **changes})
    assert isinstance(caught.value.__cause__, SpecError)
    return caught.value.__cause__.findings


def conditions_of(plan: Plan) -> list[str]:
    """Return the conditions of the notes on readers."""
    return [n.condition for n in plan.notes if n.condition.startswith("readers/")]


def test_readers_are_those_that_a_spec_can_name() -> None:
    """The closed list of the spec language and the gate's table are the same."""
    assert {reader.key for reader in READERS} == set(ReaderName)


def test_plan_with_a_reader_that_cannot_read_skeletons_is_refused(tmp_path: Path) -> None:
    """At its place in the spec, with the reason and what full_record would change."""
    (found,) = faults_of(tmp_path, "spark-hudi-1.2", "hive", changes={})
    assert (found.rule, found.key_path) == ("readers/cannot-read", "table.readers[1]")
    assert (found.where.line, found.where.column) == (6, 29)
    assert found.message == (
        "'hive' (Hive) cannot read the table: "
        "fails on a data column of a partitioned table (apache/hudi issue 19643)"
    )
    assert found.suggestion is not None
    assert "it reads full files, as documented" in found.suggestion


def test_plan_in_full_satisfies_a_reader_that_cannot_read_skeletons(tmp_path: Path) -> None:
    """The refusal's remedy works, and the document names the required readers."""
    plan = a_plan(tmp_path, changes={**asking("trino", "hudi-rs"), **FULL})
    assert conditions_of(plan) == []
    document = plan_document(plan)
    assert document.table.readers == ("trino", "hudi-rs")
    assert [r.reads for r in document.readers if r.name == "hudi-rs"] == ["yes"]


def test_plan_with_several_readers_that_cannot_read_reports_all(tmp_path: Path) -> None:
    """Each at its own place."""
    found = faults_of(tmp_path, "hive", "hudi-rs", changes={})
    assert [f.key_path for f in found] == [f"table.readers[{place}]" for place in range(2)]
    suggestions = [f.suggestion or "" for f in found]
    assert "it reads full files. Or" in suggestions[1]


def test_plan_with_data_that_a_release_cannot_read_is_refused_in_any_mode(tmp_path: Path) -> None:
    """An exception may stop a reader too; full_record would not help here."""
    schema = FLIGHTS_SCHEMA.append(pa.field("seen", pa.timestamp("us")))
    for changes in ({}, FULL):
        (found,) = faults_of(tmp_path, "spark-hudi-0.15", schema=schema, changes=changes)
        assert "column seen [naive-timestamp]" in found.message
        assert found.suggestion is not None
        assert "would not change that" in found.suggestion


def test_plan_with_a_release_that_reads_but_cannot_write_on_is_not_refused(tmp_path: Path) -> None:
    """The list is of readers."""
    plan = a_plan(tmp_path, changes=asking("spark-hudi-0.15"))
    assert conditions_of(plan) == []


def test_plan_with_an_unproven_reader_warns(tmp_path: Path) -> None:
    """It is unproven; the author decides."""
    plan = a_plan(tmp_path, changes=asking("athena", "flink", "spark-hudi-1.1"))
    notes = [n for n in plan.notes if n.condition == "readers/unproven"]
    assert [n.level for n in notes] == ["warning", "warning"]
    assert notes[0].message == (
        "it is unproven that 'athena' (Athena engine 3) can read the table: "
        "skeletons were never shown to work"
    )
    full = a_plan(tmp_path, changes={**asking("flink"), **FULL})
    assert [n.message for n in full.notes if n.condition == "readers/unproven"] == [
        "it is unproven that 'flink' (Flink) can read the table"
    ]


def test_plan_of_an_adopted_table_warns_of_a_reader_that_it_shuts_out(tmp_path: Path) -> None:
    """The table is there, and its skeletons may have been rewritten since."""
    spec = a_spec(tmp_path, changes=asking("hive", "athena"))
    plan = build(spec, Observation(table=an_adopted_table(spec)))
    assert conditions_of(plan) == ["readers/cannot-read", "readers/unproven"]


def test_readers_of_an_adopted_table_may_change(tmp_path: Path) -> None:
    """They say nothing of the table's content, so the spec counts as the same."""
    table = an_adopted_table(a_spec(tmp_path))
    plan = build(a_spec(tmp_path, changes=asking("spark-hudi-1.2")), Observation(table=table))
    assert plan.adopted is not None
    assert not plan.adopted.spec_changed
