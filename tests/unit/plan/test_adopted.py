"""The plan against a table that is there: a diff, a refusal, or what an earlier run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from framework.errors import PlanError, SpecError, UnsupportedTableError
from framework.plan.build import Earlier, build
from framework.plan.definition import Case, Plan
from framework.plan.facts import BootstrapFacts
from framework.plan.observation import Observation, SourceDrift
from framework.plan.render.explain import explain_text
from framework.plan.stages import Recover, Recovery
from tests.support.planning import (
    a_pending_run,
    a_plan,
    a_spec,
    a_table,
    an_adopted_table,
    facts_of,
    properties,
)


def adopted_plan(folder: Path, **changes: Any) -> Plan:
    """Return the plan of the flights spec against the table that it began."""
    spec = a_spec(folder)
    pending = changes.pop("pending", None)
    return build(spec, Observation(table=an_adopted_table(spec, **changes), pending=pending))


def conditions_of(plan: Plan) -> list[tuple[str, str]]:
    """Return level and condition of each note."""
    return [(note.level, note.condition) for note in plan.notes]


def text_of(plan: Plan) -> list[str]:
    """Return the plan's lines."""
    return [line.text for line in explain_text(plan)]


def test_build_against_an_adopted_table_with_nothing_new_is_up_to_date(tmp_path: Path) -> None:
    """Same spec, same source: no stage, no note."""
    plan = adopted_plan(tmp_path)
    assert (plan.case, plan.stages, plan.notes) == (Case.UP_TO_DATE, (), ())
    assert text_of(plan)[-1] == "Plan: up to date. Nothing has been changed."


def test_build_against_an_adopted_table_with_new_files_counts_them(tmp_path: Path) -> None:
    """Without a section `source` new files are counted, and nothing is done."""
    drift = SourceDrift(new_files=3, new_bytes=1_200_000, samples_new=("month=3/x.parquet",))
    plan = adopted_plan(tmp_path, drift=drift)
    assert plan.stages == ()
    assert (
        "   3 new files (1.2 MB) under /lake/raw/flights not in the table: "
        "month=3/x.parquet and 2 more"
    ) in text_of(plan)
    assert text_of(plan)[-1] == ("Plan: up to date, but for 3 new files. Nothing has been changed.")


def test_build_against_an_adopted_table_with_drift_warns_of_it(tmp_path: Path) -> None:
    """Missing and changed source files are what readers would stumble on."""
    drift = SourceDrift(
        missing_files=1, samples_missing=("a",), changed_files=2, samples_changed=("b", "c")
    )
    lines = text_of(adopted_plan(tmp_path, drift=drift))
    assert "   ! 1 source file missing: a" in lines
    assert "   ! 2 source files changed: b, c" in lines


@pytest.mark.parametrize(
    ("old", "new", "key_path", "values"),
    [
        (
            "copy_on_write",
            "merge_on_read\n  ordering: {columns: [day]}",
            "table.type",
            ("copy_on_write", "merge_on_read"),
        ),
        ("{month: int}", "{month: string}", "table.partition_by", ("month: int", "month: string")),
        (
            "[year, month, day, carrier, flight, origin]",
            "[flight, origin]",
            "table.record_key.columns",
            ("year, month, day, carrier, flight, origin", "flight, origin"),
        ),
        (
            "within: table",
            "within: partition",
            "table.record_key.unique_within",
            ("table", "partition"),
        ),
        ("raw/flights", "raw/new", "bootstrap.path", ("/lake/raw/flights", "/lake/raw/new")),
        ("layout: hive", "layout: positional", "bootstrap.layout", ("hive", "positional")),
        ("metadata_only", "full_record", "bootstrap.mode", ("metadata_only", "full_record")),
        ("nyc.flights", "nyc.planes", "table.name", ("nyc.flights", "nyc.planes")),
    ],
)
def test_build_against_an_adopted_table_with_an_immutable_field_changed_shows_both_values(
    tmp_path: Path, old: str, new: str, key_path: str, values: tuple[str, str]
) -> None:
    """What the table began with cannot change under it."""
    table = an_adopted_table(a_spec(tmp_path))
    with pytest.raises(PlanError) as caught:
        a_plan(tmp_path, Observation(table=table), changes={old: new})
    error = caught.value
    assert error.condition == "plan/immutable-field"
    assert f"was '{values[0]}'" in error.message
    assert f"is now '{values[1]}'" in error.message
    cause = error.__cause__
    assert isinstance(cause, SpecError)
    assert [finding.key_path for finding in cause.findings] == [key_path]


def test_build_against_an_adopted_table_with_rules_changed_is_refused(tmp_path: Path) -> None:
    """Rules say which partitions are inside; their reasons may be reworded."""
    rules = "mode: metadata_only\n  rules: [{partition: month=1, mode: skip, reason: why}]\n"
    spec = a_spec(tmp_path, changes={"mode: metadata_only\n": rules})
    observation = Observation(table=an_adopted_table(spec))
    reworded = rules.replace("why", "because")
    plan = a_plan(tmp_path, observation, changes={"mode: metadata_only\n": reworded})
    assert plan.adopted is not None
    assert plan.adopted.spec_changed
    with pytest.raises(PlanError) as caught:
        a_plan(tmp_path, observation)
    assert caught.value.condition == "plan/immutable-field"


def test_build_against_an_adopted_table_with_a_free_field_changed_says_so(tmp_path: Path) -> None:
    """A bloom filter may change; the diff shows that the spec has changed."""
    observation = Observation(table=an_adopted_table(a_spec(tmp_path)))
    plan = a_plan(tmp_path, observation, changes={"expected_keys: 5000": "expected_keys: 6000"})
    assert plan.stages == ()
    assert plan.adopted is not None
    assert plan.adopted.spec_changed
    assert "   the spec has changed in fields that an adopted table may change" in text_of(plan)


def test_build_against_an_adopted_table_with_another_ordering_warns(tmp_path: Path) -> None:
    """The ordering field is in the table's properties, not only in the spec."""
    table = properties(hoodie__table__precombine__field="time_hour")
    assert conditions_of(adopted_plan(tmp_path, properties=table)) == [
        ("warning", "plan/ordering-differs")
    ]


def test_build_against_an_adopted_table_beside_a_foreign_write_only_warns(tmp_path: Path) -> None:
    """Where nothing is written, another writer's instant does no harm."""
    plan = adopted_plan(tmp_path, foreign_pending=("20260101000000000.inflight",))
    assert conditions_of(plan) == [("warning", "table/foreign-pending")]


@pytest.mark.parametrize(("version", "layout"), [("8", "2"), ("9", "2"), ("5", "1"), ("6", "2")])
def test_build_against_a_table_of_another_version_is_refused(
    tmp_path: Path, version: str, layout: str
) -> None:
    """An upgraded table loses rows while skeletons are left."""
    table = properties(hoodie__table__version=version, hoodie__timeline__layout__version=layout)
    with pytest.raises(UnsupportedTableError) as caught:
        adopted_plan(tmp_path, properties=table)
    assert (caught.value.condition, caught.value.exit_code) == ("table/version", 5)


def test_build_against_a_table_with_a_metadata_table_is_refused(tmp_path: Path) -> None:
    """A commit that does not update it would make readers lose files."""
    with pytest.raises(UnsupportedTableError) as caught:
        adopted_plan(tmp_path, metadata_table=True)
    assert caught.value.condition == "table/metadata-table"


def test_build_against_a_table_of_another_writer_is_refused(tmp_path: Path) -> None:
    """Only a table that we began can be compared with a bootstrap spec."""
    table = a_table(properties=properties(), completed=("20260101000000000",))
    with pytest.raises(PlanError) as caught:
        a_plan(tmp_path, Observation(table=table))
    assert caught.value.condition == "target/not-adopted"


def test_build_beside_a_published_run_finishes_it(tmp_path: Path) -> None:
    """The instant is complete but the properties are not there yet: what follows is done."""
    pending = a_pending_run(published=True)
    plan = adopted_plan(tmp_path, properties=None, pending=pending)
    assert plan.case is Case.FINISH
    assert plan.stages == (
        Recover(
            recovery=Recovery.FINISH,
            write_id=pending.write_id,
            instant="00000000000001",
            reason="its commit is published",
            files_done=8,
        ),
    )


def test_build_beside_a_published_run_of_another_spec_finishes_it_and_warns(
    tmp_path: Path,
) -> None:
    """What is published is whole first; the next plan then refuses the changed field."""
    table = an_adopted_table(a_spec(tmp_path), properties=None)
    observation = Observation(table=table, pending=a_pending_run(published=True))
    plan = a_plan(tmp_path, observation, changes={"within: table": "within: partition"})
    assert plan.case is Case.FINISH
    assert conditions_of(plan) == [("warning", "plan/immutable-field")]


@pytest.mark.parametrize("earlier", list(Earlier))
def test_build_beside_a_published_run_finishes_it_whatever_is_asked(
    tmp_path: Path, earlier: Earlier
) -> None:
    """A published instant is never rolled back, `--fresh` or not."""
    spec = a_spec(tmp_path)
    observation = Observation(
        table=an_adopted_table(spec, properties=None), pending=a_pending_run(published=True)
    )
    (stage,) = build(spec, observation, earlier=earlier).stages
    assert isinstance(stage, Recover)
    assert stage.recovery is Recovery.FINISH


def test_build_beside_leftovers_of_a_dead_run_on_an_adopted_table_rolls_them_back(
    tmp_path: Path,
) -> None:
    """A run that lost the race left only its own folder."""
    spec = a_spec(tmp_path)
    pending = a_pending_run(spec_hash=spec.content_hash, instant=None)
    plan = adopted_plan(tmp_path, pending=pending)
    (stage,) = plan.stages
    assert isinstance(stage, Recover)
    assert (stage.recovery, stage.reason) == (
        Recovery.ROLL_BACK,
        "another run has adopted the table",
    )
    assert plan.case is Case.UP_TO_DATE


def test_build_against_a_table_adopted_in_full_has_no_skeletons_to_fear(tmp_path: Path) -> None:
    """The reader gate follows how the table began."""
    spec = a_spec(tmp_path)
    plan = adopted_plan(tmp_path, facts=facts_of(spec, skeletons=0, full=12))
    assert plan.readers.exceptions == ()
    assert text_of(plan)[0] == (
        "nyc.flights  copy_on_write  adopted at 00000000000001: 0 skeletons, 12 full files"
    )


def test_adopted_table_remembers_on_what_readers_stumble(tmp_path: Path) -> None:
    """The gate of a table that exists says what it said when the table began."""
    begun = a_plan(tmp_path)
    facts = begun.facts(write_id="0d" * 16, instant="00000000000001")
    spec = a_spec(tmp_path)
    table = an_adopted_table(spec, facts=BootstrapFacts.from_json(facts.as_json()))
    plan = build(spec, Observation(table=table))
    assert plan.readers == begun.readers


def test_adopted_table_of_unknown_traits_is_judged_by_its_skeletons(tmp_path: Path) -> None:
    """A trait of a later release is ignored; the spec alone is used."""
    spec = a_spec(tmp_path)
    table = an_adopted_table(spec, facts=facts_of(spec, traits={"of_tomorrow": "x"}))
    plan = build(spec, Observation(table=table))
    names = [e.name for e in plan.readers.exceptions]
    assert names == ["auto-upgrade-loses-rows", "null-meta-columns"]
