"""What refused a run, and the rows for which it did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from framework.engine.results import CheckResult
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.text import null_rows, record_keys
from framework.vocabulary import KeyScope, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.errors import AuditFailedError
    from framework.hudi.keygen.rule import KeyRule

__all__ = ["NO_ROWS", "Refusal", "refused_rows", "refusing_names"]

NO_ROWS: Final = pa.table({})
"""Rows of nothing: nobody knows their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A gate that let nothing through: in its words, by which checks, and for which rows."""

    words: str
    names: tuple[str, ...]
    rows: pa.Table


def refusing_names(error: AuditFailedError) -> tuple[str, ...]:
    """Return the checks that refused a run, sorted; else what did, such as `duplicate-keys`."""
    kind = error.condition.partition("/")[2]
    if kind == "checks-failed":
        results = (each for each in error.results if isinstance(each, CheckResult))
        failed = {each.check.name for each in results if each.outcome is Outcome.FAILED}
        return tuple(sorted(failed or {str(each["name"]) for each in _failed(error)}))
    return (str(error.report.get("name", kind)),)


def refused_rows(error: AuditFailedError, rule: KeyRule, rows: pa.Table) -> pa.Table:
    """Return those of the input's rows whose keys the gate refused; none for other refusals."""
    kind = error.condition.partition("/")[2]
    if kind not in _CHOSEN or not rows.num_rows or rule.is_automatic:
        return NO_ROWS
    if kind == "null-keys":
        return rows.take(pa.array(null_rows(rule, rows, {})))
    keys = record_keys(rule, rows, {}).to_pylist()
    if kind == "taken-keys":
        taken = {sample["key"] for sample in _samples(error)}
        return rows.filter(pa.array([key in taken for key in keys]))
    scoped = list(zip(_scopes(rule, rows), keys, strict=True))
    counted = Counter(scoped)
    return rows.filter(pa.array([counted[each] > 1 for each in scoped]))


_CHOSEN: Final = ("null-keys", "taken-keys", "duplicate-keys")


def _scopes(rule: KeyRule, rows: pa.Table) -> Sequence[Any]:
    """Return within what the key of each row must be unique."""
    if rule.scope is KeyScope.TABLE or not rule.partition:
        return [None] * rows.num_rows
    return list(partition_paths(rule, rows).to_pylist())


def _samples(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the samples of a report."""
    found = error.report.get("samples")
    return found if isinstance(found, list) else []


def _failed(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the failed checks of a report."""
    found = error.report.get("failed")
    return found if isinstance(found, list) else []
