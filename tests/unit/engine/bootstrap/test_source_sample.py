"""What a plan says it will write, beside what a run has written."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from framework.engine.bootstrap.source import sample_source
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.vocabulary import SourceLayout
from tests.support.scenes import a_document, a_scene, adopt, plan
from tests.support.sources import a_rule, a_source, ids, source_context

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


def test_planned_bytes_of_full_files_are_near_those_that_are_written(tmp_path: Path) -> None:
    """Data that is stored without compression shrinks, and the plan says so."""
    chance = random.Random(3)
    texts = [chance.choice(["first", "second", "third"]) * 9 for _ in range(2 * ROWS)]
    table = pa.table({"id": range(2 * ROWS), "text": texts, "n": [7.5] * (2 * ROWS)})
    files = {f"p={part}/a.parquet": table.slice(part * ROWS, ROWS) for part in range(2)}
    document = a_document(table={"bloom": {"kind": "none"}}, mode="full_record")
    scene = a_scene(tmp_path / "scene", files, document)
    a_source(scene.source, files, compression="none", use_dictionary=False)
    planned = plan(scene).plan.estimate.full_record_bytes
    adopt(scene)
    written = sum(f.stat().st_size for f in scene.location.glob("p=*/*.parquet"))
    assert planned == pytest.approx(written, rel=0.25)


def test_sample_of_a_source_pools_its_files(tmp_path: Path) -> None:
    """Empty files contribute nothing; the others are added up, one with all columns."""
    files = {"p=1/a": ids(), "p=1/b": ids(*range(1000)), "p=2/a": ids(*range(500))}
    context = source_context(tmp_path, files)
    found = sample_source(context.inventory, context.rule, BloomChoice())
    assert found is not None
    assert (found.files, found.rows) == (2, 1500)
    assert 0 < found.key_bytes < 2 * found.rows
    assert found.rewrite_ns == 0  # the first file has no rows


def test_sample_of_nothing_is_unknown(tmp_path: Path) -> None:
    """No file, no rows, no key column, no readable page, no typed folder: no answer, no error."""
    (tmp_path / "none/source").mkdir(parents=True)
    bloom = BloomChoice()
    none = source_context(tmp_path / "none", {})
    assert sample_source(none.inventory, none.rule, bloom) is None
    empty = source_context(tmp_path / "empty", {"p=1/a": ids()})
    assert sample_source(empty.inventory, empty.rule, bloom) is None
    context = source_context(tmp_path / "some", {"p=1/a": ids(*range(1000))})
    assert sample_source(context.inventory, a_rule("absent"), bloom) is None
    other = a_rule(layout=SourceLayout.POSITIONAL)
    assert sample_source(context.inventory, other, bloom) is None
    (tmp_path / "some/source/p=1/a").unlink()
    assert sample_source(context.inventory, context.rule, bloom) is None
