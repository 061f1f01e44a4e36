"""Where the releases of Apache Hudi differ by themselves, as a table of named exceptions.

A case of the matrix names what it meets; the tests then assert the difference, so that a
release that changes its ways is noticed. Names are those of the reader gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

__all__ = ["DIFFERENCES", "RELEASES", "Difference", "Effect", "effect_of"]

RELEASES: Final = ("1.2.0", "0.15.0")


@unique
class Effect(StrEnum):
    """What a difference does to a query or a write."""

    READ_FAILS = "read_fails"
    ESCAPED_VALUE = "escaped_value"
    SQL_FAILS = "sql_fails"
    WRITE_FAILS = "write_fails"
    WRITE_IS_WRONG = "write_is_wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One exception: the releases it holds for and its effect; the reader gate prints it.

    `index_prefix` confines it to writes with an index whose name begins so.
    """

    releases: tuple[str, ...]
    effect: Effect
    says: str
    index_prefix: str = ""


DIFFERENCES: Final[Mapping[str, Difference]] = {
    "naive-timestamp": Difference(
        releases=("0.15.0",),
        effect=Effect.READ_FAILS,
        says="cannot read an adopted table with timestamps that have no time zone",
    ),
    "escaped-path-only-value": Difference(
        releases=("0.15.0",),
        effect=Effect.ESCAPED_VALUE,
        says="shows %XX of a partition value that stands only in the path",
    ),
    "custom-keys-in-sql": Difference(
        releases=RELEASES,
        effect=Effect.SQL_FAILS,
        says="one key and several partition columns: SQL writes are refused, DataFrames are right",
    ),
    "typed-path-only-partition": Difference(
        releases=("0.15.0",),
        effect=Effect.WRITE_FAILS,
        says="rewriting a skeleton's slice fails where a partition column stands only in the path "
        "and is not a string",
    ),
    "date-path-only-partition": Difference(
        releases=RELEASES,
        effect=Effect.WRITE_FAILS,
        says="rewriting a skeleton's slice fails where a DATE partition column stands only in "
        "the path",
    ),
    "millisecond-timestamp": Difference(
        releases=("0.15.0",),
        effect=Effect.WRITE_IS_WRONG,
        says="rewriting a skeleton's slice takes TIMESTAMP_MILLIS values for microseconds",
    ),
    "default-partition": Difference(
        releases=("0.15.0",),
        effect=Effect.WRITE_IS_WRONG,
        says="rewriting a skeleton's slice turns the NULL of the default partition into 'null'",
    ),
    "fixed-binary": Difference(
        releases=("0.15.0",),
        effect=Effect.WRITE_FAILS,
        says="rewriting a skeleton's slice fails on a binary column of fixed length",
    ),
    "global-index-on-merge-on-read": Difference(
        releases=("0.15.0",),
        effect=Effect.WRITE_FAILS,
        says="an upsert with a global index fails where it meets a skeleton of a merge-on-read "
        "table",
        index_prefix="GLOBAL",
    ),
    "null-in-list": Difference(
        releases=RELEASES,
        effect=Effect.WRITE_FAILS,
        says="rewriting a row fails where a list has a null element",
    ),
    "int96-cannot-be-rewritten": Difference(
        releases=RELEASES,
        effect=Effect.WRITE_FAILS,
        says="an upsert that rewrites a source file with INT96 timestamps fails",
    ),
}


def effect_of(names: tuple[str, ...], release: str, effect: Effect, *, index: str = "") -> bool:
    """Say whether one of the named differences has `effect` on `release`, writing with `index`."""
    found = (DIFFERENCES[name] for name in names)
    return any(
        item.effect is effect and release in item.releases and index.startswith(item.index_prefix)
        for item in found
    )
