"""Which traits of codec, encoding and type a footer shows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.fingerprint import read_footer
from framework.hudi.bootstrap.footer_facts import FooterFacts, SchemaElement
from framework.hudi.bootstrap.source_schema import format_traits
from framework.vocabulary import SourceTrait
from tests.support.formats import FORMAT_FILES, TRAITS


@pytest.mark.parametrize("name", FORMAT_FILES)
def test_format_traits_of_golden_files_are_as_listed(name: str) -> None:
    """Each golden file has the trait it was made for, in its own column, and no other."""
    data = FORMAT_FILES[name].read_bytes()
    if name == "polars-int128":
        with pytest.raises(CorruptFileError) as caught:
            read_footer(pa.BufferReader(data), len(data), name)
        assert caught.value.condition == "source/not-supported"
        return
    found = read_footer(pa.BufferReader(data), len(data), name).traits
    wanted = {TRAITS[name]} if name in TRAITS else set()
    assert set(found) - wanted <= ({SourceTrait.FIXED_BINARY} if name == "split-fixed" else set())
    assert wanted <= set(found)
    assert all(column.split(".")[0] in {"id", "x"} for column in found.values())


@pytest.mark.parametrize(
    ("created_by", "traits"),
    [("parquet-mr version 1.13.1 (build 4e0)", []), ("parquet-cpp version 1.5.1", ["lz4"])],
)
def test_format_traits_of_lz4_depend_on_the_writer(created_by: str, traits: list[str]) -> None:
    """Hadoop's framing is what parquet-mr writes."""
    facts = facts_of((SchemaElement(name="a", kind=1),), created_by=created_by, codecs={5: 0})
    assert list(format_traits(facts)) == traits


def test_format_traits_of_a_nested_column_name_its_path() -> None:
    """Codecs and encodings are counted by leaf, types by node."""
    schema = (
        SchemaElement(name="s", children=2),
        SchemaElement(name="a", kind=1),
        SchemaElement(name="b", kind=6, logical=17),
        SchemaElement(name="c", kind=5),
    )
    facts = facts_of(schema, codecs={0: 0, 4: 2}, encodings={0: 0, 9: 1})
    assert format_traits(facts) == {
        SourceTrait.GEOMETRY: "s.b",
        SourceTrait.BROTLI: "c",
        SourceTrait.BYTE_STREAM_SPLIT: "s.b",
    }


def facts_of(
    schema: tuple[SchemaElement, ...],
    *,
    created_by: str = "",
    codecs: dict[int, int] | None = None,
    encodings: dict[int, int] | None = None,
) -> FooterFacts:
    """Return the facts of a footer with this schema below its root."""
    below = len(schema) - sum(each.children for each in schema)
    return FooterFacts(
        row_groups=(),
        data_end=0,
        is_encrypted=False,
        is_elsewhere=False,
        created_by=created_by,
        schema=(SchemaElement(name="schema", children=below), *schema),
        codecs=codecs or {},
        encodings=encodings or {},
    )
