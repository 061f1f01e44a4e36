"""Specs that share a table: a run of one would undo or refuse the work of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from framework.errors import Finding
from framework.spec.document.findings import finding_at
from framework.spec.sections.locations import nested
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["shared_tables"]

_HOW: Final = {"same": "is", "inside": "is inside", "around": "contains"}


def shared_tables(specs: Sequence[PipelineSpec]) -> tuple[Finding, ...]:
    """Return the faults between valid specs, each at both places.

    One location for two tables, or one table inside another, is an error. One name for two tables
    is a warning: reports, lineage and queries could not distinguish them.
    """
    return tuple(found for a, b in combinations(specs, 2) for found in _between(a, b))


def _between(first: PipelineSpec, second: PipelineSpec) -> Iterator[Finding]:
    for one, other in ((first, second), (second, first)):
        overlap = nested(one.table.location, other.table.location)
        if overlap:
            what = f"the table's location {_HOW[overlap]} that of the table in"
            yield _fault(one, other, "location", "spec/shared-location", what)
        elif one.table.name == other.table.name:
            what = f"`{one.table.name}` is also the name of the table in"
            found = _fault(one, other, "name", "spec/shared-name", what)
            yield replace(found, severity="warning")


def _fault(one: PipelineSpec, other: PipelineSpec, field: str, rule: str, what: str) -> Finding:
    """Return a fault at a field of one spec that points to the same field of the other."""
    path = f"table.{field}"
    there = other.positions.span(path).where
    message = f"{what} {there}; each table has one spec"
    return finding_at(rule, one.positions.span(path), message, key_path=path)
