"""Modes per partition: ordered rules, first match wins, patterns anchored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.table.partition_path import PartitionValue
from framework.plan.rules import Choice, ModeRule, choose_modes, rule_faults
from framework.plan.target import mode_rules
from framework.spec.sections.comparisons import parse_comparisons
from framework.spec.sections.fields import compile_pattern
from framework.vocabulary import BootstrapMode, PartitionType, SourceTrait
from tests.support.planning import a_spec

METADATA, FULL, SKIP, FAIL = (
    BootstrapMode.METADATA_ONLY,
    BootstrapMode.FULL_RECORD,
    BootstrapMode.SKIP,
    BootstrapMode.FAIL,
)
MONTHS: list[tuple[str, dict[str, PartitionValue]]] = [
    (f"month={m}", {"month": m}) for m in (1, 10, 11, 12, 2)
]


def a_rule(number: int, pattern: str | None, mode: BootstrapMode, **changes: Any) -> ModeRule:
    """Return a rule by pattern; `where` in the changes is a condition on `month`."""
    where = str(changes.pop("where", ""))
    return ModeRule(
        number=number,
        pattern=None if pattern is None else compile_pattern(pattern),
        comparisons=parse_comparisons("month", where, PartitionType.INT) if where else (),
        mode=mode,
        reason=str(changes.pop("reason", "")),
        may_match_nothing=bool(changes.pop("may_match_nothing", False)),
        having=frozenset(map(SourceTrait, changes.pop("having", "").split())),
    )


def modes(*rules: ModeRule, default: BootstrapMode = METADATA) -> list[BootstrapMode]:
    """Return the modes of the five months."""
    return [choice.mode for choice in choose_modes(rules, default, MONTHS)]


def conditions(*rules: ModeRule, default: BootstrapMode = METADATA) -> list[tuple[str, str]]:
    """Return condition and key path of each fault on the five months."""
    faults = rule_faults(rules, choose_modes(rules, default, MONTHS))
    return [(fault.condition, fault.key_path) for fault in faults]


def test_choose_modes_without_rules_gives_the_default() -> None:
    """No rule, one mode for all."""
    assert modes() == [METADATA] * 5


def test_choose_modes_with_two_matching_rules_takes_the_first() -> None:
    """The order of the rules in the spec decides."""
    tenth = a_rule(0, "month=10", SKIP)
    winter = a_rule(1, "month=1[0-2]", FULL)
    assert modes(tenth, winter) == [METADATA, SKIP, FULL, FULL, METADATA]


def test_choose_modes_with_a_prefix_does_not_match_longer_paths() -> None:
    """Patterns are anchored at both ends: `month=1` is not `month=10`."""
    assert modes(a_rule(0, "month=1", FULL)) == [FULL, *[METADATA] * 4]


def test_choose_modes_with_an_alternation_is_anchored_as_a_whole() -> None:
    """`a|b` matches all of `a` or all of `b`, never a part."""
    assert modes(a_rule(0, "month=1|month=1", FULL)) == [FULL, *[METADATA] * 4]


def test_choose_modes_with_a_line_end_in_the_path_matches_only_the_whole() -> None:
    """A trailing newline is a character like any other to an anchored pattern."""
    choices = choose_modes([a_rule(0, "month=1", FULL)], METADATA, [("month=1\n", {"month": 1})])
    assert choices[0].mode is METADATA


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("10", [METADATA, FULL, METADATA, METADATA, METADATA]),
        ("= 10", [METADATA, FULL, METADATA, METADATA, METADATA]),
        ("!= 10", [FULL, METADATA, FULL, FULL, FULL]),
        (">= 11", [METADATA, METADATA, FULL, FULL, METADATA]),
        ("< 10", [FULL, METADATA, METADATA, METADATA, FULL]),
        ("> 1 and < 11", [METADATA, FULL, METADATA, METADATA, FULL]),
    ],
)
def test_choose_modes_with_a_comparison_compares_typed_values(
    where: str, expected: list[BootstrapMode]
) -> None:
    """Numbers compare as numbers: 2 is less than 10."""
    assert modes(a_rule(0, None, FULL, where=where)) == expected


def test_choose_modes_with_pattern_and_comparison_wants_both() -> None:
    """A rule with both conditions matches where both hold."""
    rule = a_rule(0, "month=1.*", FULL, where=">= 11")
    assert modes(rule) == [METADATA, METADATA, FULL, FULL, METADATA]


@pytest.mark.parametrize("where", ["= 1", "!= 1", "> 0"])
def test_choose_modes_of_the_default_partition_matches_no_comparison(where: str) -> None:
    """A null partition value satisfies no comparison, as in SQL."""
    choices = choose_modes(
        [a_rule(0, None, FULL, where=where)],
        METADATA,
        [("month=__HIVE_DEFAULT_PARTITION__", {"month": None})],
    )
    assert choices[0].mode is METADATA


def test_choose_modes_returns_rule_reason_and_later_matches() -> None:
    """A choice says why, so that the plan can."""
    rules = [a_rule(0, "month=1", SKIP, reason="test data"), a_rule(1, "month=.*", FULL)]
    assert choose_modes(rules, METADATA, MONTHS[:1]) == (
        Choice(partition_path="month=1", mode=SKIP, rule=0, reason="test data", also=(1,)),
    )


def test_rule_faults_of_rules_that_all_match_are_none() -> None:
    """Each rule got a partition."""
    assert conditions(a_rule(0, "month=1", SKIP), a_rule(1, "month=2", FULL)) == []


def test_rule_faults_of_a_rule_that_matches_nothing_points_at_it() -> None:
    """A rule that matches nothing is most likely misspelt."""
    rules = (a_rule(0, "month=1", SKIP), a_rule(1, "monht=2", FULL))
    assert conditions(*rules) == [("rules/matches-nothing", "bootstrap.rules[1]")]


def test_rule_faults_of_an_unanchored_pattern_explains_that_patterns_are_anchored() -> None:
    """A pattern that matches a part only is shown the form that matches the whole."""
    rule = a_rule(0, "=1", FULL)
    (fault,) = rule_faults([rule], choose_modes([rule], METADATA, MONTHS))
    assert "'.*=1.*'" in fault.remedy
    assert "'month=1'" in fault.remedy


def test_rule_faults_of_a_rule_behind_a_greedier_one_is_shadowed() -> None:
    """A rule that matches, but only what earlier rules took, can never act."""
    rules = [a_rule(0, "month=1.*", SKIP), a_rule(1, "month=10", FULL)]
    (fault,) = rule_faults(rules, choose_modes(rules, METADATA, MONTHS))
    assert fault.condition == "rules/shadowed"
    assert fault.key_path == "bootstrap.rules[1]"
    assert "rules[0]" in fault.message


def test_rule_faults_of_a_rule_that_may_match_nothing_are_none() -> None:
    """The author said so."""
    assert conditions(a_rule(0, "month=13", SKIP, may_match_nothing=True)) == []


def test_rule_faults_of_mode_fail_names_every_partition() -> None:
    """`fail` stops and reports all its partitions, with the author's reason."""
    rule = a_rule(0, "month=1[0-2]", FAIL, reason="not delivered yet")
    (fault,) = rule_faults([rule], choose_modes([rule], METADATA, MONTHS))
    assert (fault.condition, fault.key_path) == ("rules/partition-fails", "bootstrap.rules[0]")
    assert "not delivered yet" in fault.message
    assert "'month=10', 'month=11', 'month=12'" in fault.message


def test_rule_faults_of_a_failing_default_points_at_the_mode() -> None:
    """With `mode: fail`, what no rule matches stops the run."""
    rule = a_rule(0, "month=1.*", FULL)
    assert conditions(rule, default=FAIL) == [("rules/partition-fails", "bootstrap.mode")]


def test_rule_faults_of_one_failing_partition_names_it() -> None:
    """A fault of one partition has it as a place."""
    rule = a_rule(0, "month=2", FAIL)
    (fault,) = rule_faults([rule], choose_modes([rule], METADATA, MONTHS))
    assert fault.partition == "month=2"


def test_rule_faults_without_any_partition_still_reports_the_idle_rule() -> None:
    """No partition at all: the rule matches none of 0."""
    (fault,) = rule_faults([a_rule(0, "month=1", SKIP)], ())
    assert fault.remedy.startswith("Correct the rule")


def test_mode_rules_of_a_spec_keeps_order_and_words(tmp_path: Path) -> None:
    """The spec's rules come over as they are written."""
    rules = """mode: metadata_only
  rules:
    - {partition: 'month=1[0-2]', mode: full_record, reason: still being corrected}
    - {where: {month: '< 2'}, mode: skip, may_match_nothing: true}
"""
    first, second = mode_rules(a_spec(tmp_path, changes={"mode: metadata_only\n": rules}))
    assert first.pattern is not None
    assert (first.pattern.pattern, first.mode, first.reason) == (
        "month=1[0-2]",
        FULL,
        "still being corrected",
    )
    assert second.pattern is None
    assert second.may_match_nothing
    assert second.matches("month=1", {"month": 1}, ())


def test_choose_modes_with_traits_takes_partitions_with_a_file_that_has_one() -> None:
    """One of the named traits is enough; pattern and traits must both hold."""
    rules = [a_rule(0, None, FULL, having="brotli lz4"), a_rule(1, "month=2", SKIP, having="int96")]
    traits = {"month=1": {"lz4": 1}, "month=2": {"int96": 2}, "month=10": {"int96": 1}}
    found = [choice.mode for choice in choose_modes(rules, METADATA, MONTHS, traits)]
    assert found == [FULL, METADATA, METADATA, METADATA, SKIP]


@pytest.mark.property
@given(
    modes_=st.lists(st.sampled_from([METADATA, FULL, SKIP]), max_size=5),
    sets=st.lists(st.sets(st.integers(1, 6)), min_size=5, max_size=5),
)
def test_choose_modes_of_any_rules_is_the_mode_of_the_first_match(
    modes_: list[BootstrapMode], sets: list[set[int]]
) -> None:
    """Against a plain loop: the first set that holds the month decides."""
    rules = [
        a_rule(n, "|".join(f"month={m}" for m in sorted(months)) or r"[^\s\S]", mode)
        for n, (mode, months) in enumerate(zip(modes_, sets, strict=False))
    ]
    for month in range(1, 7):
        hits = [mode for mode, months in zip(modes_, sets, strict=False) if month in months]
        (choice,) = choose_modes(rules, METADATA, [(f"month={month}", {"month": month})])
        assert choice.mode is (hits[0] if hits else METADATA)
