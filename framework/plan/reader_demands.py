"""Faults and warnings of a plan against the readers listed in `table.readers`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from framework.plan.definition import PlanNote
from framework.plan.readers.exceptions import EXCEPTIONS, Trait
from framework.plan.readers.gate import ReaderGate, ReaderVerdict, gate
from framework.plan.readers.versions import ANY_VERSION, Ability
from framework.plan.refusals import Fault
from framework.vocabulary import ReaderName

__all__ = ["reader_faults", "unproven_notes"]


def reader_faults(wanted: Sequence[ReaderName], found: ReaderGate) -> Iterator[Fault]:
    """Yield a fault for each wanted reader that cannot read the table, at its place in the list.

    The remedy states whether mode `full_record` would change it.
    """
    for place, name in enumerate(wanted):
        verdict = _verdict(name, found)
        if verdict.reads is Ability.NO:
            yield Fault(
                condition="readers/cannot-read",
                key_path=f"table.readers[{place}]",
                message=f"{_who(verdict)} cannot read the table: {_reason(verdict, found)}",
                remedy=_remedy(verdict, found),
            )


def unproven_notes(wanted: Sequence[ReaderName], found: ReaderGate) -> Iterator[PlanNote]:
    """Yield a warning for each wanted reader that is not proven to read the table."""
    for name in wanted:
        verdict = _verdict(name, found)
        if verdict.reads is Ability.UNPROVEN:
            why = f": {verdict.note}" if verdict.note else ""
            yield PlanNote(
                condition="readers/unproven",
                level="warning",
                message=f"it is unproven that {_who(verdict)} can read the table{why}",
            )


def _verdict(name: ReaderName, found: ReaderGate) -> ReaderVerdict:
    """Return the verdict on one reader; every reader has one."""
    return next(verdict for verdict in found.verdicts if verdict.name is name)


def _who(verdict: ReaderVerdict) -> str:
    """Return a reader's name in the spec, with its engine and version."""
    version = "" if verdict.version == ANY_VERSION else f" {verdict.version}"
    return f"'{verdict.name}' ({verdict.engine}{version})"


def _reason(verdict: ReaderVerdict, found: ReaderGate) -> str:
    """Return why a reader cannot read: its own limit, and each exception that prevents it."""
    stopping = {each.name for each in EXCEPTIONS if each.reads is Ability.NO}
    named = (e for e in found.exceptions if e.name in stopping and e.name in verdict.exceptions)
    reasons = (verdict.note, *(f"{each.message} [{each.name}]" for each in named))
    return "; ".join(reason for reason in reasons if reason)


def _remedy(verdict: ReaderVerdict, found: ReaderGate) -> str:
    """Return the remedy, which depends on whether the reader reads the table without skeletons."""
    traits: dict[Trait, str] = {**found.traits}
    traits.pop(Trait.SKELETONS, None)
    instead = _verdict(verdict.name, gate(traits)).reads
    if Trait.SKELETONS not in found.traits or instead is Ability.NO:
        return (
            "Mode `full_record` would not change that; remove it from the list, or change the data."
        )
    how = {Ability.UNPROVEN: ", which is unproven", Ability.DOCUMENTED: ", as documented"}
    return (
        "Mode `full_record` for every partition would change that: it reads full files"
        f"{how.get(instead, '')}. Or remove it from the list."
    )
