"""A gate's findings in a commit, for the page; any part of the commit may be missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Any, Final

from framework.hudi.commit.intent import AUDIT_KEY
from framework.vocabulary import Outcome

__all__ = ["GateVerdict", "gate_of"]

_CHECKS: Final = 200
_TEXT: Final = 120
_COUNTS: Final = ("input", "published", "quarantined", "dropped")
_WARNED: Final = frozenset({Outcome.FAILED, Outcome.WARNED})


@unique
class GateVerdict(StrEnum):
    """The verdict of the gate of a commit that was published.

    `NONE`: it did not pass our gate. `PASSED`: nothing was found. `WARNED`: a check found something
    and only reported. `TAKEN_OUT`: rows were quarantined or dropped, and no check warned.
    """

    NONE = "none"
    PASSED = "passed"
    WARNED = "warned"
    TAKEN_OUT = "taken_out"


def gate_of(extra: Mapping[str, str]) -> dict[str, Any]:
    """Return verdict, key proof, checks and row counts, JSON-ready and bounded.

    Args:
        extra: a commit's `extraMetadata`.
    """
    proof = _proof(extra.get(AUDIT_KEY, ""))
    checks = _checks(proof.get("checks"))
    more = _counts(proof.get("more_checks"))
    fate = proof.get("fate")
    return {
        "verdict": _verdict(proof, {each["outcome"] for each in checks} | more.keys()),
        "keys": _keys(proof),
        "checks": checks,
        "more": more,
        "fate": {n: _count(fate.get(n)) for n in _COUNTS} if isinstance(fate, Mapping) else None,
    }


def _proof(text: str) -> Mapping[str, Any]:
    """Return the audit's proof, empty if there is no readable one."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _verdict(proof: Mapping[str, Any], outcomes: set[str]) -> GateVerdict:
    """Return the most serious verdict of the outcomes."""
    if not proof:
        return GateVerdict.NONE
    if outcomes & _WARNED:
        return GateVerdict.WARNED
    return GateVerdict.TAKEN_OUT if outcomes - {Outcome.PASSED} else GateVerdict.PASSED


def _keys(proof: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how the keys were proven unique, None if they were not."""
    if "scope" not in proof:
        return None
    columns = proof.get("columns")
    return {
        "columns": [_text(each) for each in columns[:_CHECKS]] if isinstance(columns, list) else [],
        "scope": _text(proof["scope"]),
        "rows": _count(proof.get("rows")),
        "method": _text(proof.get("method", "")),
    }


def _checks(found: object) -> list[dict[str, Any]]:
    """Return the readable checks in stored order: those with findings first."""
    listed = found[:_CHECKS] if isinstance(found, list) else []
    return [
        {
            **{name: _text(each.get(name, "")) for name in ("name", "kind", "outcome", "on_fail")},
            **{name: _count(each.get(name)) for name in ("rows", "failed")},
        }
        for each in listed
        if isinstance(each, dict) and each.get("outcome") in set(Outcome)
    ]


def _counts(found: object) -> dict[str, int]:
    """Return the number of unlisted checks by outcome."""
    counts = found if isinstance(found, dict) else {}
    return {word: _count(n) for word, n in counts.items() if word in set(Outcome) and _count(n)}


def _text(found: object) -> str:
    """Return text, truncated to a bounded length."""
    text = str(found)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def _count(found: object) -> int:
    """Return a count, 0 if it is not an integer."""
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
