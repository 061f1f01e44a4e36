"""From the spec's words to the format's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framework.errors import PlanError
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.keygen.rule import KeyGenerator
from framework.plan.target import target_of
from framework.vocabulary import BloomKind, PartitionType, SourceLayout
from tests.support.planning import FLIGHTS, a_spec


def test_target_of_a_spec_holds_all_that_a_run_needs(tmp_path: Path) -> None:
    """The runner never sees the spec."""
    changes = {"layout: hive": "layout: hive\n  parallelism: 7\n  partitions_per_batch: 100"}
    target = target_of(a_spec(tmp_path, changes=changes))
    assert (target.name, target.location, target.source) == (
        "nyc.flights",
        "/lake/flights",
        "/lake/raw/flights",
    )
    assert (target.parallelism, target.partitions_per_batch) == (7, 100)
    assert target.bloom == BloomChoice(
        kind=BloomKind.DYNAMIC.value, expected_keys=5000, fpp=1e-6, max_keys=4_000_000
    )
    assert target.partition_types == {"month": PartitionType.INT}
    assert json.loads(target.spec_json)["table"]["name"] == "nyc.flights"


@pytest.mark.parametrize(
    ("changes", "generator", "layout"),
    [
        ({}, KeyGenerator.COMPLEX, SourceLayout.HIVE),
        (
            {"[year, month, day, carrier, flight, origin]": "[flight]"},
            KeyGenerator.SIMPLE,
            SourceLayout.HIVE,
        ),
        (
            {
                "{month: int}": "{month: int, day: int}",
                "[year, month, day, carrier, flight, origin]": "[flight]",
            },
            KeyGenerator.CUSTOM,
            SourceLayout.HIVE,
        ),
        (
            {"  partition_by: {month: int}\n": "", "layout: hive": "layout: none"},
            KeyGenerator.NON_PARTITIONED,
            SourceLayout.NONE,
        ),
        ({"layout: hive": "layout: positional"}, KeyGenerator.COMPLEX, SourceLayout.POSITIONAL),
    ],
)
def test_target_of_each_shape_has_its_key_generator(
    tmp_path: Path, changes: dict[str, str], generator: KeyGenerator, layout: SourceLayout
) -> None:
    """The numbers of key and partition columns choose the generator."""
    target = target_of(a_spec(tmp_path, changes=changes))
    assert target.key_rule.generator is generator
    assert target.layout is layout
    assert target.key_rule.hive_style is (layout is SourceLayout.HIVE)


def test_target_of_a_bloom_filter_too_large_for_hudi_points_at_it(tmp_path: Path) -> None:
    """The numbers are well formed but give no filter."""
    changes = {"expected_keys: 5000": "expected_keys: 2000000000, max_keys: 2000000000"}
    with pytest.raises(PlanError) as caught:
        target_of(a_spec(tmp_path, changes=changes))
    assert caught.value.condition == "bloom/bad-size"
    assert (
        caught.value.where.line
        == FLIGHTS.splitlines().index(
            "  bloom: {expected_keys: 5000, false_positive_rate: 0.000001}"
        )
        + 1
    )


def test_target_immutable_fields_do_not_depend_on_the_spelling_of_a_local_path(
    tmp_path: Path,
) -> None:
    """`/lake` and `file:///lake` are one place."""
    plain = target_of(a_spec(tmp_path)).immutable
    changes = {"path: /lake/raw": "path: file:///lake/raw"}
    assert target_of(a_spec(tmp_path, changes=changes)).immutable == plain


def test_target_immutable_fields_leave_out_what_may_change(tmp_path: Path) -> None:
    """Bloom, parallelism and the session may change at any time."""
    names = set(target_of(a_spec(tmp_path)).immutable)
    assert names == {
        "table.name",
        "table.type",
        "table.partition_by",
        "table.record_key.columns",
        "table.record_key.unique_within",
        "bootstrap.path",
        "bootstrap.layout",
        "bootstrap.mode",
        "bootstrap.rules",
    }
