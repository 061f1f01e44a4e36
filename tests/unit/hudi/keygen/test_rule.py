"""Key rules: which generator, which properties, which faults."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError, PlanError
from framework.hudi.keygen.rule import (
    KeyGenerator,
    KeyRule,
    PartitionField,
    choose_rule,
    key_faults,
)
from framework.vocabulary import KeyScope, PartitionType, SourceLayout
from tests.support.golden_keys import rule_of


@pytest.mark.parametrize(
    ("keys", "partitions", "generator"),
    [
        (1, 0, KeyGenerator.NON_PARTITIONED),
        (2, 0, KeyGenerator.NON_PARTITIONED),
        (1, 1, KeyGenerator.SIMPLE),
        (1, 2, KeyGenerator.CUSTOM),
        (1, 3, KeyGenerator.CUSTOM),
        (2, 1, KeyGenerator.COMPLEX),
        (2, 2, KeyGenerator.COMPLEX),
    ],
)
def test_generator_for_so_many_columns(keys: int, partitions: int, generator: KeyGenerator) -> None:
    """Complex never gets a single key column, whose text Hudi changed twice."""
    rule = rule_of(*(f"k{n}" for n in range(keys)), partitions=partitions)
    assert rule.generator is generator


def test_properties_of_hive_layout_pin_names_generator_and_encoding() -> None:
    """The table records what later writers must not guess."""
    assert rule_of("id", partitions=2).properties() == {
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "p0,p1",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }


def test_properties_of_unpartitioned_table_name_no_partition_fields() -> None:
    """An empty list would be a field called nothing."""
    rule = rule_of("a", "b")
    assert "hoodie.table.partition.fields" not in rule.properties()
    assert rule.properties()["hoodie.datasource.write.hive_style_partitioning"] == "false"
    assert rule.layout is SourceLayout.NONE


def test_writer_options_of_custom_generator_say_simple_for_each_field() -> None:
    """The custom generator refuses plain names in a writer's options."""
    options = rule_of("id", partitions=2).writer_options()
    assert options["hoodie.datasource.write.partitionpath.field"] == "p0:SIMPLE,p1:SIMPLE"
    options = rule_of("id", partitions=1).writer_options()
    assert options["hoodie.datasource.write.partitionpath.field"] == "p0"


@pytest.mark.parametrize(
    ("partitions", "generator"),
    [(0, "NonpartitionedKeyGenerator"), (1, "SimpleKeyGenerator"), (2, "ComplexKeyGenerator")],
)
def test_rule_without_key_columns_says_so_by_leaving_them_out(
    partitions: int, generator: str
) -> None:
    """Apache Hudi takes a table without key fields for one with automatic keys."""
    rule = rule_of(partitions=partitions)
    assert rule.is_automatic
    for found in (rule.properties(), rule.writer_options()):
        assert not [name for name in found if "recordkey" in name]
        (made_by,) = (text for name, text in found.items() if "keygenerator" in name)
        assert made_by == f"org.apache.hudi.keygen.{generator}"
    assert KeyRule.from_json(json.loads(json.dumps(rule.as_json()))) == rule


def test_rule_comes_back_from_json() -> None:
    """Descriptors and journals store rules as JSON."""
    for partitions in range(3):
        rule = rule_of("id", "x", partitions=partitions, scope=KeyScope.PARTITION)
        assert KeyRule.from_json(json.loads(json.dumps(rule.as_json()))) == rule


@pytest.mark.parametrize("damage", [{"generator": "random"}, {"partition": [3]}, {"scope": None}])
def test_rule_from_damaged_json_raises_corrupt_file_error(damage: dict[str, object]) -> None:
    """JSON that is not a rule is reported as such."""
    with pytest.raises(CorruptFileError) as caught:
        KeyRule.from_json({**rule_of("id").as_json(), **damage})
    assert caught.value.condition == "key/bad-rule"


@pytest.mark.parametrize(
    ("keys", "fields", "layout", "condition"),
    [
        (("id",), 1, SourceLayout.NONE, "partition/layout-has-no-columns"),
        (("id",), 0, SourceLayout.HIVE, "partition/layout-needs-columns"),
        (("id",), 0, SourceLayout.POSITIONAL, "partition/layout-needs-columns"),
    ],
)
def test_rule_that_the_layout_cannot_hold_is_refused(
    keys: tuple[str, ...], fields: int, layout: SourceLayout, condition: str
) -> None:
    """Columns without folders and folders without columns are errors of the author."""
    partition = [PartitionField(name="p", type=PartitionType.INT)] * fields
    with pytest.raises(PlanError) as caught:
        choose_rule(keys, partition, layout=layout, scope=KeyScope.TABLE)
    assert caught.value.condition == condition


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("Name", pa.string()),
        ("s", pa.struct([("x", pa.int32())])),
        ("l", pa.list_(pa.int32())),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("h", pa.float16()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("u", pa.uint32()),
        ("b", pa.binary()),
        ("fixed", pa.binary(4)),
        ("time", pa.time64("us")),
        ("wide", pa.decimal128(38, 37)),
        ("huge", pa.decimal256(50, 2)),
        ("n", pa.null()),
        ("m.x", pa.int32()),
        ("p0", pa.string()),
    ]
)


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("s", "key/nested"),
        ("l", "key/nested"),
        ("m.x", "key/nested"),
        *[
            (name, "key/type-has-no-stable-text")
            for name in ("f", "d", "h", "t", "u", "b", "fixed", "time", "wide", "huge", "n")
        ],
        ("nme", "key/column-missing"),
        ("name", "key/column-missing"),
        ("_hoodie_record_key", "key/meta-column"),
        ("a,b", "key/name-not-safe"),
        ("a:b", "key/name-not-safe"),
        (" a", "key/name-not-safe"),
    ],
)
def test_key_fault_of_a_column_is_reported(column: str, condition: str) -> None:
    """Each unfit column has its own condition, and a remedy."""
    faults = key_faults(rule_of(column), SCHEMA)
    assert condition in [fault.condition for fault in faults]
    assert all(fault.column == column and fault.remedy for fault in faults)


def test_missing_column_has_the_nearest_name_as_remedy() -> None:
    """A typo and a wrong case both lead to the column that was meant."""
    for name in ("Nme", "name", "NAME"):
        assert "'Name'" in key_faults(rule_of(name), SCHEMA)[-1].remedy


def test_key_of_fit_columns_has_no_faults() -> None:
    """Also where a column is only in the path."""
    assert key_faults(rule_of("id", "Name", "p1", partitions=2), SCHEMA) == ()


def test_all_faults_are_reported_at_once() -> None:
    """A column listed twice and one that is missing are two faults and more."""
    conditions = [f.condition for f in key_faults(rule_of("id", "id", "x"), SCHEMA)]
    assert conditions == ["key/duplicate-column", "key/duplicate-column", "key/column-missing"]


@pytest.mark.parametrize(
    ("declared", "in_files", "fits"),
    [
        (PartitionType.INT, pa.int16(), True),
        (PartitionType.INT, pa.int64(), False),
        (PartitionType.LONG, pa.int32(), True),
        (PartitionType.DATE, pa.date32(), True),
        (PartitionType.DATE, pa.string(), False),
        (PartitionType.STRING, pa.large_string(), True),
        (PartitionType.STRING, pa.int32(), False),
        (PartitionType.BOOLEAN, pa.bool_(), True),
    ],
)
def test_partition_column_in_the_files_must_have_the_declared_type(
    declared: PartitionType,
    in_files: pa.DataType,
    fits: bool,  # noqa: FBT001 - parametrized
) -> None:
    """Readers take the type from the table's schema, so the two must agree."""
    field = PartitionField(name="p", type=declared)
    rule = choose_rule(["id"], [field], layout=SourceLayout.HIVE, scope=KeyScope.TABLE)
    faults = key_faults(rule, pa.schema([("id", pa.int32()), ("p", in_files)]))
    assert [f.condition for f in faults] == ([] if fits else ["partition/type-differs"])
