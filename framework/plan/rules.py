"""The mode of each partition: ordered rules, first match wins, patterns anchored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from framework.hudi.table.partition_path import PartitionValue
from framework.plan.refusals import Fault
from framework.plan.words import count_text, listing
from framework.spec.sections.comparisons import Comparison
from framework.spec.sections.fields import Pattern
from framework.vocabulary import BootstrapMode, SourceTrait

__all__ = ["Choice", "ModeRule", "choose_modes", "rule_faults"]

_NAMED_AT_MOST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRule:
    """One rule, ready to be evaluated.

    Attributes:
        number: its place in the spec, from 0.
        pattern: matched against the whole partition path; None matches any.
        comparisons: all must hold for the partition's typed values.
        mode: of a matching partition.
        reason: the author's reason, or "".
        may_match_nothing: whether it may end up without a partition.
        having: a file of the partition must have one of these traits; empty for no condition.
    """

    number: int
    pattern: Pattern | None
    comparisons: tuple[Comparison, ...]
    mode: BootstrapMode
    reason: str = ""
    may_match_nothing: bool = False
    having: frozenset[SourceTrait] = frozenset()

    @property
    def key_path(self) -> str:
        """The rule's place in the spec."""
        return f"bootstrap.rules[{self.number}]"

    def matches(
        self, partition_path: str, values: Mapping[str, PartitionValue], traits: Collection[str]
    ) -> bool:
        """Return whether pattern, traits and comparisons all hold."""
        if self.pattern is not None and self.pattern.fullmatch(partition_path) is None:
            return False
        if self.having and self.having.isdisjoint(traits):
            return False
        return all(each.holds(values[each.column]) for each in self.comparisons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The mode of one partition; `rule` is the number of the rule, None for the default."""

    partition_path: str
    mode: BootstrapMode
    rule: int | None
    reason: str
    also: tuple[int, ...] = ()


def choose_modes(
    rules: Sequence[ModeRule],
    default: BootstrapMode,
    partitions: Sequence[tuple[str, Mapping[str, PartitionValue]]],
    traits: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> tuple[Choice, ...]:
    """Return one choice per partition, in the order given.

    Args:
        rules: in the spec's order.
        default: mode of a partition that no rule matches.
        partitions: partition path and typed values by column.
        traits: partition path to the traits of its files.
    """
    choices = []
    for path, values in partitions:
        own = traits.get(path, ())
        matching = [rule for rule in rules if rule.matches(path, values, own)]
        choices.append(_choose(matching, default, path))
    return tuple(choices)


def _choose(matching: Sequence[ModeRule], default: BootstrapMode, path: str) -> Choice:
    """Return the mode of the first matching rule; `also` has the later ones."""
    if not matching:
        return Choice(partition_path=path, mode=default, rule=None, reason="")
    first = matching[0]
    return Choice(
        partition_path=path,
        mode=first.mode,
        rule=first.number,
        reason=first.reason,
        also=tuple(rule.number for rule in matching[1:]),
    )


def rule_faults(rules: Sequence[ModeRule], choices: Sequence[Choice]) -> tuple[Fault, ...]:
    """Return a fault for each rule without a partition and for each that stops the run."""
    won = {choice.rule for choice in choices}
    idle = [r for r in rules if r.number not in won and not r.may_match_nothing]
    stopping = [*(r.number for r in rules if r.mode is BootstrapMode.FAIL), None]
    stops = (_stop_fault(number, choices) for number in stopping)
    return (*(_idle_fault(rule, choices) for rule in idle), *(s for s in stops if s is not None))


def _idle_fault(rule: ModeRule, choices: Sequence[Choice]) -> Fault:
    """Return why `rule` has no partition: nothing matches, or earlier rules match all of it."""
    shadowing = sorted({c.rule for c in choices if rule.number in c.also and c.rule is not None})
    if shadowing:
        names = listing(tuple(f"rules[{number}]" for number in shadowing))
        return Fault(
            condition="rules/shadowed",
            key_path=rule.key_path,
            message=f"every partition that this rule matches is matched earlier by {names}",
            remedy="Move the rule up, remove it, or set 'may_match_nothing: true'.",
        )
    return Fault(
        condition="rules/matches-nothing",
        key_path=rule.key_path,
        message=f"this rule matches none of {count_text(len(choices), 'partition')}",
        remedy=_hint(rule, choices),
    )


def _hint(rule: ModeRule, choices: Sequence[Choice]) -> str:
    """Return an example of a partition path, and whether the pattern matches a part of one."""
    paths = [choice.partition_path for choice in choices]
    pattern = rule.pattern
    part = next((p for p in paths if pattern is not None and pattern.search(p)), None)
    if pattern is not None and part is not None:
        return (
            f"A pattern must match the whole partition path, such as {part!r}: "
            f"write '.*{pattern.pattern}.*', or set 'may_match_nothing: true'."
        )
    looks = f"Partition paths look like {paths[0]!r}: c" if paths else "C"
    return f"{looks}orrect the rule, or set 'may_match_nothing: true'."


def _stop_fault(number: int | None, choices: Sequence[Choice]) -> Fault | None:
    """Return the fault that names every partition for which this rule, or the default, fails."""
    hit = [c for c in choices if c.rule == number and c.mode is BootstrapMode.FAIL]
    if not hit:
        return None
    paths = listing(tuple(repr(c.partition_path) for c in hit), limit=_NAMED_AT_MOST)
    reason = f" ({hit[0].reason})" if hit[0].reason else ""
    return Fault(
        condition="rules/partition-fails",
        key_path="bootstrap.mode" if number is None else f"bootstrap.rules[{number}]",
        message=f"mode 'fail' stops for {count_text(len(hit), 'partition')}{reason}: {paths}",
        remedy="Give these partitions another mode by a rule above, or correct the source.",
        partition=hit[0].partition_path if len(hit) == 1 else None,
    )
