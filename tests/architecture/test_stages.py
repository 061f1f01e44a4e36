"""What a plan shows is what a run uses: every stage reaches its step, and each step its stage."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from framework.plan import stages
from framework.plan.stages import Stage

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "framework" / "engine"
PIPELINES = (ENGINE / "bootstrap" / "pipeline.py", ENGINE / "load" / "pipeline.py")

_PROOF = "the proof in a commit, as JSON that every reader of tables may look at"
_REFUSAL = "why the gate refused, as the JSON of an error"
_ROW = "a row, whose columns the spec or the data decides"
_GX = "Great Expectations decides its form"

UNTYPED = {
    "engine/audit/account.py": _ROW,
    "engine/audit/gate.py": _PROOF,
    "engine/audit/report.py": _REFUSAL,
    "engine/audit/verdicts.py": _REFUSAL,
    "engine/bootstrap/footers.py": _ROW,
    "engine/bootstrap/job.py": "an Avro schema",
    "engine/bootstrap/key_proof.py": _PROOF,
    "engine/reading/load_history.py": _PROOF,
    "engine/catalogs/glue.py": "AWS Glue decides its form",
    "engine/fsck/document.py": "a JSON Schema, and the members of a document",
    "engine/load/patch.py": _ROW,
    "engine/load/refusals.py": _REFUSAL,
    "engine/quarantine/quarantined_batch.py": "fields of a dataclass, on their way into another",
    "engine/quarantine/rows.py": _ROW,
    "engine/reporting/document.py": _GX,
    "engine/reporting/gx.py": _GX,
    "engine/reporting/html.py": "what a Jinja template gets",
    "engine/reporting/keys.py": _REFUSAL,
    "engine/reporting/lineage.py": "OpenLineage decides its form",
    "engine/reporting/summary.py": _PROOF,
    "engine/reporting/words.py": _GX,
    "engine/results.py": _GX,
    "engine/run/inspection.py": _PROOF,
    "engine/runner.py": _PROOF,
    "engine/source_checks.py": _PROOF,
    "engine/spec_tests/result.py": _REFUSAL,
    "engine/spec_tests/rows.py": _ROW,
    "engine/spec_tests/values.py": _ROW,
    "plan/facts.py": "facts that releases before this one wrote",
    "plan/quality/model.py": _GX,
    "plan/render/document.py": "a JSON Schema",
    "plan/render/json_values.py": "a JSON Schema",
    "plan/saved.py": "a document before it is validated",
    "plan/spec_tests/spec_test.py": _ROW,
}
"""Files that hold mappings of any values, and whose form these have."""

SHOWN_ONLY = {
    "Recover.write_id": "what a dead run left is looked up under the lease, as it is by then",
    "Recover.instant": "likewise",
    "Skeletons.bytes_to_write": "an estimate",
    "FullRecords.bytes_to_write": "an estimate",
    "Index.bytes_to_write": "an estimate",
    "CommitBootstrap.instant": "the transaction has it from `begin`",
    "CommitBootstrap.action": "likewise",
    "CommitBootstrap.files": "the audit compares them before",
    "ReadInput.files": "the request has their paths",
    "ReadInput.bytes": "sizes are read again with the footers",
    "CommitLoad.action": "the transaction has it from `begin`",
}
"""Fields that no step reads, and why."""


@cache
def _functions() -> tuple[ast.FunctionDef, ...]:
    """Return every function of the engine that takes a stage."""
    return tuple(
        node
        for path in sorted(ENGINE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and _stage_types(node)
    )


def _stage_types(function: ast.FunctionDef) -> set[str]:
    """Return the stages that a function's parameter `stage` may be."""
    names = {each.__name__ for each in get_args(Stage)}
    arguments = [*function.args.args, *function.args.kwonlyargs]
    found = (
        ast.walk(each.annotation) for each in arguments if each.arg == "stage" and each.annotation
    )
    return {n.id for walk in found for n in walk if isinstance(n, ast.Name)} & names


def _read_by_steps(stage: type) -> set[str]:
    """Return the names that functions which take a stage read of it."""
    return {
        node.attr
        for function in _functions()
        if stage.__name__ in _stage_types(function)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "stage"
    }


def _behind(stage: type, name: str) -> set[str]:
    """Return the fields that a property of a stage is made of; a field is made of itself."""
    found = inspect.getattr_static(stage, name)
    if not isinstance(found, property) or found.fget is None:
        return {name}
    tree = ast.parse(inspect.cleandoc(inspect.getsource(found.fget)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_fields_that_no_step_reads_are_those_that_are_only_shown() -> None:
    """Neither more nor fewer: a field that a step begins to read leaves the list."""
    unread = {
        f"{stage.__name__}.{field.name}"
        for stage in get_args(Stage)
        for field in fields(stage)
        if field.name not in {f for n in _read_by_steps(stage) for f in _behind(stage, n)}
    }
    assert unread == set(SHOWN_ONLY)


def test_every_stage_reaches_a_step() -> None:
    """No stage of a plan is passed over."""
    taken = {name for function in _functions() for name in _stage_types(function)}
    assert taken == {each.__name__ for each in get_args(Stage)}


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (PIPELINES[0], (stages.BootstrapStages,)),
        (PIPELINES[1], (stages.LoadStages, stages.RowStages)),
    ],
    ids=["bootstrap", "load"],
)
def test_pipeline_hands_each_stage_to_a_step(path: Path, kinds: tuple[type, ...]) -> None:
    """Each field of the pipeline's stages is an argument of a call in its story."""
    handed = {
        argument.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Attribute)
    }
    wanted = {field.name for kind in kinds for field in fields(kind)}
    assert wanted - {"rows"} <= handed


def test_files_are_audited_by_the_gate_alone() -> None:
    """A commit takes `AuditedFiles`, and nobody but the gate makes any."""
    makers = {
        str(path.relative_to(ENGINE))
        for path in (ROOT / "framework").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "AuditedFiles"
    }
    assert makers == {"audit/gate.py", "audit/rewritten.py"}


def test_work_of_engine_and_plan_has_types() -> None:
    """No field or parameter of ours is a plain object that steps have to look into."""
    rooms = (ENGINE, ROOT / "framework" / "plan")
    casts = [
        path for room in rooms for path in room.rglob("*.py") if 'cast("Any"' in path.read_text()
    ]
    assert casts == []
    bags = [
        f"{path.name}:{node.lineno}"
        for room in rooms
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.annotation, ast.Name)
        and node.annotation.id == "object"
    ]
    assert bags == []


def test_mappings_of_any_values_are_of_forms_that_others_define() -> None:
    """What we define ourselves is a dataclass; a file that needs no mapping leaves the list."""
    untyped = re.compile(r"(?:dict|Mapping)\[str, (?:Any|object)\]")
    found = {
        str(path.relative_to(ROOT / "framework"))
        for room in (ENGINE, ROOT / "framework" / "plan")
        for path in room.rglob("*.py")
        if untyped.search(path.read_text())
    }
    assert found == set(UNTYPED)
