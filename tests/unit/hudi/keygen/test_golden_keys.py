"""Key text against Apache Hudi's own, byte for byte."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from framework.hudi.keygen.rule import KeyGenerator, key_faults
from framework.hudi.keygen.text import null_rows, record_keys
from tests.support.golden_keys import RELEASES, arrow_type, golden_keys, golden_table, rule_of

# The row writer of 1.2.0 has no int8 at all: no key text to compare.
UNWRITABLE = ("1.2.0", "k_int8", "simple/bulk-insert-rows")


def _stable(release: str) -> dict[str, dict[str, Any]]:
    """Return the columns of types that are accepted as keys."""
    columns = golden_keys(release)["columns"]
    return {n: c for n, c in columns.items() if not _faults(arrow_type(c["type"]))}


def _faults(kind: pa.DataType) -> list[str]:
    """Return the conditions against a key of this type."""
    schema = pa.schema([pa.field("k", kind)])
    return [fault.condition for fault in key_faults(rule_of("k"), schema)]


def _simple_cases() -> list[Any]:
    return [
        pytest.param(release, name, case, id=f"{release}-{name}-{case}")
        for release in RELEASES
        for name in _stable(release)
        for case in golden_keys(release)["simple"][name]
        if (release, name, case) != UNWRITABLE
    ]


@pytest.mark.parametrize(("release", "name", "case"), _simple_cases())
def test_key_of_one_column_equals_hudis(release: str, name: str, case: str) -> None:
    """One column gives the bare value under Simple, Custom and Nonpartitioned, by each writer."""
    columns = {name: golden_keys(release)["columns"][name]}
    ours = record_keys(rule_of(name), golden_table(columns), {}).to_pylist()
    assert ours == golden_keys(release)["simple"][name][case]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("generator", ["complex", "custom", "nonpartitioned"])
def test_key_of_all_stable_columns_equals_hudis(release: str, generator: str) -> None:
    """A composite key reads the same under each generator and by each writer."""
    for path, theirs in golden_keys(release)["composite"][generator].items():
        left_out = "k_int8" if path.endswith("rows") else ""
        columns = {n: c for n, c in _stable(release).items() if n != left_out}
        order = [part.partition(":")[0] for part in theirs[2].split(",")]  # k_string is "日本"
        rule = rule_of(*order)
        expected = [_without_the_gap(text, generator, path) for text in theirs]
        assert record_keys(rule, golden_table(columns), {}).to_pylist() == expected, path


def _without_the_gap(text: str, generator: str, path: str) -> str:
    """Return Hudi's key with the one day put right that its custom row writer moves.

    It takes days through `java.sql.Date`, whose calendar lacks 1582-10-05 to 1582-10-14. The
    vectors hold 1582-10-15 once by itself and once for the day before, at row 4 (a blank).
    """
    moved = generator == "custom" and path == "bulk-insert-rows" and "k_string: ," in text
    return text.replace("1582-10-15", "1582-10-14") if moved else text


@pytest.mark.parametrize("release", RELEASES)
def test_types_whose_text_differs_between_writers_are_refused(release: str) -> None:
    """Binary and timestamp keys differ by writer in Hudi itself, so no text could be right."""
    simple = golden_keys(release)["simple"]
    for name in ("k_binary", "k_timestamp"):
        assert simple[name]["simple/upsert"] != simple[name]["simple/bulk-insert-rows"]
        kind = arrow_type(golden_keys(release)["columns"][name]["type"])
        assert _faults(kind) == ["key/type-has-no-stable-text"]


@pytest.mark.parametrize("name", ["k_float", "k_double", "k_timestamp_ntz"])
def test_types_whose_text_depends_on_release_or_java_are_refused(name: str) -> None:
    """0.15.0 cannot write a naive timestamp, and Java 19 changed the text of floats."""
    kind = arrow_type(golden_keys("1.2.0")["columns"][name]["type"])
    assert _faults(kind) == ["key/type-has-no-stable-text"]


EMPTINESS = {
    "null": (None, None),
    "empty": ("", ""),
    "null-part": (None, "b"),
    "empty-part": ("", "b"),
    "literal-null": ("__null__", "b"),
    "literal-empty": ("__empty__", "b"),
    "simple-literal-null": ("__null__", "__null__"),
    "simple-literal-empty": ("__empty__", "__empty__"),
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", EMPTINESS)
@pytest.mark.parametrize(
    "generator", ["simple", "custom-single", "nonpartitioned-single", "complex", "custom"]
)
def test_rows_without_key_are_those_that_hudi_refuses(
    release: str, case: str, generator: str
) -> None:
    """Hudi's errors are our null rows; a null part is one of ours although Hudi writes it."""
    first, second = EMPTINESS[case]
    data = pa.table({"a": pa.array([first], pa.string()), "b": pa.array([second], pa.string())})
    composite = generator in {"complex", "custom"}
    rule = rule_of(*(("a", "b") if composite else ("a",)))
    found = golden_keys(release)["emptiness"][case][generator]
    refused = {path: isinstance(text, dict) for path, text in found.items()}
    if composite and case == "null-part":
        assert refused == dict.fromkeys(refused, False)
        assert null_rows(rule, data, {}).tolist() == [0]
    else:
        assert refused == dict.fromkeys(refused, len(null_rows(rule, data, {})) == 1)
    for path, text in found.items():
        if not refused[path]:
            assert record_keys(rule, data, {}).to_pylist() == text, path


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("case", "keys", "partitions", "generator"),
    [
        ("simple/upsert", ("a",), 1, KeyGenerator.SIMPLE),
        ("complex/upsert", ("a", "b"), 1, KeyGenerator.COMPLEX),
        ("custom-single/upsert", ("a",), 2, KeyGenerator.CUSTOM),
        ("nonpartitioned/upsert", ("a", "b"), 0, KeyGenerator.NON_PARTITIONED),
    ],
)
def test_properties_of_the_rule_are_those_that_hudi_wrote(
    release: str, case: str, keys: tuple[str, ...], partitions: int, generator: KeyGenerator
) -> None:
    """At version 6 partition fields are plain names, for the custom generator too."""
    theirs = golden_keys(release)["properties"][case]
    rule = rule_of(*keys, partitions=partitions)
    ours = rule.properties()
    assert rule.generator is generator
    assert ours["hoodie.table.recordkey.fields"] == theirs["hoodie.table.recordkey.fields"]
    fields = ours.get("hoodie.table.partition.fields", "")
    plain = {"": "", "p0": "p", "p0,p1": "p,q"}[fields]
    assert plain == theirs.get("hoodie.table.partition.fields", "")
    if release == "0.15.0":
        assert ours["hoodie.table.keygenerator.class"] == theirs["hoodie.table.keygenerator.class"]
