"""Laws of the mapping from Arrow to the types of Hive and Spark."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import PlanError
from framework.plan.catalogs.column_types import (
    PART_LENGTH,
    hive_type,
    schema_parts,
    spark_schema,
)

pytestmark = pytest.mark.property

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
SAFE = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
SIMPLE = st.sampled_from(
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.large_string(), pa.binary(), pa.binary(4), pa.date32()),
        *(pa.timestamp("us", tz="UTC"), pa.timestamp("ms"), pa.time32("ms"), pa.time64("us")),
        *(pa.decimal128(1, 0), pa.decimal128(38, 38), pa.decimal128(12, 3)),
    ]
)


def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    """Return lists, maps and structs of the inner types."""
    fields = st.lists(st.tuples(SAFE, inner), min_size=1, max_size=3, unique_by=lambda f: f[0])
    return st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        fields.map(lambda pairs: pa.struct([pa.field(n, t) for n, t in pairs])),
    )


TYPES = st.recursive(SIMPLE, nested, max_leaves=6)


@given(TYPES)
def test_hive_types_have_balanced_brackets_and_known_words(kind: pa.DataType) -> None:
    """No space, no upper case: a metastore stores the text as it is."""
    text = hive_type(kind, support_timestamp=False, column="c")
    assert text == text.lower()
    assert " " not in text
    assert text.count("<") == text.count(">")
    assert "timestamp" not in re.sub(r"[a-z0-9_]+:", "", text)


@given(st.dictionaries(NAMES, TYPES, min_size=1, max_size=5), st.data())
def test_spark_schema_is_json_with_partition_columns_last(
    columns: dict[str, pa.DataType], data: st.DataObject
) -> None:
    """Whatever the names are: quotes, backslashes, line ends."""
    partition = data.draw(st.lists(st.sampled_from(sorted(columns)), unique=True, max_size=2))
    schema = pa.schema(list(columns.items()))
    found = json.loads(spark_schema(schema, partition))
    names = [each["name"] for each in found["fields"]]
    others = [name for name in columns if name not in partition]
    assert names == [*others, *partition]
    assert all(each["nullable"] is True for each in found["fields"])


@given(st.text(max_size=3).map(lambda text: text * 3000))
def test_parts_are_short_and_join_to_the_text(text: str) -> None:
    """In UTF-16 units, as Java counts them."""
    parts = schema_parts(text)
    assert "".join(parts) == text
    assert all(len(each.encode("utf-16-le")) // 2 <= PART_LENGTH for each in parts)
    if text.isascii() and text:
        assert len(parts) == -(-len(text) // PART_LENGTH)


@pytest.mark.parametrize("name", ["a:b", "a,b", "a<b", "a b", "ü", "a`b", ""])
def test_nested_name_that_hive_cannot_parse_is_refused(name: str) -> None:
    """A name inside of a type is part of a text that Hive parses."""
    kind = pa.struct([pa.field(name, pa.int64())])
    with pytest.raises(PlanError) as caught:
        hive_type(kind, support_timestamp=False, column="outer")
    assert caught.value.condition == "catalog/nested-name"
    assert "outer" in caught.value.message


def test_nested_names_are_translated_as_by_apache_hudi() -> None:
    """`$` and `-` have no place in Hive's types."""
    kind = pa.struct([pa.field("a$b-C", pa.int64())])
    assert hive_type(kind, support_timestamp=False, column="c") == "struct<a_dollar_b_c:bigint>"
