"""The plan of a load, as text and as a document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from framework.errors import CommitConflictError, PlanError, PlanStaleError, SpecError
from framework.plan.build import Earlier, build
from framework.plan.definition import Case, Plan
from framework.plan.load import InputListing
from framework.plan.load_stages import load_request
from framework.plan.observation import Observation
from framework.plan.render.document import plan_document
from framework.plan.render.explain import explain, explain_markdown
from framework.plan.saved import Invocation, check_fresh, load_plan, save_plan
from framework.plan.stages import Recover, Recovery, stage_name
from framework.plan.target import target_of
from tests.support.planning import a_pending_run, a_spec, a_table, facts_of, properties

ORDERS = """\
version: 1
table:
  name: shop.orders
  location: /lake/orders
  partition_by: {day: string}
  record_key: {columns: [id], unique_within: table}
  ordering: {columns: [ts]}
source: {path: /lake/landing}
write: {operation: upsert}
"""
LISTING = InputListing(
    files=("/lake/landing/b.parquet",), bytes=5_000, earlier_files=2, sha256="ab"
)


def a_load(
    folder: Path,
    *,
    listing: InputListing = LISTING,
    changes: dict[str, str] | None = None,
    earlier: Earlier = Earlier.AUTO,
    **seen: Any,
) -> Plan:
    """Return the plan of a load; `seen` are members of the observation."""
    spec = a_spec(folder, ORDERS, changes=changes)
    observation = Observation(
        **{"table": a_table(), "request": load_request(spec), "input": listing, **seen}
    )
    return build(spec, observation, earlier=earlier)


def a_loaded_table(folder: Path, **changes: Any) -> Any:
    """Return the table that a load of the same spec made."""
    spec = a_spec(folder, ORDERS)
    found = properties(
        hoodie__table__recordkey__fields="id",
        hoodie__table__partition__fields="day",
        hoodie__table__precombine__field="ts",
        **{"hoodie.datasource.write.hive_style_partitioning": "true"},
    )
    values = {"properties": found, "completed": ("1",), "begun": target_of(spec).immutable}
    return a_table(**{**values, **changes})


def test_load_into_no_table_says_that_it_makes_one(tmp_path: Path) -> None:
    """The plan names operation, files and stages, and changes nothing."""
    text = explain(a_load(tmp_path)).splitlines()
    assert text[0] == "shop.orders  copy_on_write  upsert  1 file, 5.0 kB, 2 files loaded before"
    assert text[2:7] == [
        "   1 input       1 file, 5.0 kB, read in place",
        "   2 tag         keys looked up in the table",
        "   3 write       upsert, one task per file group",
        "   4 audit       key (id) unique in table, no row lost",
        "   5 commit      commit at the next instant, atomic",
    ]
    assert text[-1] == "Plan: 1 upsert of 1 file into a new table. Nothing has been changed."


def test_load_in_markdown_lists_its_stages(tmp_path: Path) -> None:
    """The comment on a pull request says the same."""
    assert "3. **write** upsert, one task per file group" in explain_markdown(a_load(tmp_path))


def test_load_as_document_describes_the_source_without_options(tmp_path: Path) -> None:
    """Options may hold secrets, so a plan has none of them."""
    changes = {"{path: /lake/landing}": "{path: /lake/landing, options: {pathGlobFilter: 'x'}}"}
    document = plan_document(a_load(tmp_path, changes=changes))
    load = document.load
    assert load is not None
    assert (load.operation, load.path, load.files) == ("upsert", "/lake/landing", 1)
    assert "pathGlobFilter" not in str(document)
    assert document.stages[1].summary == "1 file, 5.0 kB, read and written to Parquet first"


@pytest.mark.parametrize(
    "listing", [InputListing(files=()), InputListing(files=("/x",), is_done=True)]
)
def test_load_with_nothing_new_is_up_to_date(tmp_path: Path, listing: InputListing) -> None:
    """No new file, or a run of this id before: there is nothing to do."""
    plan = a_load(tmp_path, listing=listing, table=a_loaded_table(tmp_path))
    assert (plan.case, plan.stages) == (Case.UP_TO_DATE, ())


def test_load_after_a_dead_run_undoes_it_first(tmp_path: Path) -> None:
    """A load is never resumed: its instant is part of what it writes."""
    plan = a_load(tmp_path, pending=a_pending_run())
    first = plan.stages[0]
    assert isinstance(first, Recover)
    assert (first.recovery, first.reason) == (Recovery.ROLL_BACK, "a load always restarts")
    assert stage_name(plan.stages[1]) == "begin"
    with pytest.raises(PlanError, match="a load always restarts"):
        a_load(tmp_path, pending=a_pending_run(), earlier=Earlier.RESUME)


def test_load_beside_another_writer_is_refused(tmp_path: Path) -> None:
    """Another writer's pending instant stops the plan."""
    table = a_loaded_table(tmp_path, foreign_pending=("2.commit.requested",))
    with pytest.raises(CommitConflictError):
        a_load(tmp_path, table=table)


@pytest.mark.parametrize(
    ("change", "key_path"),
    [
        ({"hoodie.table.recordkey.fields": "other"}, "table.record_key"),
        ({"hoodie.table.partition.fields": ""}, "table.partition_by"),
        ({"hoodie.table.type": "MERGE_ON_READ"}, "table.type"),
        ({"hoodie.table.precombine.field": "other"}, "table.ordering"),
        (
            {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"},
            "table.record_key",
        ),
    ],
)
def test_load_into_a_table_of_others_that_differs_is_refused(
    tmp_path: Path, change: dict[str, str], key_path: str
) -> None:
    """Each table property that the spec contradicts is reported at its line."""
    there = a_loaded_table(tmp_path).properties
    table = a_loaded_table(tmp_path, properties=properties(**{**there.raw, **change}), begun={})
    with pytest.raises(PlanError) as caught:
        a_load(tmp_path, table=table)
    assert isinstance(caught.value.__cause__, SpecError)
    assert [finding.key_path for finding in caught.value.__cause__.findings] == [key_path]


def test_load_into_a_table_without_hive_style_folders_follows_it(tmp_path: Path) -> None:
    """A spec without a bootstrap does not say how folders are named; the table does."""
    there = a_loaded_table(tmp_path).properties
    raw = {**there.raw, "hoodie.datasource.write.hive_style_partitioning": "false"}
    plan = a_load(tmp_path, table=a_loaded_table(tmp_path, properties=properties(**raw)))
    assert not plan.target.key_rule.hive_style


def test_saved_load_is_stale_when_another_file_has_come(tmp_path: Path) -> None:
    """What was approved is what is loaded."""
    plan = a_load(tmp_path)
    how = Invocation(spec="flights.pipeline.yml", target=None, variables={})
    saved = load_plan(save_plan(plan, a_table(), how), file="plan.json")
    check_fresh(saved, plan, a_table())
    more = InputListing(files=("/x", "/y"), sha256="cd")
    with pytest.raises(PlanStaleError, match="the source changed"):
        check_fresh(saved, a_load(tmp_path, listing=more), a_table())


@pytest.mark.parametrize(
    ("file", "changes", "refused"),
    [
        ("day=mon/a.parquet", {}, True),
        ("2026/day=mon/a.parquet", {}, True),
        ("day=tue/a.parquet", {}, False),
        ("a.parquet", {}, False),
        ("day=mon/a.parquet", {"write:": "transforms: [{name: a, sql: SELECT 1}]\nwrite:"}, False),
    ],
)
def test_load_of_a_skipped_partition_is_refused_where_folders_show_it(
    tmp_path: Path, file: str, changes: dict[str, str], *, refused: bool
) -> None:
    """Before any row is read; a transform may exclude the rows."""
    table = a_loaded_table(tmp_path, facts=facts_of(a_spec(tmp_path, ORDERS), skipped=("day=mon",)))
    listing = replace(LISTING, files=(f"/lake/landing/{file}",))
    if not refused:
        assert a_load(tmp_path, listing=listing, table=table, changes=changes).has_changes
        return
    with pytest.raises(PlanError, match="day=mon") as caught:
        a_load(tmp_path, listing=listing, table=table, changes=changes)
    assert caught.value.condition == "load/skipped-partition"
