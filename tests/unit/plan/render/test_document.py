"""The plan's JSON document: whatever a plan holds, it keeps to the published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from framework.hudi.keygen.rule import KeyGenerator, KeyRule
from framework.plan.load import InputRequest
from framework.plan.partitions import PartitionPlan
from framework.plan.quality.model import Check, Quality
from framework.plan.render.document import PlanDocument, plan_document, plan_schema
from framework.plan.render.explain import explain_json
from framework.plan.render.json_values import json_text
from framework.plan.render.stage_document import StageDocument, stage_document
from framework.plan.stages import (
    AuditBootstrap,
    AuditLoad,
    BeginBootstrap,
    BeginLoad,
    CommitBootstrap,
    CommitLoad,
    FullRecords,
    Index,
    ReadInput,
    Recover,
    Recovery,
    Screen,
    Skeletons,
    Stage,
    TagRows,
    WriteRows,
    stage_name,
)
from framework.vocabulary import (
    BootstrapMode,
    CheckKind,
    KeyScope,
    OnFail,
    WriteOperation,
)
from tests.support.planning import a_plan

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "plan.schema.json"
RULE = KeyRule(
    record_key=("id",),
    partition=(),
    generator=KeyGenerator.NON_PARTITIONED,
    hive_style=False,
    url_encode=False,
    scope=KeyScope.TABLE,
)
CHECKS = Quality(
    checks=(
        Check(name="a", kind=CheckKind.EXPECT, text="x", on_fail=OnFail.DROP),
        Check(name="b", kind=CheckKind.EXPECT, text="y", on_fail=OnFail.ABORT),
    )
)
PART = PartitionPlan(
    partition_path="p=1",
    mode=BootstrapMode.FULL_RECORD,
    files=2,
    rows=3,
    bytes=4,
    first=0,
    stop=2,
)
STAGES: tuple[Stage, ...] = (
    *(
        Recover(recovery=recovery, write_id="3f2a", instant=None, reason="it died", files_done=8)
        for recovery in Recovery
    ),
    BeginBootstrap(instant="00000000000001", action="commit"),
    BeginBootstrap(instant=None, action="deltacommit", resumes="3f2a"),
    Skeletons(plans=(PART,), bytes_to_write=4),
    FullRecords(plans=(PART,), bytes_to_write=5),
    *(
        AuditBootstrap(rule=replace(RULE, scope=scope), quality=CHECKS, files=2, rows=3)
        for scope in KeyScope
    ),
    Index(plans=(PART,), bytes_to_write=3),
    CommitBootstrap(instant="00000000000001", action="commit", files=2),
    BeginLoad(action="replacecommit"),
    ReadInput(request=InputRequest(format="csv"), files=2, bytes=3),
    Screen(quality=CHECKS, keeps_one=True),
    *(TagRows(scope=scope) for scope in KeyScope),
    *(
        WriteRows(operation=operation, target_file_size=1, small_file_limit=1)
        for operation in WriteOperation
    ),
    AuditLoad(rule=replace(RULE, scope=KeyScope.PARTITION), quality=CHECKS),
    CommitLoad(action="deltacommit"),
)
"""Every stage that a plan can have."""

WITH_CHECKS = """mode: metadata_only
quality:
  checks:
    - {name: flown, expect: flight > 0}
    - {name: known, expect: carrier IS NOT NULL, on_fail: warn}
"""


def fits(document: object) -> bool:
    """Whether a document keeps to the schema that is published."""
    schema = json.loads(SCHEMA_FILE.read_text())
    return bool(jsonschema.Draft202012Validator(schema).is_valid(document))


def test_stages_of_these_tests_are_all_stages() -> None:
    """A new stage is tried here too."""
    assert {type(stage) for stage in STAGES} == set(get_args(Stage))


@pytest.mark.parametrize(
    "stage", STAGES, ids=[f"{n}-{stage_name(s)}" for n, s in enumerate(STAGES)]
)
def test_document_of_any_stage_keeps_to_its_schema(tmp_path: Path, stage: Stage) -> None:
    """No stage has a name or a value that the schema lacks."""
    document = plan_document(a_plan(tmp_path))
    shown = json.loads(json_text(replace(document, stages=(stage_document(stage),))))
    assert fits(shown)
    assert shown["stages"][0]["stage"] == stage_name(stage)


def test_document_of_a_spec_with_checks_keeps_to_its_schema(tmp_path: Path) -> None:
    """Checks add the stage `screen`."""
    document = json.loads(
        explain_json(a_plan(tmp_path, changes={"mode: metadata_only\n": WITH_CHECKS}))
    )
    assert "screen" in [stage["stage"] for stage in document["stages"]]
    assert fits(document)


def test_schema_lists_the_names_of_all_stages_and_no_other() -> None:
    """What a program may meet is what it can look up."""
    listed = json.loads(SCHEMA_FILE.read_text())["$defs"]["StageName"]
    assert set(listed["enum"]) == {stage_name(stage) for stage in STAGES}


@pytest.mark.parametrize(
    ("stage", "members"),
    [
        (STAGES[0], {"recovery": "resume", "write_id": "3f2a", "files": 8}),
        (
            BeginBootstrap(instant="1", action="commit", resumes="3f2a"),
            {"write_id": "3f2a", "instant": "1"},
        ),
        (CommitBootstrap(instant=None, action="commit", files=2), {"action": "commit", "files": 2}),
        (
            FullRecords(plans=(PART,), bytes_to_write=5),
            {
                "partitions": 1,
                "files": 2,
                "rows": 3,
                "bytes_rewritten": 4,
                "estimated_bytes_to_write": 5,
            },
        ),
        (Index(plans=(PART,), bytes_to_write=3), {"estimated_bytes_to_write": 3}),
        (
            ReadInput(request=InputRequest(format="csv"), files=2, bytes=3),
            {"files": 2, "rows": None},
        ),
        (BeginLoad(action="commit"), {"action": "commit", "instant": None}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_stage_document_has_the_numbers_of_its_stage(
    stage: Stage, members: dict[str, object]
) -> None:
    """Members that a stage does not have are null."""
    document = stage_document(stage)
    assert {name: getattr(document, name) for name in members} == members


def test_schema_file_is_what_the_types_say() -> None:
    """The published schema is generated; `make schemas` writes it again."""
    assert SCHEMA_FILE.read_text() == json.dumps(plan_schema(), indent=2) + "\n"
    jsonschema.Draft202012Validator.check_schema(plan_schema())


@pytest.mark.parametrize("kind", [PlanDocument, StageDocument])
def test_schema_requires_every_member_and_allows_no_other(kind: type[Any]) -> None:
    """A member that does not apply is null, never absent."""
    definition = json.loads(SCHEMA_FILE.read_text())["$defs"][kind.__name__]
    assert definition["required"] == [each.name for each in fields(kind)]
    assert definition["additionalProperties"] is False


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "member missing": lambda document: document.pop("adopted"),
    "member too many": lambda document: document.update(more=1),
    "inner member missing": lambda document: document["totals"].pop("rows"),
    "stage": lambda document: document["stages"][0].update(stage="unheard of"),
    "mode": lambda document: document["partitions"][0].update(mode="fail"),
    "level": lambda document: document["notes"][0].update(level="error"),
    "version": lambda document: document.update(plan_version=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_document_with_another_member_or_value_breaks_its_schema(
    tmp_path: Path, change: str
) -> None:
    """The schema is strict, so that a test against it means something."""
    document = json.loads(explain_json(a_plan(tmp_path)))
    assert fits(document)
    CHANGES[change](document)
    assert not fits(document)


def test_partition_of_a_plan_that_was_refused_has_no_document(tmp_path: Path) -> None:
    """Mode `fail` refuses a plan, so the document knows no such partition."""
    plan = a_plan(tmp_path)
    refused = replace(plan.partitions[0], mode=BootstrapMode.FAIL)
    with pytest.raises(ValueError, match="`fail`"):
        plan_document(replace(plan, partitions=(refused,)))
