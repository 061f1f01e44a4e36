"""What the table of source formats says of our own plans, reader and writer, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from framework.errors import PlanError
from framework.hudi.table.schema import full_record_schema, parquet_schema
from framework.plan.source_formats import FORMATS, Engine
from framework.vocabulary import SourceTrait
from tests.support.formats import FORMAT_FILES, TRAITS, adopting
from tests.support.writing import rows_of, run_spec

if TYPE_CHECKING:
    from pathlib import Path

BY_TRAIT = {known.trait: known for known in FORMATS}


def test_formats_have_a_golden_file_each() -> None:
    """So each is tested; an unknown encoding stands for itself, since no writer has one."""
    assert set(BY_TRAIT) - set(TRAITS.values()) == {SourceTrait.UNKNOWN_ENCODING}


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
