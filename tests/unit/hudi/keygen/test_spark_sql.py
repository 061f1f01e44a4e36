"""The key as Spark SQL: text that needs no Spark to be looked at."""

from __future__ import annotations

import pyarrow as pa
import pytest

from framework.errors import PlanError
from framework.hudi.keygen.rule import PartitionField, choose_rule
from framework.hudi.keygen.spark_sql import key_sql, quote_literal, quote_name
from framework.vocabulary import KeyScope, PartitionType, SourceLayout
from tests.support.golden_keys import rule_of

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("d", pa.decimal128(38, 10))])


def test_sql_of_one_number_is_its_cast() -> None:
    """Empty text is no key, which only matters for strings."""
    assert key_sql(rule_of("id"), SCHEMA) == "nullif(CAST(`id` AS STRING), '')"


def test_sql_of_composite_key_labels_and_fills_each_part() -> None:
    """Column by column, in the rule's order."""
    assert key_sql(rule_of("id", "s"), SCHEMA) == (
        "concat('id:', coalesce(CAST(`id` AS STRING), '__null__'), ',s:', "
        "CASE WHEN `s` IS NULL THEN '__null__' WHEN `s` = '' THEN '__empty__' ELSE `s` END)"
    )


def test_sql_of_a_path_only_column_has_its_declared_type() -> None:
    """A partition column that the files lack is cast as its type asks for."""
    fields = [
        PartitionField(name="p", type=PartitionType.STRING),
        PartitionField(name="n", type=PartitionType.INT),
    ]
    rule = choose_rule(["p", "n"], fields, layout=SourceLayout.HIVE, scope=KeyScope.TABLE)
    assert "ELSE `p` END" in key_sql(rule, SCHEMA)
    assert "CAST(`n` AS STRING)" in key_sql(rule, SCHEMA)


def test_sql_of_fine_decimal_prints_an_exponent_by_itself() -> None:
    """ANSI mode would print none."""
    assert "'E'" in key_sql(rule_of("d"), SCHEMA)


def test_sql_of_missing_column_raises_plan_error() -> None:
    """As the kernels do."""
    with pytest.raises(PlanError) as caught:
        key_sql(rule_of("x"), SCHEMA)
    assert caught.value.condition == "key/column-missing"


def test_names_and_literals_are_quoted() -> None:
    """No name ends its own quotes."""
    assert quote_name("a`b.c") == "`a``b.c`"
    assert quote_literal("a'b\\") == "'a\\'b\\\\'"
