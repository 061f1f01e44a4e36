"""A saved plan: what was approved, and what it was made from, as one JSON text.

A saved plan is not executed as it is: the run plans again and compares, so that nothing happens
that was not shown. What it was made from is kept as three hashes (spec, inventory, table), so that
the error for a stale plan can name what has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from framework.errors import CorruptFileError, PlanError, PlanStaleError, Where
from framework.plan.definition import Plan
from framework.plan.observation import TableState
from framework.plan.render.document import plan_document
from framework.plan.render.json_values import json_members
from framework.plan.stages import Recovery

__all__ = [
    "SAVED_VERSION",
    "Basis",
    "Invocation",
    "SavedPlan",
    "check_fresh",
    "load_plan",
    "save_plan",
]

SAVED_VERSION: Final = 1
_FORMAT: Final = "lakestrap.plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How the spec was loaded, so that a run can load it the same way.

    Attributes:
        spec: path of the spec file, as the user typed it.
        target: name of the target, or None.
        variables: what `--var` set; never a secret, which has a reference of its own.
    """

    spec: str
    target: str | None
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a plan was made from.

    Attributes:
        spec_hash: hash of the spec's content.
        inventory_sha256: hash of the source's inventory, or of the files of a load; None if the
            source was not observed.
        table_sha256: hash of the target's state, without pending Lakestrap runs.
        rolls_back: run that the plan rolls back, or None.
    """

    spec_hash: str
    inventory_sha256: str | None
    table_sha256: str
    rolls_back: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan read back: how to load its spec, its basis, and the plan's JSON document."""

    invocation: Invocation
    basis: Basis
    document: Mapping[str, Any]


def save_plan(plan: Plan, table: TableState, invocation: Invocation) -> str:
    """Return the text of a plan file; `load_plan` reads it.

    Args:
        plan: as built.
        table: the table's state that it was built from.
        invocation: how its spec was loaded.
    """
    body = {
        "format": _FORMAT,
        "saved_version": SAVED_VERSION,
        "invocation": {**asdict(invocation), "variables": dict(invocation.variables)},
        "basis": asdict(_basis(plan, table)),
        "plan": json_members(plan_document(plan)),
    }
    return json.dumps({**body, "digest": _digest(body)}, indent=2, ensure_ascii=False) + "\n"


def load_plan(text: str, *, file: str) -> SavedPlan:
    """Return the plan in the text of a plan file.

    Args:
        text: content of the file.
        file: its path, for errors.

    Raises:
        CorruptFileError: it is not a plan file (`saved-plan/not-readable`), or was truncated or
            edited (`saved-plan/digest-differs`).
        PlanError: another version wrote it (`saved-plan/other-version`).
    """
    try:
        body = _object(text)
        version, digest = body["saved_version"], body.pop("digest")
    except (ValueError, KeyError) as error:
        raise _not_readable(file, error) from error
    if version != SAVED_VERSION:
        raise PlanError(
            "saved-plan/other-version",
            f"the plan was saved in version {version!r}; this release reads {SAVED_VERSION}",
            where=Where(file=file),
            remedy="Plan again.",
        )
    if digest != _digest(body):
        raise CorruptFileError(
            "saved-plan/digest-differs",
            "the plan file was changed after it was saved",
            where=Where(file=file),
            remedy="Plan again.",
        )
    return _saved(body, file)


def check_fresh(saved: SavedPlan, plan: Plan, table: TableState) -> None:
    """Return if `plan`, just built, equals the saved one, or if the saved one is already done.

    Args:
        saved: what was approved.
        plan: built now, from the same spec file.
        table: the table's state that it was built from.

    Raises:
        PlanStaleError: `plan/stale`; the message names what has changed.
    """
    then, now = saved.basis, _basis(plan, table)
    if _is_done(then, plan) or then == now:
        return
    reasons = {
        "the spec": then.spec_hash != now.spec_hash,
        "the source": then.inventory_sha256 != now.inventory_sha256,
        "the table": then.table_sha256 != now.table_sha256,
        "an earlier run to roll back": now.rolls_back not in {None, then.rolls_back},
    }
    changed = [what for what, differs in reasons.items() if differs]
    if changed:
        raise PlanStaleError(
            "plan/stale",
            f"the saved plan no longer fits: {', '.join(changed)} changed since it was made",
            where=Where(file=saved.invocation.spec, table=plan.target.location),
            remedy="Plan again, and have the new plan approved.",
        )


def _is_done(then: Basis, plan: Plan) -> bool:
    """Return whether just this spec and source created the table, so nothing is left to do."""
    if plan.adopted is None:
        return False
    facts = plan.adopted.facts
    return (facts.spec_hash, facts.inventory_sha256) == (then.spec_hash, then.inventory_sha256)


def _basis(plan: Plan, table: TableState) -> Basis:
    recover = plan.recover
    rolls_back = recover is not None and recover.recovery is Recovery.ROLL_BACK
    return Basis(
        spec_hash=plan.target.spec_hash,
        inventory_sha256=_source_sha256(plan),
        table_sha256=_digest(_state(table)),
        rolls_back=recover.write_id if recover is not None and rolls_back else None,
    )


def _source_sha256(plan: Plan) -> str | None:
    """Return the hash of the input; None if it was not observed."""
    if plan.inventory is not None:
        return plan.inventory.sha256
    return None if plan.load is None else plan.load.listing_sha256


def _state(table: TableState) -> dict[str, object]:
    """Return the parts of the table's state that a plan depends on."""
    return {
        "location": table.location,
        "properties": None if table.properties is None else dict(table.properties.raw),
        "completed": list(table.completed),
        "foreign_content": sorted(table.foreign_content),
        "metadata_table": table.metadata_table,
        "facts": None if table.facts is None else table.facts.as_json(),
    }


def _digest(body: Mapping[str, object]) -> str:
    """Return the SHA-256, in hex, of a JSON object in canonical form."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object of a plan file; raise ValueError for any other file."""
    body = json.loads(text)
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise ValueError(f"it has no format {_FORMAT!r}")
    return body


def _saved(body: Mapping[str, Any], file: str) -> SavedPlan:
    """Return the parts of a plan file as values."""
    try:
        return SavedPlan(
            invocation=Invocation(**body["invocation"]),
            basis=Basis(**body["basis"]),
            document=dict(body["plan"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _not_readable(file, error) from error


def _not_readable(file: str, error: Exception) -> CorruptFileError:
    return CorruptFileError(
        "saved-plan/not-readable",
        f"this is not a saved plan: {error}",
        where=Where(file=file),
        remedy="Pass a file that `run-pipeline plan --out` wrote.",
    )
