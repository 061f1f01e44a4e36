"""What a plan says it will write, beside what a run has written."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from framework.engine.bootstrap.source import sampled_key_bytes
from framework.vocabulary import SourceLayout
from tests.support.scenes import a_document, a_scene, adopt, plan
from tests.support.sources import a_rule, ids, source_context

ROWS = 4_000


def files_of(kind: str) -> Mapping[str, pa.Table]:
    """Return two files whose ids increase, are scattered or are random text."""
    chance = random.Random(7)
    numbers = list(range(2 * ROWS))
    if kind == "scattered":
        chance.shuffle(numbers)
    texts = [str(UUID(int=chance.getrandbits(128))) for _ in numbers]
    column = pa.array(texts) if kind == "text" else pa.array(numbers, pa.int64())
    table = pa.table({"id": column})
    return {f"p={part}/a.parquet": table.slice(part * ROWS, ROWS) for part in range(2)}


@pytest.mark.parametrize("kind", ["increasing", "scattered", "text"])
@pytest.mark.parametrize("bloom", ["none", "dynamic"])
def test_planned_bytes_are_near_those_that_are_written(
    tmp_path: Path, kind: str, bloom: str
) -> None:
    """Within a quarter, for keys of any sort, with and without filters."""
    scene = a_scene(
        tmp_path / "scene", files_of(kind), a_document(table={"bloom": {"kind": bloom}})
    )
    planned = plan(scene).plan.estimate.skeleton_bytes
    adopt(scene)
    written = sum(f.stat().st_size for f in scene.location.glob("p=*/*.parquet"))
    assert planned == pytest.approx(written, rel=0.25)


def test_sampled_bytes_of_a_source_pool_its_files(tmp_path: Path) -> None:
    """Empty files contribute nothing; the others are added up."""
    context = source_context(tmp_path, {"p=1/a": ids(), "p=1/b": ids(*range(1000)), "p=2/a": ids()})
    found = sampled_key_bytes(context.inventory, context.rule)
    assert found is not None
    assert 0 < found < 2


def test_sampled_bytes_of_nothing_are_unknown(tmp_path: Path) -> None:
    """No file, no rows, no key column, no readable page, no typed folder: no answer, no error."""
    (tmp_path / "none/source").mkdir(parents=True)
    none = source_context(tmp_path / "none", {})
    assert sampled_key_bytes(none.inventory, none.rule) is None
    empty = source_context(tmp_path / "empty", {"p=1/a": ids()})
    assert sampled_key_bytes(empty.inventory, empty.rule) is None
    context = source_context(tmp_path / "some", {"p=1/a": ids(*range(1000))})
    assert sampled_key_bytes(context.inventory, a_rule("absent")) is None
    other = a_rule(layout=SourceLayout.POSITIONAL)
    assert sampled_key_bytes(context.inventory, other) is None
    (tmp_path / "some/source/p=1/a").unlink()
    assert sampled_key_bytes(context.inventory, context.rule) is None
