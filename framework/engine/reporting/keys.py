"""The proof of the record keys, or their refusal, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from framework.engine.reporting.words import line_text
from framework.engine.results import AuditReport
from framework.plan.words import count_text, listing, number_text

__all__ = ["KeySample", "key_rule_text", "key_samples", "keys_refused", "proof_text"]

_REFUSALS: Final = {"audit/duplicate-keys", "audit/null-keys", "audit/taken-keys"}
_METHODS: Final = {
    "ordered-ranges": "in every file the keys increase, and no two files' ranges touch",
    "hash-buckets": "the hashes of all keys were compared, and equal ones key by key",
    "matched-and-hash-buckets": (
        "keys that the table had were matched to their rows; the hashes of new ones were compared,"
        " and equal ones key by key"
    ),
}
_SAMPLES: Final = 20
_PLACES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySample:
    """A key that refused the run, "" if there is none, and its places."""

    key: str
    places: str


def keys_refused(report: AuditReport) -> bool:
    """Return whether the record keys refused the run."""
    return str(report.refusal.get("condition", "")) in _REFUSALS


def key_rule_text(report: AuditReport) -> str:
    """Return `(order_id) unique in table, not null`."""
    found = _mapping(report.refusal.get("report")) if keys_refused(report) else report.keys
    columns = found.get("columns")
    names = tuple(line_text(each, 80) for each in columns) if isinstance(columns, list) else ()
    key = f"({listing(names, limit=20)})" if names else "automatic key"
    return f"{key} unique in {line_text(found.get('scope') or 'table', 80)}, not null"


def proof_text(report: AuditReport) -> str:
    """Return how the keys were proven; "" if they were not."""
    proof = report.keys
    if not proof or keys_refused(report):
        return ""
    method = str(proof.get("method", ""))
    how = _METHODS.get(method, line_text(method, 80))
    equal = proof.get("equal_hashes_compared")
    same = (
        f" ({count_text(equal, 'pair')} of different keys with equal hashes)"
        if isinstance(equal, int) and equal
        else ""
    )
    return f"{_count(proof, 'rows', 'key')} in {_count(proof, 'files', 'file')}: {how}{same}"


def key_samples(report: AuditReport) -> tuple[list[KeySample], int]:
    """Return at most 20 of the keys that refused the run, and the number of others."""
    found = _mapping(report.refusal.get("report")) if keys_refused(report) else {}
    samples = found.get("samples")
    each = [one for one in samples if isinstance(one, Mapping)] if isinstance(samples, list) else []
    shown = [KeySample(key=_key(one), places=_places(one)) for one in each[:_SAMPLES]]
    total = found.get("groups") or found.get("rows") or 0
    return shown, max(total if isinstance(total, int) else 0, len(each)) - len(shown)


def _key(sample: Mapping[str, Any]) -> str:
    return line_text(sample["key"]) if sample.get("key") is not None else ""


def _places(sample: Mapping[str, Any]) -> str:
    """Return `a.parquet row 3; b.parquet row 0`."""
    rows = sample.get("rows")
    places = rows if isinstance(rows, list) else [sample]
    known = [one for one in places if isinstance(one, Mapping) and one.get("file") is not None]
    shown = [f"{line_text(one['file'])} row {one.get('row')}" for one in known[:_PLACES]]
    more = len(known) - len(shown)
    return "; ".join([*shown, *([f"and {number_text(more)} more"] if more else [])])


def _count(proof: Mapping[str, object], name: str, noun: str) -> str:
    number = proof.get(name)
    return count_text(number, noun) if isinstance(number, int) else f"all {noun}s"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
