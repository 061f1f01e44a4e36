"""Row predicates and aggregates: any number of them in one pass over the rows.

The outcomes of the predicates for a row are packed into a number, two bits each: computed once, and
counted by its bits. Counting conditions instead takes a third more time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import expr

from framework.engine.results import ColumnFigures
from framework.hudi.keygen.spark_sql import quote_name
from framework.plan.quality.model import Check
from framework.spark.reading.jvm import Jvm
from framework.vocabulary import CheckKind

__all__ = ["Counted", "Pass", "bad_sql", "counting", "holds_sql", "looks_at_sql", "observed_sql"]

_COMPARES: Final = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|[()\[\]]|<=>|<>|!=|>=|<=|==|<|>|="""
    r"""|\bAND\b|\bOR\b|\bCASE\b|\bNOT\b|\bIS\b|\bIN\b|\bLIKE\b"""
    r"""|\bBETWEEN\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MET, _FAILED, _SKIPPED, _NULL = range(4)
_BITS: Final = 2
_STATES: Final = 31  # in one number, without its sign bit
_MASK: Final = "_lakestrap_mask_"
_OPERATORS: Final = frozenset({"<=>", "<>", "!=", ">=", "<=", "==", "<", ">", "="})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The result of one check in one pass; `holds` is None except for non-null aggregates."""

    looked_at: int = 0
    failed: int = 0
    nulls: int = 0
    holds: bool | None = None
    observed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass: the number of rows, each check by name, figures of columns."""

    rows: int
    checks: Mapping[str, Counted]
    columns: tuple[ColumnFigures, ...] = ()


def counting(frame: DataFrame, checks: Sequence[Check], figures: Sequence[str] = ()) -> Pass:
    """Return counts for predicates and aggregates over the rows of a frame; one Spark job.

    Args:
        frame: the rows.
        checks: of the kinds `EXPECT` and `EXPECT_AGGREGATE`.
        figures: columns whose nulls and distinct values are reported, the latter estimated.
    """
    with Jvm(frame.sparkSession).speaking():
        counted = _counting(frame, checks, figures)
    row: Mapping[str, Any] = counted.collect()[0].asDict()
    rows = row["rows"]
    return Pass(
        rows=rows,
        checks={check.name: _counted(row, at, check, rows) for at, check in enumerate(checks)},
        columns=tuple(
            ColumnFigures(
                name=name,
                type=_kind(frame, name),
                rows=rows,
                nulls=rows - row[f"there_{at}"],
                distinct=min(row[f"distinct_{at}"], row[f"there_{at}"]),
            )
            for at, name in enumerate(figures)
        ),
    )


def _counting(frame: DataFrame, checks: Sequence[Check], figures: Sequence[str]) -> DataFrame:
    """Return a frame with a single row of all counts."""
    wanted: list[Column] = [expr("count(1)").alias("rows")]
    predicates = [each for each in checks if each.kind is CheckKind.EXPECT]
    for at, check in enumerate(checks):
        if check.kind is CheckKind.EXPECT_AGGREGATE:
            wanted += _aggregates(at, check)
        else:
            wanted += _counts(at, check, predicates.index(check))
    for at, name in enumerate(figures):
        wanted += _figures(at, name, _kind(frame, name))
    return frame.select("*", *_masks(predicates)).agg(*wanted)


def looks_at_sql(check: Check) -> str:
    """Return SQL that is true for the rows that a predicate applies to, and never null."""
    return "true" if check.where is None else f"coalesce({_in_brackets(check.where)}, false)"


def holds_sql(check: Check) -> str:
    """Return SQL that is true for the rows that meet a predicate, and never null."""
    return f"coalesce({_in_brackets(check.text)}, {'true' if check.allow_null else 'false'})"


def bad_sql(check: Check) -> str:
    """Return SQL that is true for bad rows, and never null.

    The predicate is not computed for rows that it does not apply to.
    """
    holds = holds_sql(check)
    if check.where is None:
        return f"(not {holds})"
    return f"(case when {looks_at_sql(check)} then not {holds} else false end)"


def observed_sql(text: str) -> str | None:
    """Return the left side of an aggregate predicate that is one comparison, else None."""
    depth, found = 0, None
    for token in _COMPARES.finditer(text):
        word = token.group()
        if word in "([":
            depth += 1
        elif word in ")]":
            depth -= 1
        elif depth == 0 and word[0] not in "'\"`":
            if word not in _OPERATORS or found is not None:
                return None
            found = token.start()
    return text[:found].strip() or None if found else None


def _in_brackets(sql: str) -> str:
    """Return the SQL in brackets, valid even if it ends in a comment."""
    return f"(\n{sql}\n)"


def _aggregates(at: int, check: Check) -> list[Column]:
    """Return the columns of the pass for an aggregate predicate."""
    shown = observed_sql(check.text)
    return [
        expr(_in_brackets(check.text)).alias(f"holds_{at}"),
        expr(f"cast({_in_brackets(shown or check.text)} as string)").alias(f"observed_{at}"),
    ]


def _masks(predicates: Sequence[Check]) -> list[Column]:
    """Return numbers that hold the state of each predicate, by its index."""
    found = []
    for number, start in enumerate(range(0, len(predicates), _STATES)):
        states = (
            f"shiftleft({_state(check)}, {_BITS * at})"
            for at, check in enumerate(predicates[start : start + _STATES])
        )
        found.append(expr(" | ".join(states)).alias(f"{_MASK}{number}"))
    return found


def _state(check: Check) -> str:
    """Return SQL for the state of a predicate for a row."""
    text = _in_brackets(check.text)
    skip = "" if check.where is None else f"when not {looks_at_sql(check)} then {_SKIPPED}L "
    null = "" if check.allow_null else f"when {text} is null then {_NULL}L "
    return f"(case {skip}when {holds_sql(check)} then {_MET}L {null}else {_FAILED}L end)"


def _counts(at: int, check: Check, place: int) -> list[Column]:
    """Return the counts of the pass for the predicate at an index."""
    mask, shift = f"{_MASK}{place // _STATES}", _BITS * (place % _STATES)
    state = f"((shiftrightunsigned({mask}, {shift})) & {_NULL}L)"
    found = [
        expr(f"count_if({state} in ({_FAILED}L, {_NULL}L))").alias(f"failed_{at}"),
        expr(f"count_if({state} = {_NULL}L)").alias(f"nulls_{at}"),
    ]
    if check.where is not None:
        found.append(expr(f"count_if({state} <> {_SKIPPED}L)").alias(f"looked_{at}"))
    return found


def _figures(at: int, name: str, kind: str) -> list[Column]:
    """Return the counts of the pass for one column; maps are compared as text."""
    column = quote_name(name)
    value = f"to_json({column})" if "map<" in kind else column
    return [
        expr(f"count({column})").alias(f"there_{at}"),
        expr(f"approx_count_distinct({value})").alias(f"distinct_{at}"),
    ]


def _kind(frame: DataFrame, name: str) -> str:
    return frame.schema[name].dataType.simpleString()


def _counted(row: Mapping[str, Any], at: int, check: Check, rows: int) -> Counted:
    """Return the pass's result for one check."""
    if check.kind is CheckKind.EXPECT_AGGREGATE:
        holds = row[f"holds_{at}"]
        return Counted(
            looked_at=rows,
            failed=int(holds is not True),
            nulls=int(holds is None),
            holds=holds,
            observed=row[f"observed_{at}"],
        )
    return Counted(
        looked_at=row.get(f"looked_{at}", rows),
        failed=row[f"failed_{at}"],
        nulls=row[f"nulls_{at}"],
    )
