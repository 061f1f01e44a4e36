"""What a reader learns of a table before it looks at any file, and which tables it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from framework.engine.reading.table import open_table
from framework.errors import UnsupportedTableError
from tests.golden.tables.opening import open_golden

GOLDEN = "written-copy-on-write-1.2.0"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a copy of the `.hoodie` folder of a table that Apache Hudi wrote."""
    shutil.copytree(open_golden(GOLDEN).location / ".hoodie", tmp_path / "table" / ".hoodie")
    return tmp_path / "table"


def _set(table: Path, entry: str) -> None:
    """Add an entry to the table's properties, over what they have."""
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}{entry}\n")


def _refusal(table: Path) -> UnsupportedTableError:
    with pytest.raises(UnsupportedTableError) as caught:
        open_table(str(table))
    return caught.value


@pytest.mark.parametrize(
    "entry",
    [
        "hoodie.table.base.file.format=ORC",
        "hoodie.table.multiple.base.file.formats.enable=true",
        "hoodie.partition.metafile.use.base.format=true",
    ],
)
def test_table_with_files_that_are_not_looked_for_is_refused(table: Path, entry: str) -> None:
    """Its rows would be missing, and nothing would say so."""
    open_table(str(table))
    _set(table, entry)
    found = _refusal(table)
    assert found.condition == "read/property-not-supported"
    assert entry in found.message


@pytest.mark.parametrize("name", ["_metadata", "_Tmp_Metadata_Row_Index", "_lakestrap_file"])
def test_table_with_a_column_that_a_scan_makes_itself_is_refused(table: Path, name: str) -> None:
    """Spark would hide it, or read row numbers instead of it."""
    for commit in (table / ".hoodie").glob("*.commit"):
        body = json.loads(commit.read_text())
        schema = json.loads(body["extraMetadata"]["schema"])
        schema["fields"].append({"name": name, "type": ["null", "long"], "default": None})
        body["extraMetadata"]["schema"] = json.dumps(schema)
        commit.write_text(json.dumps(body))
    found = _refusal(table)
    assert found.condition == "read/reserved-column"
    assert f"'{name}'" in found.message


@pytest.mark.parametrize("value", ["false", "False", " false "])
def test_questions_of_meta_columns_are_refused_where_a_table_has_none(
    table: Path, value: str
) -> None:
    """Rows are readable; what a commit wrote is not."""
    open_table(str(table)).require_meta_columns("anything")
    _set(table, f"hoodie.populate.meta.fields={value}")
    with pytest.raises(UnsupportedTableError) as caught:
        open_table(str(table)).require_meta_columns("anything")
    assert caught.value.condition == "read/no-meta-columns"
    assert "anything" in caught.value.message
