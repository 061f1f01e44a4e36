"""What the table of source formats says of our own plans, reader and writer, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import PlanError
from framework.hudi.table.schema import full_record_schema, parquet_schema
from framework.plan.readers.source_formats import FORMATS, Engine
from framework.vocabulary import SourceTrait
from tests.support.formats import FORMAT_FILES, TRAITS, adopting
from tests.support.writing import rows_of, run_spec

BY_TRAIT = {known.trait: known for known in FORMATS}


def test_formats_have_a_golden_file_each() -> None:
    """So each is tested, but for names and for encodings that no writer has yet."""
    assert set(BY_TRAIT) - set(TRAITS.values()) == {
        SourceTrait.UNKNOWN_ENCODING,
        SourceTrait.COLON_NAME,
    }


@pytest.mark.parametrize("name", TRAITS)
def test_plan_of_a_file_left_as_it_is_refuses_what_readers_cannot_read(
    name: str, tmp_path: Path
) -> None:
    """The error names the file, the column and, where it helps, the rule to write."""
    known = BY_TRAIT[TRAITS[name]]
    spec = adopting(name, tmp_path, "metadata_only")
    if not known.is_refused:
        run_spec(spec, tmp_path)
        assert Engine.IN_PROCESS not in known.reads
        assert data_of(tmp_path) == expected(name)
        return
    with pytest.raises(PlanError) as caught:
        run_spec(spec, tmp_path)
    assert caught.value.condition == "source/unreadable-format"
    assert "part.parquet: " in str(caught.value)
    assert ("mode: full_record" in str(caught.value)) is known.heals
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize("name", TRAITS)
def test_rule_by_trait_writes_such_files_in_full(name: str, tmp_path: Path) -> None:
    """The rule of the remedy is enough where it is offered; elsewhere the plan is refused too."""
    known = BY_TRAIT[TRAITS[name]]
    spec = adopting(name, tmp_path, "metadata_only")
    spec["bootstrap"]["rules"] = [{"having": [known.trait.value], "mode": "full_record"}]
    if known.is_refused and not known.heals:
        with pytest.raises(PlanError, match="source/unreadable-format"):
            run_spec(spec, tmp_path)
        return
    run_spec(spec, tmp_path)
    assert any((tmp_path / "table").glob("*.parquet"))
    (tmp_path / "source" / "part.parquet").unlink()
    assert data_of(tmp_path) == expected(name)


def test_plan_of_a_name_with_a_colon_refuses_what_hadoop_cannot_open(tmp_path: Path) -> None:
    """Spark and Apache Hudi parse the part before it as a scheme; `full_record` reads it."""
    spec = adopting("duckdb-plain", tmp_path, "metadata_only")
    (tmp_path / "source" / "part.parquet").rename(tmp_path / "source" / "a:b.parquet")
    with pytest.raises(PlanError, match=r"a:b\.parquet: names with ':'") as caught:
        run_spec(spec, tmp_path)
    assert caught.value.condition == "source/unreadable-format"
    spec["bootstrap"]["rules"] = [{"having": ["colon_name"], "mode": "full_record"}]
    run_spec(spec, tmp_path)
    assert data_of(tmp_path) == expected("duckdb-plain")


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_plan_of_a_struct_without_fields_is_refused(mode: str, tmp_path: Path) -> None:
    """Spark fails on it, and Arrow cannot write one."""
    with pytest.raises(PlanError) as caught:
        run_spec(adopting("struct-empty", tmp_path, mode), tmp_path)
    assert caught.value.condition == "schema/empty-struct"


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("loaded", [pa.binary(3), pa.binary(2), pa.binary()])
def test_load_into_bytes_of_a_fixed_length_takes_bytes(
    loaded: pa.DataType, mode: str, tmp_path: Path
) -> None:
    """The column is plain bytes in the table, so a load may bring any."""
    spec = adopting("fixed", tmp_path, mode)
    run_spec(spec, tmp_path)
    (tmp_path / "loads").mkdir()
    blob = b"xy" if loaded == pa.binary(2) else b"xyz"
    rows = {"id": pa.array([2, 9], pa.int64()), "v": ["a", "b"], "x": pa.array([blob] * 2, loaded)}
    pq.write_table(pa.table(rows), tmp_path / "loads" / "a.parquet", store_schema=False)
    spec["source"] = {"path": str(tmp_path / "loads")}
    spec["write"] = {"operation": "upsert"}
    run_spec(spec, tmp_path)
    found = {row["id"]: row["x"] for row in data_of(tmp_path)}
    assert found == {**dict.fromkeys(range(6), b"abc"), 2: blob, 9: blob}


def data_of(folder: Path) -> list[dict[str, object]]:
    """Return the table's rows without meta columns, by id."""
    rows = rows_of(str(folder / "table"))
    data = [{k: v for k, v in row.items() if not k.startswith("_hoodie")} for row in rows]
    return sorted(data, key=lambda row: row["id"])


def expected(name: str) -> list[dict[str, object]]:
    """Return the rows of a golden file as pyarrow reads them, in types that Spark has."""
    file = pq.ParquetFile(FORMAT_FILES[name])
    rows = file.read().cast(full_record_schema(parquet_schema(file.metadata)))
    found: list[dict[str, object]] = rows.to_pylist()
    return found
