"""Thrift's compact protocol as values: what is read is written again byte for byte."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.codecs.thrift_struct import (
    BINARY,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    i32,
    list_of,
    read_struct,
    struct,
    write_struct,
)
from framework.hudi.codecs.varint import zigzag

TRUE, FALSE, BYTE, DOUBLE, SET, MAP = 1, 2, 3, 7, 10, 11

PLAIN: dict[int, st.SearchStrategy[Any]] = {
    BYTE: st.binary(min_size=1, max_size=1),
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.binary(min_size=8, max_size=8),
    BINARY: st.binary(max_size=20),
}


def values(kind: int, inner: st.SearchStrategy[Struct]) -> st.SearchStrategy[Any]:
    """Return values of one type."""
    if kind in PLAIN:
        return PLAIN[kind]
    plain = st.sampled_from(sorted(PLAIN))
    if kind == STRUCT:
        return inner
    if kind in {LIST, SET}:
        kinds = st.sampled_from([*PLAIN, STRUCT])
        return kinds.flatmap(lambda k: st.tuples(st.just(k), st.lists(values(k, inner))))
    if kind == MAP:
        pairs = st.tuples(plain, plain).flatmap(
            lambda k: st.tuples(
                st.just(k[0]),
                st.just(k[1]),
                st.lists(st.tuples(PLAIN[k[0]], PLAIN[k[1]]), min_size=1, max_size=20),
            )
        )
        return st.one_of(pairs, st.just((0, 0, [])))
    return st.none()


def structs(inner: st.SearchStrategy[Struct]) -> st.SearchStrategy[Struct]:
    """Return structs whose fields have any type, with ids near and far."""
    kinds = st.sampled_from([TRUE, FALSE, *PLAIN, LIST, SET, MAP, STRUCT])
    fields = kinds.flatmap(lambda kind: st.tuples(st.just(kind), values(kind, inner)))
    return st.dictionaries(st.integers(1, 400), fields, max_size=6)


ANY = st.recursive(structs(st.just({})), structs, max_leaves=6)


@pytest.mark.property
@settings(deadline=None)
@given(value=ANY, before=st.binary(max_size=3), after=st.binary(max_size=3))
def test_struct_of_any_fields_is_read_back(value: Struct, before: bytes, after: bytes) -> None:
    """A struct is found where it begins, and what follows it is left."""
    data = write_struct(value)
    assert read_struct(before + data + after, len(before)) == (value, len(before) + len(data))


@pytest.mark.property
@settings(deadline=None)
@given(value=ANY)
def test_struct_that_is_cut_is_refused(value: Struct) -> None:
    """No beginning of a struct is a struct."""
    data = write_struct(value)
    for end in range(len(data)):
        with pytest.raises(ValueError, match=r"truncated|too long"):
            read_struct(data[:end])


def test_struct_of_a_footer_is_written_as_pyarrow_wrote_it() -> None:
    """The canonical writer's bytes come back, whatever the fields mean."""
    sink = io.BytesIO()
    table = pa.table({"a": [1, 2, None], "b": [["x"], [], None], "c": [1.5, float("nan"), 0.0]})
    pq.write_table(table, sink, write_page_index=True, row_group_size=2)
    data = sink.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    value, end = read_struct(footer)
    assert end == len(footer)
    assert value[3] == (I64, 3)
    assert write_struct(value) == footer


def test_struct_by_fields_equals_the_struct_by_values() -> None:
    """Both writers of the house write the same bytes."""
    value: Struct = {
        1: (I32, -7),
        3: (STRUCT, {2: (I32, 1)}),
        4: (LIST, (I32, list(range(20)))),
    }
    numbers = [zigzag(number) for number in range(20)]
    by_fields = i32(1, -7) + struct(2, i32(2, 1)) + list_of(1, "i32", numbers) + b"\0"
    assert write_struct(value) == by_fields


def test_struct_of_unknown_types_is_refused() -> None:
    """A type that the protocol does not have is not skipped."""
    with pytest.raises(ValueError, match="type 13 is unknown"):
        read_struct(b"\x1d\x00\x00")


def test_struct_nested_without_end_is_refused() -> None:
    """Bytes that would nest thousands of structs do not exhaust the stack."""
    with pytest.raises(ValueError, match="nested too deeply"):
        read_struct(b"\x1c" * 100_000)
