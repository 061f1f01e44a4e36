"""The facts of a plan that the adopting commit records: `lakestrap.bootstrap`, as JSON.

The table is its own state store: a later plan compares the spec with these facts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from framework.errors import CorruptFileError, UnsupportedTableError, Where

__all__ = ["FACTS_KEY", "FACTS_VERSION", "INVENTORY_FACT", "SPEC_FACT", "BootstrapFacts"]

FACTS_KEY: Final = "lakestrap.bootstrap"
SPEC_FACT: Final = "lakestrap.spec_hash"
INVENTORY_FACT: Final = "lakestrap.inventory"

FACTS_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapFacts:
    """How a table was created.

    Attributes:
        write_id: the run that published it.
        instant: requested time of that instant.
        spec_hash: hash of that run's spec.
        inventory_sha256: hash of the inventory of the whole source, skipped partitions included.
        source: location of the source in that run.
        skeletons: source files that got a skeleton.
        full: source files that were written in full.
        skipped: partition paths that a rule excluded from the table.
        immutable: fields that cannot change, key path in the spec to value as text.
        traits: reader-gate traits of the new table, each with its cause as text; empty in tables
            that were adopted before this was recorded.
    """

    write_id: str
    instant: str
    spec_hash: str
    inventory_sha256: str
    source: str
    skeletons: int
    full: int
    skipped: tuple[str, ...]
    immutable: Mapping[str, str]
    traits: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> str:
        """Return the facts as one line of JSON with sorted keys."""
        body = {"version": FACTS_VERSION, **asdict(self)}
        return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, where: Where | None = None) -> BootstrapFacts:
        """Return the facts in `text`; unknown members are ignored.

        Raises:
            UnsupportedTableError: a newer version wrote them (`facts/newer-version`).
            CorruptFileError: `text` is not such JSON (`facts/not-readable`).
        """
        try:
            body = json.loads(text)
            _check_version(body, where)
            return _facts(body)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError(
                "facts/not-readable",
                f"the commit's 'lakestrap.bootstrap' is not readable: {error}",
                where=where,
                remedy="The commit file was changed after it was written; restore it.",
            ) from error


def _check_version(body: Mapping[str, Any], where: Where | None) -> None:
    """Raise for facts of a newer version."""
    if body["version"] > FACTS_VERSION:
        raise UnsupportedTableError(
            "facts/newer-version",
            f"the table was adopted by a newer release (facts version {body['version']})",
            where=where,
            remedy="Use that release or a later one.",
        )


def _facts(body: Mapping[str, Any]) -> BootstrapFacts:
    """Return the facts in a parsed object; a missing or ill-typed member raises."""
    return BootstrapFacts(
        write_id=_text(body["write_id"]),
        instant=_text(body["instant"]),
        spec_hash=_text(body["spec_hash"]),
        inventory_sha256=_text(body["inventory_sha256"]),
        source=_text(body["source"]),
        skeletons=int(body["skeletons"]),
        full=int(body["full"]),
        skipped=tuple(_text(path) for path in body["skipped"]),
        immutable=_texts(body["immutable"]),
        traits=_texts(body.get("traits", {})),
    )


def _texts(value: object) -> dict[str, str]:
    """Return `value`, which must be an object of strings."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r}")
    return {_text(name): _text(text) for name, text in value.items()}


def _text(value: object) -> str:
    """Return `value`, which must be a string."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value
