"""Apache Hudi does with each source format what the table of formats says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framework.plan.bootstrap.build_bootstrap
from framework.plan.readers.source_formats import FORMATS, Engine, Use
from framework.vocabulary import SourceTrait
from tests.interop.canonical import canonical_rows
from tests.interop.judge import Judge, JudgeError
from tests.interop.printed import printed_options
from tests.support.formats import READ, RIGHT, TRAITS, adopted, upsert_into

pytestmark = pytest.mark.interop

BY_TRAIT = {known.trait: known for known in FORMATS}
RELEASES = {"1.2.0": Engine.HUDI_1_2, "0.15.0": Engine.HUDI_0_15}
SAMPLE = {"codec-brotli", "codec-lz4", "split-double", "decimal-int-9", "json", "list-null"}
MATRIX = [
    pytest.param(name, marks=[] if name in SAMPLE else pytest.mark.full) for name in (*READ, *RIGHT)
]


BETTER = {
    ("split-float", Engine.HUDI_1_2): (Use.RIGHT, Use.RIGHT),
    ("split-double", Engine.HUDI_1_2): (Use.RIGHT, Use.RIGHT),
    ("duckdb-v2", Engine.HUDI_1_2): (Use.RIGHT, Use.RIGHT),
    ("split-float", Engine.HUDI_0_15): (Use.FAILS, Use.RIGHT),
    ("split-double", Engine.HUDI_0_15): (Use.FAILS, Use.RIGHT),
    ("duckdb-v2", Engine.HUDI_0_15): (Use.FAILS, Use.RIGHT),
}
"""Read and upsert of files that are better than the worst of their trait: floats, split."""


@pytest.fixture
def no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adopt what a plan refuses, to see whether it is right to do so."""
    monkeypatch.setattr(framework.plan.bootstrap.build_bootstrap, "FORMATS", ())


@pytest.mark.usefixtures("no_refusal")
@pytest.mark.taking_turns(2)
@pytest.mark.parametrize("name", MATRIX)
def test_read_and_upsert_of_a_format_by_apache_hudi_are_as_listed(
    name: str, judge: Judge, tmp_path: Path
) -> None:
    """Of a table whose one file stayed as it is, under the options that `status` prints."""
    location, engine = adopted(name, tmp_path), RELEASES[judge.version]
    reads, upserts = listed(name, engine)
    before, batch, after = upsert_into(name)
    assert read_of(judge, location, before) is reads
    pq.write_table(batch, tmp_path / "batch.parquet", store_schema=False)
    options = {"hoodie.datasource.write.operation": "upsert", **printed_options(location)}
    try:
        judge.upsert(location, tmp_path / "batch.parquet", options)
    except JudgeError:
        assert upserts is Use.FAILS
    else:
        assert read_of(judge, location, after) is upserts


def test_upsert_into_lists_with_nulls_fails_without_the_printed_option(
    judge: Judge, tmp_path: Path
) -> None:
    """With it the matrix above has `list-null` right, so the option is what does it."""
    location = adopted("list-null", tmp_path)
    _, batch, _ = upsert_into("list-null")
    pq.write_table(batch, tmp_path / "batch.parquet", store_schema=False)
    options = dict(printed_options(location))
    assert options.pop("spark.hadoop.parquet.avro.write-old-list-structure") == "false"
    with pytest.raises(JudgeError):  # 1.2.0 keeps the cause in its log
        judge.upsert(location, tmp_path / "batch.parquet", options)


@pytest.mark.taking_turns(2)
@pytest.mark.parametrize("name", MATRIX)
def test_format_written_in_full_is_read_and_upserted_by_apache_hudi(
    name: str, judge: Judge, tmp_path: Path
) -> None:
    """Where `full_record` heals, each release reads the rows and keeps them in an upsert."""
    known = BY_TRAIT.get(TRAITS.get(name, SourceTrait.MISSING_COLUMNS))
    if known and not known.heals:
        pytest.skip("a plan refuses it in each mode")
    location = adopted(name, tmp_path, mode="full_record")
    before, batch, after = upsert_into(name)
    assert read_of(judge, location, before) is Use.RIGHT
    pq.write_table(batch, tmp_path / "batch.parquet", store_schema=False)
    options = {"hoodie.datasource.write.operation": "upsert", **printed_options(location)}
    for _ in range(2):
        judge.upsert(location, tmp_path / "batch.parquet", options)
        assert read_of(judge, location, after) is Use.RIGHT


def listed(name: str, engine: Engine) -> tuple[Use, Use]:
    """Return what the table of formats says of reading a file, and of an upsert into it."""
    known = BY_TRAIT.get(TRAITS.get(name, SourceTrait.MISSING_COLUMNS))
    if known is None:
        return Use.RIGHT, Use.RIGHT
    worst = (known.reads.get(engine, Use.RIGHT), known.upserts.get(engine, Use.RIGHT))
    return BETTER.get((name, engine), worst)


def canonical(rows: pa.Table) -> list[list[object]]:
    """Return the rows in the form in which answers are compared."""
    return canonical_rows([tuple(row.values()) for row in rows.to_pylist()])


def read_of(judge: Judge, location: Path, rows: pa.Table) -> Use:
    """Return how the judge reads the table of these rows."""
    try:
        found = judge.rows(location, rows.column_names)
    except JudgeError:
        return Use.FAILS
    return Use.RIGHT if found == canonical(rows) else Use.WRONG
