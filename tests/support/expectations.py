"""One example of each expectation of the catalogue that passes on one small frame, and one not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from framework.plan.quality.model import Check
from framework.vocabulary import CheckKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["EXAMPLES", "Example", "a_check", "six_rows"]

NAMES = ["a", "b", "s", "d", "j", "t", "n", "five", "cinq"]
QUANTILES = {"quantiles": [0.5], "value_ranges": [[2, 3]]}
SHARES = {"values": ["aa", "bb", "cc"], "weights": [0.3333, 0.3333, 0.3334]}


@dataclass(frozen=True, slots=True)
class Example:
    """Arguments of an expectation: all of those that pass, and what to change so that it fails.

    `bad` is how many rows are bad then, None where rows are not judged.
    """

    passing: Mapping[str, Any]
    change: Mapping[str, Any]
    bad: int | None = None

    @property
    def failing(self) -> dict[str, Any]:
        """All arguments of the one that fails."""
        return {**self.passing, **self.change}


@dataclass(frozen=True, slots=True)
class Of:
    """Examples with one column in common."""

    column: str
    own: dict[str, Any] = field(default_factory=dict)

    def __call__(self, bad: int | None = None, /, **change: Any) -> Example:
        """An example; `change` makes it fail."""
        column = {"column": self.column} if self.column else {}
        return Example({**column, **self.own}, change, bad)


def of(column: str, **own: Any) -> Of:
    """Begin an example with a column and the arguments that pass."""
    return Of(column, own)


def pair(a: str, b: str, **own: Any) -> Of:
    """Begin an example with two columns."""
    return Of("", {"column_A": a, "column_B": b, **own})


EXAMPLES: dict[str, Example] = {
    "expect_column_distinct_values_to_be_in_set": of("s", value_set=["aa", "bb", "cc"])(
        value_set=["aa"]
    ),
    "expect_column_distinct_values_to_contain_set": of("s", value_set=["aa"])(value_set=["zz"]),
    "expect_column_distinct_values_to_equal_set": of("s", value_set=["aa", "bb", "cc"])(
        value_set=["aa", "bb"]
    ),
    "expect_column_kl_divergence_to_be_less_than": of("s", partition_object=SHARES, threshold=0.1)(
        partition_object={**SHARES, "weights": [0.8, 0.1, 0.1]}
    ),
    "expect_column_max_to_be_between": of("a", max_value=5)(max_value=4),
    "expect_column_mean_to_be_between": of("a", min_value=2, max_value=3)(min_value=2.6),
    "expect_column_median_to_be_between": of("a", min_value=2, max_value=3)(min_value=2.6),
    "expect_column_min_to_be_between": of("d", min_value="2026-01-01")(min_value="2026-01-02"),
    "expect_column_most_common_value_to_be_in_set": of("five", value_set=[5])(value_set=[6]),
    "expect_column_proportion_of_non_null_values_to_be_between": of("n", min_value=0.5)(
        min_value=0.9
    ),
    "expect_column_proportion_of_unique_values_to_be_between": of("s", min_value=0.5)(
        min_value=0.9
    ),
    "expect_column_quantile_values_to_be_between": of("a", quantile_ranges=QUANTILES)(
        quantile_ranges={**QUANTILES, "value_ranges": [[3, None]]}
    ),
    "expect_column_stdev_to_be_between": of("a", min_value=1, max_value=3)(min_value=2.5),
    "expect_column_sum_to_be_between": of("a", min_value=15, max_value=15)(
        max_value=16, min_value=16
    ),
    "expect_column_to_exist": of("a")(column="zz"),
    "expect_column_type_to_be": of("a", type_="IntegerType")(type_="LongType"),
    "expect_column_unique_value_count_to_be_between": of("s", max_value=3)(max_value=2),
    "expect_column_value_lengths_to_be_between": of("s", min_value=2)(6, min_value=3),
    "expect_column_value_lengths_to_equal": of("s", value=2)(6, value=3),
    "expect_column_value_z_scores_to_be_less_than": of("a", threshold=3, double_sided=True)(
        2, threshold=1
    ),
    "expect_column_values_to_be_between": of("d", min_value="2026-01-01")(
        2, min_value="2026-01-03"
    ),
    "expect_column_values_to_be_in_set": of("s", value_set=["aa", "bb", "cc"])(
        2, value_set=["aa", "bb"]
    ),
    "expect_column_values_to_be_in_type_list": of("a", type_list=["IntegerType", "LongType"])(
        type_list=["StringType"]
    ),
    "expect_column_values_to_be_json_parseable": of("j")(6, column="s"),
    "expect_column_values_to_be_null": of("n", mostly=0.1)(5, mostly=1),
    "expect_column_values_to_be_of_type": of("a", type_="IntegerType")(type_="LongType"),
    "expect_column_values_to_be_unique": of("a")(6, column="s"),
    "expect_column_values_to_match_json_schema": of("j", json_schema={"required": ["a"]})(
        6, json_schema={"required": ["b"]}
    ),
    "expect_column_values_to_match_regex": of("s", regex="^..$")(4, regex="^a"),
    "expect_column_values_to_match_regex_list": of("s", regex_list=["^a", "^[bc]"])(
        6, match_on="all"
    ),
    "expect_column_values_to_match_strftime_format": of("t", strftime_format="%Y-%m-%d")(
        6, strftime_format="%d.%m.%Y"
    ),
    "expect_column_values_to_not_be_in_set": of("s", value_set=["zz"])(2, value_set=["aa"]),
    "expect_column_values_to_not_be_null": of("a")(1, column="n"),
    "expect_column_values_to_not_be_outliers": of("a")(2, method="std", multiplier=1),
    "expect_column_values_to_not_match_regex": of("s", regex="z")(2, regex="a"),
    "expect_column_values_to_not_match_regex_list": of("s", regex_list=["z"])(2, regex_list=["a"]),
    "expect_column_pair_values_a_to_be_greater_than_b": pair("b", "a")(6, column_A="a"),
    "expect_column_pair_values_to_be_equal": pair("a", "a")(6, column_B="b"),
    "expect_column_pair_values_to_be_in_set": pair(
        "a", "b", value_pairs_set=[[i, i + 1] for i in range(6)]
    )(4, value_pairs_set=[[0, 1], [1, 2]]),
    "expect_compound_columns_to_be_unique": Example(
        {"column_list": ["a", "five"]}, {"column_list": ["s", "five"]}, 6
    ),
    "expect_multicolumn_sum_to_equal": Example(
        {"column_list": ["five", "cinq"], "sum_total": 10}, {"sum_total": 11}, 6
    ),
    "expect_multicolumn_values_to_be_equal": Example(
        {"column_list": ["five", "cinq"]}, {"column_list": ["a", "five"]}, 5
    ),
    "expect_select_column_values_to_be_unique_within_record": Example(
        {"column_list": ["a", "b"]}, {"column_list": ["a", "five"]}, 1
    ),
    "expect_table_column_count_to_be_between": Example({"min_value": 1}, {"max_value": 8}),
    "expect_table_column_count_to_equal": Example({"value": 9}, {"value": 8}),
    "expect_table_columns_to_match_ordered_list": Example(
        {"column_list": NAMES}, {"column_list": NAMES[::-1]}
    ),
    "expect_table_columns_to_match_set": Example(
        {"column_set": NAMES[::-1]}, {"column_set": ["a", "zz"]}
    ),
    "expect_table_row_count_to_be_between": Example({"min_value": 6}, {"min_value": 7}),
    "expect_table_row_count_to_equal": Example({"value": 6}, {"value": 7}),
}


def six_rows(spark: SparkSession) -> DataFrame:
    """The frame that the examples are about, in one partition and in order."""
    return spark.range(0, 6, 1, 1).selectExpr(
        "int(id) a",
        "int(id + 1) b",
        "repeat(substring('abc', int(id % 3) + 1, 1), 2) s",
        "date_add(date'2026-01-01', int(id)) d",
        """concat('{"a": ', id, '}') j""",
        "concat('2026-01-0', id + 1) t",
        "int(nullif(id, 0)) n",
        "5 five",
        "5 cinq",
    )


def a_check(expectation: str, name: str | None = None, **more: Any) -> Check:
    """A check of Great Expectations; `more` beside fields of a check are arguments."""
    fields = {key: more.pop(key) for key in ("on_fail", "budget") if key in more}
    return Check(
        name=name or expectation, kind=CheckKind.GX, text=expectation, arguments=more, **fields
    )
