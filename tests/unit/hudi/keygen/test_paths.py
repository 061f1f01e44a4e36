"""Partition paths of rows."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, PlanError
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.rule import KeyRule, choose_rule
from framework.hudi.table.partition_path import PartitionField, parse_partition
from framework.vocabulary import KeyScope, PartitionType, SourceLayout

HIVE = SourceLayout.HIVE


def a_rule(layout: SourceLayout = HIVE, **columns: PartitionType) -> KeyRule:
    """Return a rule with these partition columns."""
    fields = [PartitionField(name=name, type=kind) for name, kind in columns.items()]
    layout = layout if fields else SourceLayout.NONE
    return choose_rule(["id"], fields, layout=layout, scope=KeyScope.TABLE)


def paths(rule: KeyRule, **columns: Any) -> list[str]:
    """Return the path of each row."""
    found: list[str] = partition_paths(rule, pa.table(columns)).to_pylist()
    return found


def test_partition_paths_typed_columns_have_hudis_text() -> None:
    """Each type has its own text, and levels are joined in order."""
    rule = a_rule(day=PartitionType.DATE, n=PartitionType.INT, ok=PartitionType.BOOLEAN)
    days = [date(2024, 2, 29), date(2024, 2, 29)]
    assert paths(rule, day=days, n=pa.array([-7, 8], pa.int32()), ok=[True, False]) == [
        "day=2024-02-29/n=-7/ok=true",
        "day=2024-02-29/n=8/ok=false",
    ]


def test_partition_paths_null_is_the_default_partition() -> None:
    """Null has a folder of its own."""
    rule = a_rule(p=PartitionType.STRING)
    column = pa.array(["a", None], pa.string())
    assert paths(rule, p=column) == ["p=a", "p=__HIVE_DEFAULT_PARTITION__"]


def test_partition_paths_unpartitioned_table_has_the_root() -> None:
    """Without partition columns every row is in the table's own folder."""
    assert paths(a_rule(), id=[1, 2]) == ["", ""]


def test_partition_paths_no_rows_gives_no_paths() -> None:
    """An empty batch has an empty dictionary too."""
    found = partition_paths(a_rule(p=PartitionType.STRING), pa.table({"p": pa.array([], "string")}))
    assert len(found) == len(found.dictionary) == 0


def test_partition_paths_dictionary_column_is_read_by_its_values() -> None:
    """How a column is encoded makes no difference, and values that do not occur make no path."""
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["x", "y"]))
    found = partition_paths(a_rule(p=PartitionType.STRING), pa.table({"p": column}))
    assert found.dictionary.to_pylist() == ["p=y"]


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_partition_paths_value_that_would_be_null_is_refused(value: str) -> None:
    """A text that would be read back as null is no value of a partition."""
    with pytest.raises(CorruptFileError) as caught:
        paths(a_rule(p=PartitionType.STRING), p=[value])
    assert caught.value.condition == "partition/value-not-a-path"


@pytest.mark.parametrize("value", ["a/b", "a=b", "a%20"])
def test_partition_paths_positional_value_that_breaks_the_path_is_refused(value: str) -> None:
    """Without escapes a value with a special character has no folder."""
    with pytest.raises(CorruptFileError, match="cannot be a folder name"):
        paths(a_rule(SourceLayout.POSITIONAL, p=PartitionType.STRING), p=[value])


def test_partition_paths_missing_column_is_refused() -> None:
    """Rows without the partition column have no place."""
    with pytest.raises(PlanError) as caught:
        paths(a_rule(p=PartitionType.STRING), id=[1])
    assert caught.value.condition == "partition/column-missing"


@given(values=st.lists(st.text(min_size=1, max_size=5), max_size=10))
def test_partition_paths_any_text_leads_back_to_its_value(values: list[str]) -> None:
    """Escaped text is read back as what it was."""
    rule = a_rule(p=PartitionType.STRING)
    try:
        found = paths(rule, p=pa.array(values, pa.string()))
    except (CorruptFileError, UnicodeEncodeError):
        return
    assert [parse_partition(each, rule.partition, HIVE)[0] for each in found] == values
