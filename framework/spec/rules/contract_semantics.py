"""Faults within the column contract and the tests, read as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from framework.spec.document.nodes import ScalarNode, child_path
from framework.spec.document.references import LooseText
from framework.spec.document.scalars import quoted, scalar_text
from framework.spec.rules.inclusions import COLUMNS_PATH
from framework.spec.rules.lookup import Lookup
from framework.spec.sql.literals import reads_as
from framework.spec.sql.spark_types import TypeTextError, normal_type

__all__ = ["ContractSemantics"]

_NESTED = ("array<", "map<", "struct<")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractSemantics(Lookup):
    """Checks `table.columns`."""

    def check(self) -> None:
        """Add every fault to the findings."""
        contract = self._at("table", "columns")
        for name, column in contract.items() if isinstance(contract, Mapping) else ():
            if isinstance(column, Mapping):
                self._check_column(child_path(COLUMNS_PATH, name), column)

    def _check_column(self, path: str, column: Mapping[str, object]) -> None:
        """What a column says fits together."""
        if "on_fail" in column and "allowed" not in column and column.get("nullable") is not False:
            message = "`on_fail` says what `nullable: false` and `allowed` do; here is neither"
            self._note("idle-field", f"{path}.on_fail", message)
        allowed = column.get("allowed")
        if not isinstance(allowed, list):
            return
        try:
            kind = normal_type(str(column["type"])) if "type" in column else None
        except TypeTextError:
            return  # told by the field itself
        if kind is not None and kind.startswith(_NESTED):
            message = f"`allowed` is for plain values; the column is a {kind[:60]}"
            self._note("idle-field", f"{path}.allowed", message)
        elif kind is not None:
            self._check_allowed(f"{path}.allowed", allowed, kind)
        elif len({_family(value) for value in allowed}) > 1:
            message = "the values are of several types; say which one the column has"
            self._note("bad-literal", f"{path}.allowed", message, "type: string")

    def _check_allowed(self, path: str, allowed: list[object], kind: str) -> None:
        """Each value that is allowed is one of the type."""
        for index, value in enumerate(allowed):
            typed = value.typed() if isinstance(value, LooseText) else value
            if not isinstance(typed, str | int | float):
                continue
            at = f"{path}[{index}]"
            node = self.positions.node(at)
            written = node.text if isinstance(node, ScalarNode) else scalar_text(typed)
            if kind == "string" and not isinstance(typed, str):
                message = f"must be text, as the column is: `{written[:60]}` is none"
                self._note("bad-literal", at, message, quoted(written))
            elif not reads_as(scalar_text(typed), kind):
                self._note("bad-literal", at, f"`{written[:60]}` is no {kind}")


def _family(value: object) -> type:
    """The kind of a value: text, boolean or number."""
    typed = value.typed() if isinstance(value, LooseText) else value
    return float if type(typed) is int else type(typed)
