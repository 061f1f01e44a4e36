"""The exact stages of each case of a table that is not there yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.plan.build import Earlier, build
from framework.plan.definition import Case
from framework.plan.observation import Observation
from framework.plan.stages import (
    AuditBootstrap,
    BeginBootstrap,
    CommitBootstrap,
    Recover,
    Recovery,
    Stage,
    stage_name,
)
from framework.vocabulary import BootstrapMode, KeyScope
from tests.support.planning import (
    a_pending_run,
    a_plan,
    a_source,
    a_spec,
    a_table,
    an_adopted_table,
    flights_observation,
    partition,
)

KEY = ("year", "month", "day", "carrier", "flight", "origin")
WINTER = """mode: metadata_only
  rules:
    - {partition: 'month=1[0-2]', mode: full_record, reason: still being corrected}
"""
MERGE_ON_READ = {"copy_on_write": "merge_on_read\n  ordering: {columns: [time_hour]}"}


def two_months() -> Observation:
    """Return two partitions of one file, 1,000 rows and 50,000 bytes each, and no table."""
    return Observation(table=a_table(), source=a_source("month=1", "month=12"))


SHOWN = ("instant", "action", "partitions", "files", "rows", "bytes_rewritten", "scope")


def shown(stages: tuple[Stage, ...]) -> list[tuple[str, dict[str, object]]]:
    """Return the name of each stage, and what it shows, apart from estimates."""
    return [
        (stage_name(each), {k: getattr(each, k) for k in SHOWN if hasattr(each, k)})
        for each in stages
    ]


AUDIT = ("audit", {"files": 2, "rows": 2000, "scope": KeyScope.TABLE})


def begin(instant: str | None, action: str = "commit") -> tuple[str, dict[str, object]]:
    """Return what the stage `begin` shows."""
    return "begin", {"instant": instant, "action": action}


def commit(instant: str | None, files: int, action: str = "commit") -> object:
    """Return what the stage `commit` shows."""
    return "commit", {"instant": instant, "action": action, "files": files}


def test_build_of_metadata_only_writes_skeletons_and_index_at_the_bootstrap_instant(
    tmp_path: Path,
) -> None:
    """The plain case: one instant, audit before index and commit."""
    plan = a_plan(tmp_path, two_months())
    assert plan.case is Case.BOOTSTRAP
    assert shown(plan.stages) == [
        begin("00000000000001"),
        ("skeletons", {"partitions": 2, "files": 2, "rows": 2000}),
        AUDIT,
        ("index", {"partitions": 2, "files": 2, "rows": 2000}),
        commit("00000000000001", 2),
    ]
    audit = plan.stages[2]
    assert isinstance(audit, AuditBootstrap)
    assert (audit.columns, audit.checks) == (KEY, 0)


def test_build_of_mixed_modes_puts_both_kinds_in_one_instant(tmp_path: Path) -> None:
    """Skeletons and full files share the bootstrap instant; the index is for skeletons alone."""
    plan = a_plan(tmp_path, two_months(), changes={"mode: metadata_only\n": WINTER})
    full = {"partitions": 1, "files": 1, "rows": 1000, "bytes_rewritten": 50_000}
    assert shown(plan.stages) == [
        begin("00000000000001"),
        ("skeletons", {"partitions": 1, "files": 1, "rows": 1000}),
        ("full_records", full),
        AUDIT,
        ("index", {"partitions": 1, "files": 1, "rows": 1000}),
        commit("00000000000001", 2),
    ]


def test_build_of_full_record_only_is_an_ordinary_instant_without_index(tmp_path: Path) -> None:
    """With no skeleton nothing about the table is a bootstrap: the clock gives the instant."""
    plan = a_plan(tmp_path, two_months(), changes={"mode: metadata_only": "mode: full_record"})
    full = {"partitions": 2, "files": 2, "rows": 2000, "bytes_rewritten": 100_000}
    assert shown(plan.stages) == [begin(None), ("full_records", full), AUDIT, commit(None, 2)]


def test_build_of_merge_on_read_makes_delta_commits(tmp_path: Path) -> None:
    """The action follows the table type."""
    plan = a_plan(tmp_path, two_months(), changes=MERGE_ON_READ)
    assert shown((plan.stages[0], plan.stages[-1])) == [
        begin("00000000000001", "deltacommit"),
        commit("00000000000001", 2, "deltacommit"),
    ]


def test_build_with_a_skipped_partition_leaves_it_out_of_every_stage(tmp_path: Path) -> None:
    """A skipped partition is planned, counted nowhere, and its numbers stay taken."""
    rules = WINTER.replace("full_record", "skip")
    plan = a_plan(tmp_path, two_months(), changes={"mode: metadata_only\n": rules})
    assert [stage_name(s) for s in plan.stages] == [
        "begin",
        "skeletons",
        "audit",
        "index",
        "commit",
    ]
    assert plan.stages[-1] == CommitBootstrap(instant="00000000000001", action="commit", files=1)
    assert [(p.mode, p.first, p.stop) for p in plan.partitions] == [
        (BootstrapMode.METADATA_ONLY, 0, 1),
        (BootstrapMode.SKIP, 1, 2),
    ]
    assert plan.taken.files == 1


def test_build_keeps_inventory_numbers_reasons_and_rules_of_partitions(tmp_path: Path) -> None:
    """A partition's files are the numbers from its first up to before its stop."""
    source = a_source(partition("month=1", 0, files=3), partition("month=12", 3, files=4))
    plan = a_plan(
        tmp_path,
        Observation(table=a_table(), source=source),
        changes={"mode: metadata_only\n": WINTER},
    )
    assert [(p.first, p.stop, p.rule, p.reason) for p in plan.partitions] == [
        (0, 3, None, ""),
        (3, 7, 0, "still being corrected"),
    ]


def test_build_of_an_allowed_empty_source_has_no_stages(tmp_path: Path) -> None:
    """No file yet: nothing to make a table from, and that is no fault where the spec says so."""
    observation = Observation(table=a_table(), source=a_source(schema=None))
    plan = a_plan(
        tmp_path,
        observation,
        changes={"mode: metadata_only": "mode: metadata_only\n  allow_empty: true"},
    )
    assert (plan.case, plan.stages, plan.has_changes) == (Case.EMPTY, (), False)


def test_build_beside_a_like_run_resumes_it(tmp_path: Path) -> None:
    """Same spec and same source: finished files are kept, and the run continues under its id."""
    spec = a_spec(tmp_path)
    pending = a_pending_run(spec_hash=spec.content_hash)
    plan = a_plan(tmp_path, flights_observation(pending=pending))
    assert plan.case is Case.RESUME
    assert plan.stages[:2] == (
        Recover(
            recovery=Recovery.RESUME,
            write_id=pending.write_id,
            instant="00000000000001",
            reason="spec and source are unchanged",
            files_done=8,
        ),
        BeginBootstrap(instant="00000000000001", action="commit", resumes=pending.write_id),
    )
    assert [stage_name(s) for s in plan.stages[2:]] == ["skeletons", "audit", "index", "commit"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"spec_hash": "other"}, "the spec has changed since it started"),
        ({"inventory_sha256": "other"}, "the source has changed since it started"),
        (
            {"spec_hash": "other", "inventory_sha256": "other"},
            "spec and source have changed since it started",
        ),
        ({"spec_hash": None}, "its journal is incomplete"),
        ({"inventory_sha256": None}, "its journal is incomplete"),
    ],
)
def test_build_beside_another_run_rolls_it_back_and_begins_anew(
    tmp_path: Path, changes: dict[str, str | None], reason: str
) -> None:
    """What was written for another spec or source is of no use; the plan says which."""
    spec = a_spec(tmp_path)
    pending = a_pending_run(**{"spec_hash": spec.content_hash, **changes})
    plan = a_plan(tmp_path, flights_observation(pending=pending))
    assert plan.case is Case.BOOTSTRAP
    assert plan.stages[:2] == (
        Recover(
            recovery=Recovery.ROLL_BACK,
            write_id=pending.write_id,
            instant="00000000000001",
            reason=reason,
            files_done=8,
        ),
        BeginBootstrap(instant="00000000000001", action="commit"),
    )


def test_build_fresh_beside_a_like_run_rolls_it_back(tmp_path: Path) -> None:
    """`--fresh` forces a new start."""
    pending = a_pending_run(spec_hash=a_spec(tmp_path).content_hash)
    plan = a_plan(tmp_path, flights_observation(pending=pending), earlier=Earlier.FRESH)
    first = plan.stages[0]
    assert isinstance(first, Recover)
    assert (first.recovery, first.reason) == (Recovery.ROLL_BACK, "a fresh start was requested")


def test_build_fresh_without_an_earlier_run_is_the_plain_plan(tmp_path: Path) -> None:
    """`--fresh` asks for nothing where there is nothing."""
    assert a_plan(tmp_path, earlier=Earlier.FRESH) == a_plan(tmp_path)


def test_build_resume_of_a_like_run_is_the_automatic_plan(tmp_path: Path) -> None:
    """`resume` does what `run` does where there is something to resume."""
    pending = a_pending_run(spec_hash=a_spec(tmp_path).content_hash)
    observation = flights_observation(pending=pending)
    resumed = a_plan(tmp_path, observation, earlier=Earlier.RESUME)
    assert resumed == a_plan(tmp_path, observation)


def test_build_of_an_empty_source_beside_a_dead_run_rolls_it_back_only(tmp_path: Path) -> None:
    """Nothing to adopt, but what a dead run left is removed."""
    observation = Observation(
        table=a_table(), source=a_source(schema=None), pending=a_pending_run(instant=None)
    )
    plan = a_plan(
        tmp_path,
        observation,
        changes={"mode: metadata_only": "mode: metadata_only\n  allow_empty: true"},
    )
    assert [stage_name(s) for s in plan.stages] == ["recover"]
    assert plan.case is Case.EMPTY


def test_build_of_the_same_input_gives_the_same_plan(tmp_path: Path) -> None:
    """Planning is pure."""
    assert a_plan(tmp_path) == a_plan(tmp_path)


def test_plan_facts_remember_modes_skips_and_immutable_fields(tmp_path: Path) -> None:
    """What the commit keeps is enough to diff a later spec against it."""
    rules = """mode: metadata_only
  rules:
    - {partition: 'month=1', mode: skip}
    - {partition: 'month=1[0-2]', mode: full_record}
"""
    plan = a_plan(tmp_path, changes={"mode: metadata_only\n": rules})
    facts = plan.facts(write_id="w", instant="00000000000001")
    assert (facts.skeletons, facts.full, facts.skipped) == (8, 3, ("month=1",))
    assert facts.immutable["table.partition_by"] == "month: int"
    assert facts.spec_hash == plan.target.spec_hash


def test_plan_facts_of_a_plan_without_inventory_is_a_programming_error(tmp_path: Path) -> None:
    """Only a plan that looked at the source makes a commit."""
    spec = a_spec(tmp_path)
    plan = build(spec, Observation(table=an_adopted_table(spec)))
    with pytest.raises(ValueError, match="without an inventory"):
        plan.facts(write_id="w", instant="1")


def test_plan_notes_list_hidden_files_and_a_big_commit_first(tmp_path: Path) -> None:
    """Warnings come before information."""
    source = a_source(partition("month=1", 0, files=250_000), ignored_files=3)
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source))
    assert [(note.level, note.condition) for note in plan.notes] == [
        ("warning", "plan/big-commit"),
        ("info", "key/text-may-collide"),
        ("info", "source/ignored-files"),
    ]
    assert "160.0 MB" in plan.notes[0].message


def test_plan_notes_of_a_key_of_numbers_are_none(tmp_path: Path) -> None:
    """Digits cannot make two keys read the same."""
    keys = {"[year, month, day, carrier, flight, origin]": "[year, month, day, flight]"}
    assert a_plan(tmp_path, changes=keys).notes == ()


def test_plan_notes_of_a_single_text_key_are_none(tmp_path: Path) -> None:
    """A key of one column is its bare value."""
    keys = {"[year, month, day, carrier, flight, origin]": "[origin]"}
    assert a_plan(tmp_path, changes=keys).notes == ()


def test_plan_notes_of_a_text_key_in_the_path_warn_too(tmp_path: Path) -> None:
    """A partition column that only folders hold counts with its declared type."""
    changes = {
        "{month: int}": "{month: string}",
        "[year, month, day, carrier, flight, origin]": "[year, month]",
    }
    (note,) = a_plan(tmp_path, changes=changes).notes
    assert "key parts month are text" in note.message


@pytest.mark.parametrize(
    ("rows", "bloom", "noted"),
    [
        (8_000_000, "{}", False),
        (8_000_001, "{}", True),
        (8_000_001, "{kind: none}", False),
        (8_000_001, "{max_keys: 5000000}", False),
    ],
)
def test_build_notes_files_whose_bloom_filters_overflow(
    tmp_path: Path, rows: int, bloom: str, *, noted: bool
) -> None:
    """Twice as many keys as a filter may hold leave little of it."""
    source = a_source("month=1", partition("month=2", 1, rows=rows))
    old = "{expected_keys: 5000, false_positive_rate: 0.000001}"
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source), changes={old: bloom})
    notes = [n.message for n in plan.notes if n.condition == "bloom/overfull"]
    assert bool(notes) is noted
    assert all("'month=2'" in note for note in notes)
