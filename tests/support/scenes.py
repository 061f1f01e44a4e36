"""A source, a place for a table and the spec between them, for tests from end to end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.prepare import PlanningContext, Prepared, Request, prepare
from framework.engine.runner import RunResult, run
from framework.engine.tasks import InProcessTasks, Tasks
from framework.errors import Finding, FrameworkError, SpecError
from framework.plan.build import Earlier
from tests.support.sources import a_source

__all__ = [
    "Refusal",
    "Scene",
    "a_document",
    "a_scene",
    "adopt",
    "execute",
    "plan",
    "refusal",
    "snapshot",
    "with_spec",
]

INT: Mapping[str, str] = {"p": "int"}
_NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What one test works with.

    Attributes:
        folder: holds spec, source and table, unless a test puts them elsewhere.
        source: the folder of Parquet files.
        location: where the table is to be.
        document: the spec as JSON, which is YAML.
    """

    folder: Path
    source: Path
    location: Path
    document: Mapping[str, Any]

    @property
    def spec(self) -> Path:
        """The spec's file, written anew where the document has changed."""
        path = self.folder / "scene.pipeline.yml"
        text = json.dumps(self.document, indent=1, ensure_ascii=False)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An error that left nothing behind.

    Attributes:
        error: what was raised.
        findings: what is wrong with the spec, one by one; empty where that is not the matter.
    """

    error: FrameworkError
    findings: tuple[Finding, ...]

    def finding(self, rule: str) -> Finding:
        """Return the one finding of a rule."""
        (found,) = [each for each in self.findings if each.rule == rule]
        return found


def a_document(
    *,
    partition: Mapping[str, str] = INT,
    key: Sequence[str] = ("id",),
    table: Mapping[str, Any] | None = None,
    **bootstrap: Any,
) -> dict[str, Any]:
    """Return a spec without places: key `id`, one int partition column `p`, as Hive has it.

    Args:
        partition: type by column; none of them means no partitions.
        key: record key columns.
        table: further entries of the section `table`, over those made here.
        **bootstrap: likewise of the section `bootstrap`.
    """
    columns = {"partition_by": dict(partition)} if partition else {}
    return {
        "version": 1,
        "table": {
            "name": "odd.rows",
            "type": "copy_on_write",
            **columns,
            "record_key": {"columns": list(key), "unique_within": "table"},
            **(table or {}),
        },
        "bootstrap": {
            "layout": "hive" if partition else "none",
            "mode": "metadata_only",
            **bootstrap,
        },
    }


def a_scene(
    folder: Path, files: Mapping[str, pa.Table], document: Mapping[str, Any] | None = None
) -> Scene:
    """Write Parquet files below `folder`/source and return the scene around them."""
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    a_source(source, files)
    scene = Scene(
        folder=folder,
        source=source,
        location=folder / "table",
        document=document or a_document(),
    )
    return with_spec(scene, path=str(source), location=str(scene.location))


def with_spec(scene: Scene, *, path: str | None = None, location: str | None = None) -> Scene:
    """Return the scene with these places written in its spec; the files stay where they are."""
    table, bootstrap = dict(scene.document["table"]), dict(scene.document["bootstrap"])
    if path is not None:
        bootstrap["path"] = path
    if location is not None:
        table["location"] = location
        scene = replace(scene, location=Path(location.removeprefix("file://")))
    return replace(scene, document={**scene.document, "table": table, "bootstrap": bootstrap})


def plan(scene: Scene, *, earlier: Earlier = Earlier.AUTO, tasks: Tasks | None = None) -> Prepared:
    """Return the plan of the scene's spec."""
    scratch = scene.folder.parent / f"{scene.folder.name}-scratch-{next(_NUMBERS)}"
    scratch.mkdir()
    planning = PlanningContext(tasks=tasks or InProcessTasks(2), scratch=scratch)
    return prepare(Request(path=scene.spec, earlier=earlier), planning)


def adopt(
    scene: Scene, *, earlier: Earlier = Earlier.AUTO, tasks: Tasks | None = None
) -> RunResult | None:
    """Plan and run as the command does; return None where there is nothing to do."""
    return execute(plan(scene, earlier=earlier, tasks=tasks), tasks=tasks)


def execute(prepared: Prepared, *, tasks: Tasks | None = None) -> RunResult | None:
    """Run a plan; return None where there is nothing to do."""
    plan = prepared.plan
    return run(plan, tasks or InProcessTasks(2)) if plan.has_changes else None


def refusal(
    scene: Scene, condition: str, *, tasks: Tasks | None = None, source_moves: bool = False
) -> Refusal:
    """Run the scene's spec, which must be refused for this reason and leave nothing behind.

    Asserts that the condition is the error's, or among its findings, that each says what to do
    (the message does, where a spec is faulty by itself), and that source and table are as before.

    Args:
        scene: what is run.
        condition: the error's.
        tasks: runs the work.
        source_moves: whether the test itself changes the source meanwhile.
    """
    assert scene.spec.exists()
    before = snapshot(scene.source), snapshot(scene.location, times=False)
    with pytest.raises(FrameworkError) as caught:
        adopt(scene, tasks=tasks)
    if not source_moves:
        assert snapshot(scene.source) == before[0], "the source was touched"
    assert snapshot(scene.location, times=False) == before[1], "something was left at the target"
    error = caught.value
    cause = error if isinstance(error, SpecError) else error.__cause__
    findings = cause.findings if isinstance(cause, SpecError) else ()
    conditions = {error.condition, *(each.rule for each in findings)}
    assert condition in conditions, f"{conditions}: {error}"
    assert error.message
    if not isinstance(error, SpecError):
        assert error.remedy, f"no remedy: {error}"
        assert all(each.suggestion for each in findings), f"no remedy in one of {findings}"
    return Refusal(error=error, findings=findings)


def snapshot(root: Path, *, times: bool = True) -> dict[str, object]:
    """Return everything at `root`, by path: kind, bytes and, for files, modification time.

    Links are returned as links, not followed; an empty dictionary means that nothing exists.
    """
    found: dict[str, object] = {}
    if root.is_symlink() or not root.is_dir():
        return {"": _description(root, times=times)} if root.is_symlink() or root.exists() else {}
    found[""] = "folder"
    for path in sorted(root.rglob("*")):
        found[str(path.relative_to(root))] = _description(path, times=times)
    return found


def _description(path: Path, *, times: bool) -> object:
    """Return the description of one entry."""
    if path.is_symlink():
        return "link", str(path.readlink())
    if path.is_dir():
        return "folder"
    facts = path.stat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return (digest, facts.st_size, facts.st_mtime_ns) if times else (digest, facts.st_size)
