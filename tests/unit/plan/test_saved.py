"""Saved plans: kept whole, compared with what is there now."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from framework.errors import CorruptFileError, PlanError, PlanStaleError
from framework.plan.build import build
from framework.plan.observation import Observation, TableState
from framework.plan.saved import Invocation, SavedPlan, check_fresh, load_plan, save_plan
from tests.support.planning import (
    FLIGHTS_SCHEMA,
    a_pending_run,
    a_plan,
    a_source,
    a_spec,
    a_table,
    an_adopted_table,
    flights_observation,
    partition,
    properties,
)

INVOCATION = Invocation(spec="flights.pipeline.yml", target="prod", variables={"lake": "/lake"})


def a_saved(folder: Path, observation: Observation | None = None) -> SavedPlan:
    """Return the flights plan, saved and loaded."""
    seen = observation or flights_observation()
    text = save_plan(a_plan(folder, seen), seen.table, INVOCATION)
    return load_plan(text, file="plan.json")


def test_load_plan_of_a_saved_plan_returns_it(tmp_path: Path) -> None:
    """The way to the spec, the basis and the document come back."""
    saved = a_saved(tmp_path)
    assert saved.invocation == INVOCATION
    assert saved.basis.spec_hash == a_spec(tmp_path).content_hash
    assert saved.document["table"]["name"] == "nyc.flights"


def test_save_plan_twice_gives_the_same_text(tmp_path: Path) -> None:
    """A plan file can be compared byte by byte."""
    table = a_table()
    first, second = (save_plan(a_plan(tmp_path), table, INVOCATION) for _ in range(2))
    assert first == second


def test_check_fresh_of_the_same_state_returns(tmp_path: Path) -> None:
    """Nothing has changed."""
    check_fresh(a_saved(tmp_path), a_plan(tmp_path), a_table())


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (a_table(foreign_content=()), None),
        (a_table(location="/lake/elsewhere"), "the table"),
        (a_table(completed=("20260101000000000",)), "the table"),
        (a_table(properties=properties()), "the table"),
        (a_table(metadata_table=True), "the table"),
        (a_table(foreign_pending=("20260101000000000.inflight",)), None),
    ],
)
def test_check_fresh_of_another_table_state_is_stale(
    tmp_path: Path, table: TableState, what: str | None
) -> None:
    """The content of the target counts; a pending run there is refused elsewhere."""
    saved, plan = a_saved(tmp_path), a_plan(tmp_path)
    if what is None:
        check_fresh(saved, plan, table)
        return
    with pytest.raises(PlanStaleError) as caught:
        check_fresh(saved, plan, table)
    assert (caught.value.condition, caught.value.exit_code) == ("plan/stale", 4)
    assert what in caught.value.message


def test_check_fresh_of_another_spec_and_source_names_both(tmp_path: Path) -> None:
    """The message says what to look at."""
    saved = a_saved(tmp_path)
    source = a_source(partition("month=1", 0), schema=FLIGHTS_SCHEMA)
    other = type(source.handle)(path="p", sha256="cd" * 32, files=1, rows=1, bytes=1)
    moved = a_source("month=1", handle=other)
    plan = a_plan(
        tmp_path,
        Observation(table=a_table(), source=moved),
        changes={"within: table": "within: partition"},
    )
    with pytest.raises(PlanStaleError) as caught:
        check_fresh(saved, plan, a_table())
    assert "the spec, the source changed" in caught.value.message


def test_check_fresh_with_a_run_to_resume_returns(tmp_path: Path) -> None:
    """The plan's run was killed: resuming it is what was approved."""
    saved = a_saved(tmp_path)
    pending = a_pending_run(spec_hash=a_spec(tmp_path).content_hash)
    check_fresh(saved, a_plan(tmp_path, flights_observation(pending=pending)), a_table())


def test_check_fresh_with_a_run_to_roll_back_that_was_not_shown_is_stale(tmp_path: Path) -> None:
    """Removing what another run wrote was not approved."""
    saved = a_saved(tmp_path)
    plan = a_plan(tmp_path, flights_observation(pending=a_pending_run(spec_hash="other")))
    with pytest.raises(PlanStaleError) as caught:
        check_fresh(saved, plan, a_table())
    assert "roll back" in caught.value.message


def test_check_fresh_with_a_shown_run_rolled_back_already_returns(tmp_path: Path) -> None:
    """The files that the plan would remove are already removed."""
    pending = a_pending_run(spec_hash="other")
    saved = a_saved(tmp_path, flights_observation(pending=pending))
    check_fresh(saved, a_plan(tmp_path), a_table())


def test_check_fresh_of_an_executed_plan_returns(tmp_path: Path) -> None:
    """Running a saved plan twice is no error: the second time nothing is left to do."""
    saved = a_saved(tmp_path)
    spec = a_spec(tmp_path)
    table = an_adopted_table(spec)
    plan = build(spec, Observation(table=table))
    check_fresh(saved, plan, table)
    assert plan.stages == ()


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "saved-plan/not-readable"),
        ("[]", "saved-plan/not-readable"),
        ("{}", "saved-plan/not-readable"),
        ('{"format": "lakestrap.plan"}', "saved-plan/not-readable"),
        ('{"format": "other", "saved_version": 1, "digest": ""}', "saved-plan/not-readable"),
        (
            '{"format": "lakestrap.plan", "saved_version": 1, "digest": ""}',
            "saved-plan/digest-differs",
        ),
    ],
)
def test_load_plan_of_another_file_is_refused(text: str, condition: str) -> None:
    """A wrong file is reported as such, with its name."""
    with pytest.raises(CorruptFileError) as caught:
        load_plan(text, file="plan.json")
    assert (caught.value.condition, caught.value.where.file) == (condition, "plan.json")


def test_load_plan_of_another_version_is_refused() -> None:
    """A later release may keep other things."""
    text = '{"format": "lakestrap.plan", "saved_version": 2, "digest": ""}'
    with pytest.raises(PlanError) as caught:
        load_plan(text, file="plan.json")
    assert caught.value.condition == "saved-plan/other-version"


def test_load_plan_of_an_edited_or_cut_file_is_refused(tmp_path: Path) -> None:
    """What was approved is what is run."""
    text = save_plan(a_plan(tmp_path), a_table(), INVOCATION)
    body = json.loads(text)
    body["plan"]["table"]["location"] = "/elsewhere"
    with pytest.raises(CorruptFileError) as caught:
        load_plan(json.dumps(body), file="plan.json")
    assert caught.value.condition == "saved-plan/digest-differs"
    for length in range(0, len(text) - 1, 997):
        with pytest.raises(CorruptFileError):
            load_plan(text[:length], file="plan.json")


def test_load_plan_of_a_right_digest_over_wrong_parts_is_refused() -> None:
    """A file that someone built by hand is no crash either."""
    body = {"format": "lakestrap.plan", "saved_version": 1, "basis": {"x": 1}}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    with pytest.raises(CorruptFileError) as caught:
        load_plan(json.dumps({**body, "digest": digest}), file="plan.json")
    assert caught.value.condition == "saved-plan/not-readable"
