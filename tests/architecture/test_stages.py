"""What a plan shows is what a run uses: every stage reaches its step, and each step its stage."""

from __future__ import annotations

import ast
import inspect
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
    assert makers == {"audit/gate.py"}


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
