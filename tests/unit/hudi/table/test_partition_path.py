"""Partition paths: what comes back unchanged, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import PlanError
from framework.hudi.table.partition_path import (
    HIVE_DEFAULT,
    PartitionField,
    PartitionValue,
    escape,
    parse_partition,
    partition_values,
    render_partition,
    unescape,
)
from framework.vocabulary import PartitionType, SourceLayout

HIVE, POSITIONAL = SourceLayout.HIVE, SourceLayout.POSITIONAL
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
VALUES: dict[PartitionType, st.SearchStrategy[PartitionValue]] = {
    PartitionType.STRING: TEXT.filter(lambda text: text != HIVE_DEFAULT),
    PartitionType.INT: st.integers(-(2**31), 2**31 - 1),
    PartitionType.LONG: st.integers(-(2**63), 2**63 - 1),
    PartitionType.DATE: st.dates(),
    PartitionType.BOOLEAN: st.booleans(),
}


def _fields(*types: PartitionType) -> list[PartitionField]:
    """Return fields a, b, c of these types."""
    return [PartitionField(name="abc"[n], type=kind) for n, kind in enumerate(types)]


def _condition(path: str, fields: Sequence[PartitionField], layout: SourceLayout) -> str:
    """Return the condition under which `path` is refused."""
    with pytest.raises(PlanError) as caught:
        parse_partition(path, fields, layout)
    assert caught.value.remedy
    return caught.value.condition


@pytest.mark.property
@given(TEXT)
def test_unescape_gives_back_what_was_escaped(text: str) -> None:
    """Whatever a value holds, its folder can be read."""
    assert unescape(escape(text)) == text
    assert "/" not in escape(text)


@pytest.mark.property
@given(st.data())
def test_hive_path_of_any_values_comes_back(data: st.DataObject) -> None:
    """Rendering, then parsing, gives the typed values, with None as Hive's default."""
    types = data.draw(st.lists(st.sampled_from(list(PartitionType)), min_size=1, max_size=3))
    values = tuple(data.draw(VALUES[kind] | st.none()) for kind in types)
    path = render_partition(values, _fields(*types), HIVE)
    assert parse_partition(path, _fields(*types), HIVE) == values


@pytest.mark.property
@given(TEXT, st.sampled_from(list(PartitionType)), st.sampled_from([HIVE, POSITIONAL]))
def test_path_that_is_accepted_is_what_the_next_upsert_writes(
    text: str, kind: PartitionType, layout: SourceLayout
) -> None:
    """Either the text comes back byte for byte, or it is refused."""
    path = f"a={text}" if layout is HIVE else text
    fields = _fields(kind)
    try:
        values = parse_partition(path, fields, layout)
    except PlanError as error:
        assert error.condition.startswith("partition/")  # noqa: PT017 - both outcomes are right
    else:
        assert render_partition(values, fields, layout) == path


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a b", "a b"),
        ("50%", "50%25"),
        ("a#b[c]{d", "a%23b%5Bc%5D%7Bd"),
        ("x=y:z/w", "x%3Dy%3Az%2Fw"),
        ("\"'\\?*^", "%22%27%5C%3F%2A%5E"),
        ("\n\x7f\0", "%0A%7F%00"),
        ("é😀~}|<>&+", "é😀~}|<>&+"),
    ],
)
def test_escape_is_hives(text: str, escaped: str) -> None:
    """The characters of Hudi's PartitionPathEncodeUtils, as upper-case hexadecimal."""
    assert escape(text) == escaped


INT, STRING = PartitionType.INT, PartitionType.STRING
DATE, BOOLEAN = PartitionType.DATE, PartitionType.BOOLEAN


@pytest.mark.parametrize(
    ("path", "types", "layout", "values"),
    [
        ("a=1/b=x y", (INT, STRING), HIVE, (1, "x y")),
        ("a=a%3Ab", (STRING,), HIVE, ("a:b",)),
        ("a=%3D", (STRING,), HIVE, ("=",)),
        (f"a={HIVE_DEFAULT}/b=0", (DATE, INT), HIVE, (None, 0)),
        ("2024-02-29/true", (DATE, BOOLEAN), POSITIONAL, (date(2024, 2, 29), True)),
        (f"{HIVE_DEFAULT}/x#[y", (INT, STRING), POSITIONAL, (None, "x#[y")),
        ("", (), SourceLayout.NONE, ()),
    ],
)
def test_partition_values_of_a_path_are_typed(
    path: str,
    types: tuple[PartitionType, ...],
    layout: SourceLayout,
    values: tuple[PartitionValue, ...],
) -> None:
    """Escapes are undone once in hive folders and never in positional ones."""
    fields = _fields(*types)
    assert parse_partition(path, fields, layout) == values
    named = partition_values(path, fields, layout)
    assert list(named.items()) == list(zip((f.name for f in fields), values, strict=True))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("01", PartitionType.INT),
        ("+1", PartitionType.INT),
        ("-0", PartitionType.LONG),
        (" 1", PartitionType.INT),
        ("True", PartitionType.BOOLEAN),
        ("2024-2-3", PartitionType.DATE),
        ("24-02-03", PartitionType.DATE),
        ("", PartitionType.STRING),
        ("a:b", PartitionType.STRING),
        ("%41", PartitionType.STRING),
        ("%3a", PartitionType.STRING),
        ("%C3%A9", PartitionType.STRING),
        ("50%", PartitionType.STRING),
        ("=", PartitionType.STRING),
    ],
)
def test_value_that_would_be_written_otherwise_is_refused(text: str, kind: PartitionType) -> None:
    """`month=01` as an int would become `month=1` and double the keys."""
    assert _condition(f"a={text}", _fields(kind), HIVE) == "partition/value-changes"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", PartitionType.INT),
        ("1.0", PartitionType.INT),
        ("٣", PartitionType.INT),
        ("2147483648", PartitionType.INT),
        ("9223372036854775808", PartitionType.LONG),
        ("99999999999999999999", PartitionType.LONG),
        ("2023-02-29", PartitionType.DATE),
        ("0000-01-01", PartitionType.DATE),
        ("+10000-01-01", PartitionType.DATE),
        ("yes", PartitionType.BOOLEAN),
        ("", PartitionType.INT),
    ],
)
def test_value_that_its_type_cannot_hold_is_refused(text: str, kind: PartitionType) -> None:
    """The remedy is to declare a string, which holds any text."""
    assert _condition(f"a={text}", _fields(kind), HIVE) == "partition/value-unreadable"


@pytest.mark.parametrize(
    ("path", "layout", "condition"),
    [
        ("", HIVE, "partition/wrong-depth"),
        ("a=1/b=2", HIVE, "partition/wrong-depth"),
        ("b=1", HIVE, "partition/wrong-field"),
        ("A=1", HIVE, "partition/wrong-field"),
        ("1", HIVE, "partition/wrong-field"),
        ("x=1", POSITIONAL, "partition/value-changes"),
        ("x%41", POSITIONAL, "partition/value-changes"),
        ("12:30", POSITIONAL, "partition/value-changes"),
        ("a=1/", HIVE, "partition/unsafe-path"),
        ("..", POSITIONAL, "partition/unsafe-path"),
        (".", POSITIONAL, "partition/unsafe-path"),
        ("a=\udcff", HIVE, "partition/unsafe-path"),
    ],
)
def test_path_that_does_not_fit_the_columns_is_refused(
    path: str, layout: SourceLayout, condition: str
) -> None:
    """Wrong depth, wrong names, ways out of the table."""
    assert _condition(path, _fields(PartitionType.STRING), layout) == condition


def test_error_of_a_changing_value_shows_both_texts_and_the_type_to_write() -> None:
    """The author sees the line to paste."""
    with pytest.raises(PlanError) as caught:
        parse_partition("a=01", _fields(PartitionType.INT), HIVE)
    error = caught.value
    assert "'a=01'" in error.message
    assert "'a=1'" in error.message
    assert "`a: string`" in error.remedy
    assert error.where.partition == "a=01"
