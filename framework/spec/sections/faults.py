"""Pydantic's errors as findings: reworded for a spec's author, with their positions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from framework.errors import Finding
from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import ListNode, MapNode, Node, Positions, ScalarNode
from framework.spec.document.scalars import core_scalar, quoted
from framework.spec.document.secret import NOT_ALLOWED_HERE, Secret
from framework.spec.sections.fields import SpecModel, written_fields

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["Judge"]

Document = TypeVar("Document", bound=SpecModel)

Verdict = tuple[str, str, str | None]
"""Rule id without `spec/`, message, suggestion."""

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
}
_LIMITS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("greater than", "gt"),
    "less_than": ("less than", "lt"),
}
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_LEAVES_THE_VALUE = {"spec/duplicate-key", "spec/yaml-anchor", "spec/unquoted-reference"}
_INDEX = re.compile(r"\[[0-9]+\]")
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Validator of one document's data that reports its faults.

    Attributes:
        positions: the positions of the document's paths.
        models: the model of each mapping with fixed fields, by path (`rules[]` for an item).
    """

    positions: Positions
    models: Mapping[str, type[SpecModel]]
    findings: FindingList

    def validate(
        self, model: type[Document], data: object, context: Mapping[str, object] | None = None
    ) -> Document | None:
        """Return the document, or None after adding each fault to the findings.

        A fault that was already reported at its path is not reported twice.
        """
        try:
            return model.model_validate(data, context=dict(context or {}))
        except ValidationError as error:
            known = self.findings.errors
            details = error.errors(include_url=False)
            above = {d["loc"][:length] for d in details for length in range(len(d["loc"]))}
            for detail in details:
                if self.findings.full:
                    break
                seems_empty = detail["type"] == "too_short" and detail["loc"] in above
                path = self.positions.path_of(detail["loc"])
                if not (seems_empty or any(_is_reported(f, path, detail["type"]) for f in known)):
                    self._note(detail, path)
        return None

    def _note(self, detail: ErrorDetails, path: str) -> None:
        rule, message, suggestion = self._verdict(detail, path)
        of_key = detail["type"] == "extra_forbidden" or _about_key(detail["loc"])
        self.findings.add(
            f"spec/{rule}",
            self.positions.span(path, of_key=of_key),
            message,
            key_path=path,
            suggestion=suggestion,
        )

    def _verdict(self, detail: ErrorDetails, path: str) -> Verdict:
        """Return rule, message and suggestion for one fault."""
        kind, context = detail["type"], detail.get("ctx", {})
        if isinstance(detail["input"], Secret):
            return "secret-not-allowed", NOT_ALLOWED_HERE, None
        if kind == "spec-rule":
            return context["rule"], context["message"], context["suggestion"]
        if kind == "enum":
            return self._unknown_value(path, str(context["expected"]))
        if kind in ("missing", "extra_forbidden"):
            return self._missing(path) if kind == "missing" else self._unknown_field(path)
        return _limit(kind, context) or self._wrong_type(kind, path, detail["msg"])

    def _missing(self, path: str) -> Verdict:
        """Return the verdict on a missing field, with an example as suggestion."""
        parent, name = path.rpartition(".")[0], _last(path)
        model = self.models.get(_INDEX.sub("[]", parent))
        examples = written_fields(model)[name].examples if model else None
        suggestion = f"{name}: {examples[0]}" if examples else None
        return "missing-field", f"`{name}` must be written", suggestion

    def _unknown_field(self, path: str) -> Verdict:
        """Return the verdict on an unknown field, with the closest known one as suggestion."""
        parent, name = path.rpartition(".")[0], _last(path)
        model = self.models[_INDEX.sub("[]", parent)]
        known = tuple(written_fields(model))
        close = nearest(name, known)
        elsewhere = next((p for p, m in self.models.items() if name in written_fields(m)), None)
        message = f"unknown field `{name}`" + (f" in `{parent}`" if parent else "")
        if close is None and elsewhere is not None:
            place = f"{elsewhere}.{name}" if elsewhere else name
            return "unknown-field", f"{message}; it belongs to `{place}`", place
        if close is None:
            message += f"; known fields: {', '.join(sorted(known))}"
        return "unknown-field", message, close

    def _unknown_value(self, path: str, expected: str) -> Verdict:
        """Return the verdict on a value that is not one of the allowed words."""
        words = re.findall(r"'([^']*)'", expected)
        written = self._written(path)
        close = nearest(written, words)
        message = f"`{written}` is not one of {', '.join(words)}"
        return "unknown-value", message, close

    def _wrong_type(self, kind: str, path: str, message: str) -> Verdict:
        """Return the verdict on a value of the wrong type."""
        wanted = _WANTED.get(kind)
        if wanted is None:
            return "invalid-value", message[:1].lower() + message[1:], None
        node = self.positions.node(path)
        shown = _shown(node)
        return "wrong-type", f"must be {wanted}, not {shown}", _retyped(kind, node)

    def _written(self, path: str) -> str:
        """Return the value as written at the path, shortened."""
        node = self.positions.node(path)
        return node.text[:_SHOWN] if isinstance(node, ScalarNode) else _shown(node)


def _is_reported(finding: Finding, path: str, kind: str) -> bool:
    """Return whether the finding already reports the fault at the path.

    A value may seem empty only because entries below it were refused.
    """
    if finding.rule in _LEAVES_THE_VALUE:
        return False
    below = finding.key_path.startswith((f"{path}.", f"{path}["))
    return finding.key_path == path or (kind == "too_short" and below)


def _limit(kind: str, context: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict on a value beyond a limit; None for any other fault."""
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        return "out-of-range", f"must be {words} {context[limit]}", None
    if kind in ("too_short", "string_too_short"):
        return "empty-value", "must not be empty", None
    if kind == "too_long":
        return "too-many", f"has at most {context['max_length']} entries", None
    return None


def _about_key(loc: tuple[int | str, ...]) -> bool:
    """Return whether the fault is in a mapping's key: a free name, or a partition column."""
    return loc[-1] == "[key]" or (loc[-1] == "name" and loc[-3:-2] == ("partition_by",))


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _shown(node: Node | None) -> str:
    """Return the written value for a message."""
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    if node is None:
        return "this"
    is_text = isinstance(node.value, str) and "${" not in node.text
    return f"the text `{node.text[:_SHOWN]}`" if is_text else f"`{node.text[:_SHOWN]}`"


def _retyped(kind: str, node: Node | None) -> str | None:
    """Return the value as the field's type needs it, if the conversion is obvious."""
    if not isinstance(node, ScalarNode) or "${" in node.text or len(node.text) > _SHOWN:
        return None
    text = node.text
    suggestions = {
        "string_type": quoted(text),
        "tuple_type": f"[{quoted(text)}]",
        "bool_type": _BOOLEANS.get(text.lower()) or _if_type(text.lower(), bool),
        "int_type": _if_type(text.lstrip("0") or "0", int),
    }
    return suggestions.get(kind)


def _if_type(text: str, wanted: type[Any]) -> str | None:
    """Return the text if it parses, unquoted, as that type."""
    try:
        return text if type(core_scalar(text)) is wanted else None
    except OverflowError:
        return None
