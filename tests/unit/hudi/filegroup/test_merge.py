"""Merging log changes with a base file's rows, compared with a fold over plain records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.codecs.log_records import DeletedRecord
from framework.hudi.filegroup.log_changes import LogChange
from framework.hudi.filegroup.merge import MergeRule, merged, remaining, replaced

SCHEMA = pa.schema([("_hoodie_record_key", pa.string()), ("n", pa.int64()), ("v", pa.string())])
LATER = MergeRule()
GREATER = MergeRule(ordering="n")
Row = tuple[str, int | None, str]


def table(*rows: Row) -> pa.Table:
    """Return rows of `SCHEMA`."""
    columns = list(zip(*rows, strict=True)) or [()] * 3
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def written(*rows: Row) -> LogChange:
    """Return a data block."""
    return LogChange(instant="1", rows=table(*rows))


def gone(*keys: str, ordering: int | None = None) -> LogChange:
    """Return a delete block: of those that always win, or with an ordering value."""
    wrapper, value = ("IntWrapper", 0) if ordering is None else ("LongWrapper", ordering)
    listed = (
        DeletedRecord(record_key=key, partition_path="", wrapper=wrapper, ordering=value)
        for key in keys
    )
    return LogChange(instant="1", deleted=tuple(listed))


def rows_of(found: pa.Table) -> list[Row]:
    """Return rows as tuples, in their order."""
    return [tuple(row.values()) for row in found.to_pylist()]


def test_merged_without_changes_is_the_base_file() -> None:
    """Nothing is copied or put in another order."""
    base = table(("b", 1, "x"), ("a", 2, "y"))
    assert merged(base, [], LATER) is base


def test_merged_rows_keep_the_places_of_the_base_file() -> None:
    """An update stays where the record was, a delete leaves no gap, new records follow."""
    base = table(("b", 1, "x"), ("a", 2, "y"), ("c", 3, "z"))
    changes = [written(("z", 1, "new"), ("a", 1, "late")), gone("b"), written(("d", 9, "newer"))]
    assert rows_of(merged(base, changes, LATER)) == [
        ("a", 1, "late"),
        ("c", 3, "z"),
        ("z", 1, "new"),
        ("d", 9, "newer"),
    ]


@pytest.mark.parametrize(("n", "stays"), [(4, "old"), (5, "new"), (6, "new"), (None, "old")])
def test_merged_by_ordering_keeps_the_greater_and_the_later_of_equals(
    n: int | None, stays: str
) -> None:
    """A late arrival does not win; null is less than any value."""
    found = merged(table(("a", 5, "old")), [written(("a", n, "new"))], GREATER)
    assert [v for _, _, v in rows_of(found)] == [stays]


@pytest.mark.parametrize(("ordering", "left"), [(None, 0), (4, 1), (5, 0), (6, 0)])
def test_merged_by_ordering_compares_deletes_that_have_a_value(
    ordering: int | None, left: int
) -> None:
    """One without a value always deletes, one with less than the row's does not."""
    found = merged(table(("a", 5, "old")), [gone("a", ordering=ordering)], GREATER)
    assert found.num_rows == left


def test_merged_record_after_a_delete_is_compared_with_the_base_row() -> None:
    """As in Apache Hudi: the logs are merged first, which removes the delete."""
    found = merged(table(("a", 5, "old")), [gone("a"), written(("a", 3, "back"))], GREATER)
    assert rows_of(found) == [("a", 5, "old")]
    found = merged(table(), [gone("a"), written(("a", 3, "back"))], GREATER)
    assert rows_of(found) == [("a", 3, "back")]


def test_merged_row_that_says_it_is_deleted_deletes() -> None:
    """A column of that name marks deletes among the records of an upsert."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    base = pa.table([["a", "b"], [1, 1], ["x", "y"], [False, None]], schema=schema)
    change = pa.table(
        [["a", "b", "c"], [1, 1, 1], ["", "z", ""], [True, None, True]], schema=schema
    )
    found = merged(base, [LogChange(instant="1", rows=change)], GREATER)
    assert found["v"].to_pylist() == ["z"]


def test_merged_delete_whose_value_does_not_fit_is_refused() -> None:
    """A text is no ordering value of a number."""
    wrong = DeletedRecord(record_key="a", partition_path="", wrapper="StringWrapper", ordering="x")
    change = LogChange(instant="1", deleted=(wrong,))
    with pytest.raises(CorruptFileError) as caught:
        merged(table(("a", 1, "x")), [change], GREATER)
    assert caught.value.condition == "merge/ordering-value"


KEYS = st.sampled_from("abcd")
VALUES = st.none() | st.integers(0, 4)
BLOCKS = st.one_of(
    st.tuples(st.just("rows"), st.lists(st.tuples(KEYS, VALUES), max_size=4)),
    st.tuples(st.just("gone"), st.lists(st.tuples(KEYS, VALUES), max_size=3)),
)


@pytest.mark.property
@given(
    base=st.dictionaries(KEYS, VALUES, max_size=4),
    blocks=st.lists(BLOCKS, max_size=6),
    by_value=st.booleans(),
)
def test_merged_agrees_with_a_fold_over_records(
    base: dict[str, int | None], blocks: list[tuple[str, list[Any]]], *, by_value: bool
) -> None:
    """For any blocks, with and without an ordering column; so do what leaves and what comes."""
    changes: list[LogChange] = []
    log: dict[str, Any] = {}
    number = 0
    for kind, entries in blocks:
        block: list[Any] = []
        for key, value in entries:
            number += 1
            event = (kind, value, f"v{number}")
            log[key] = _later(log.get(key), event, by_value=by_value)
            block.append((key, value, f"v{number}"))
        changes += [written(*block)] if kind == "rows" else [_gone_each(block)]
    expected = {key: (value, "base") for key, value in base.items()}
    for key, (kind, value, text) in log.items():
        always = kind == "gone" and (value is None or not by_value)
        old = expected.get(key)
        if old and by_value and not always and _rank(value) < _rank(old[0]):
            continue
        expected.pop(key, None)
        if kind == "rows":
            expected[key] = (value, text)
    rule = GREATER if by_value else LATER
    rows = table(*((k, n, "base") for k, n in base.items()))
    found = merged(rows, changes, rule)
    assert {key: (n, v) for key, n, v in rows_of(found)} == expected
    assert found.num_rows == len(expected)
    leaves, comes = replaced(rows.drop_columns("v"), SCHEMA, changes, rule)
    stays = sorted(set(range(rows.num_rows)) - set(leaves.tolist()))
    assert leaves.tolist() == sorted(set(leaves.tolist()))
    together = pa.concat_tables([rows.take(pa.array(stays, pa.int64())), comes])
    assert sorted(map(str, rows_of(together))) == sorted(map(str, rows_of(found)))
    check_keys_alone(rows.drop_columns("v"), changes, rule, found["_hoodie_record_key"])


def check_keys_alone(
    base: pa.Table, changes: list[LogChange], rule: MergeRule, keys: pa.ChunkedArray
) -> None:
    """The base rows that are not deleted, then the keys of logs alone, are the merged keys."""
    narrow = [
        each if each.rows is None else LogChange(instant="1", rows=each.rows.drop_columns("v"))
        for each in changes
    ]
    deleted, fresh = remaining(base, narrow, rule)
    old = base["_hoodie_record_key"].to_pylist()
    kept = [key for at, key in enumerate(old) if at not in deleted.tolist()]
    assert [*kept, *fresh.to_pylist()] == keys.to_pylist()


def _gone_each(block: list[Row]) -> LogChange:
    """Return a delete block with an ordering value for each key that has one."""
    deleted = [gone(key, ordering=value).deleted[0] for key, value, _ in block]
    return LogChange(instant="1", deleted=tuple(deleted))


def _later(old: Any, new: Any, *, by_value: bool) -> Any:
    """Return the change that stays of two, in their order."""
    is_always = new[0] == "gone" and new[1] is None
    was_always = old is not None and old[0] == "gone" and old[1] is None
    if old is None or not by_value or is_always or was_always:
        return new
    return new if _rank(new[1]) >= _rank(old[1]) else old


def _rank(value: int | None) -> int:
    """Return a number to compare by."""
    return -1 if value is None else value
