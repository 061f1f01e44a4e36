"""References to values outside the document, and the document with them resolved.

    ${var.lake}       a variable of the project file, or of --var
    ${env.USER}       an environment variable of the operating system
    ${secret.token}   a secret; never shown, read only when it is used
    $${               the two characters ${ themselves

They are resolved once, after parsing; a resolved value is not scanned again. A scalar that is a
single reference takes the type of its value; inside other text the value becomes text.

One pass makes two trees: the values that a run works with, and the values that may be stored and
shown, in which `${env.X}` and `${secret.x}` stay as written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import ListNode, Node, ScalarNode, children
from framework.spec.document.scalars import ScalarValue, core_scalar, scalar_text
from framework.spec.document.secret import Secret, SecretName, secret_is_known
from framework.spec.document.source import MAX_BYTES, Span

__all__ = [
    "LooseText",
    "Reference",
    "Resolver",
    "Scope",
    "Variable",
    "split_references",
    "text_within",
]

_KINDS = ("var", "env", "secret")
"""The namespaces of references."""

_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_BODY = re.compile(rf"({'|'.join(_KINDS)})\.([A-Za-z_][A-Za-z0-9_]*)")
_LOOSE_BODY = re.compile(r"\s*(\w+)\s*[.:]\s*(\w+)\s*")


class LooseText(str):
    """Text from the command line or the environment, whose type is unknown.

    A field that wants a number or a boolean parses it like an unquoted scalar.
    """

    __slots__ = ()

    def typed(self) -> ScalarValue:
        """Return the text's value as an unquoted YAML scalar; the text itself on overflow."""
        try:
            return core_scalar(self)
        except OverflowError:
            return str(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A well-formed `${kind.name}`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}.{self.name}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadReference:
    """A malformed `${…}`; `suggestion` is the likely spelling or None."""

    written: str
    suggestion: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable: its value, and the form that is stored (`env` and `secret` stay as written)."""

    value: object
    stored: object


def split_references(
    text: str, variables: Mapping[str, Variable]
) -> Iterator[str | Reference | BadReference]:
    """Yield the text split at its references, in order; `$${` becomes the text `${`.

    `variables` are the known ones, used for suggestions only.
    """
    end = 0
    for token in _TOKEN.finditer(text):
        if token.start() > end:
            yield text[end : token.start()]
        end = token.end()
        if token.group() == "$${":
            yield "${"
        else:
            yield _reference(token, variables)
    if end < len(text):
        yield text[end:]


def _reference(token: re.Match[str], variables: Mapping[str, Variable]) -> Reference | BadReference:
    """Return the reference in the token, or a `BadReference` if it is malformed."""
    inside = token.group(1)
    if inside is None:
        return BadReference(written=token.group(), suggestion="$${")
    exact = _BODY.fullmatch(inside)
    if exact:
        return Reference(kind=exact.group(1), name=exact.group(2))
    return BadReference(written=token.group(), suggestion=_likely(inside, variables))


def _likely(inside: str, variables: Mapping[str, Variable]) -> str | None:
    """Return the likely spelling of a malformed reference, or None."""
    loose = _LOOSE_BODY.fullmatch(inside)
    if loose:
        kind = nearest(loose.group(1), _KINDS)
        return f"${{{kind}.{loose.group(2)}}}" if kind else None
    known = nearest(inside.strip(), variables)
    return f"${{var.{known}}}" if known else None


_MAY_BE_NULL = re.compile(r"tests\[[0-9]+\]\.(?:table|given|expect\.[a-z]+)\[[0-9]+\][.\[]")
"""Values in the rows of tests; anywhere else a field without a value is a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names that references may use.

    Attributes:
        variables: the defined variables.
        other_targets: by variable that only other targets define, the names of those targets.
        in_project: whether the text is in the project file's variables, where `${var.x}` is
            not allowed.
    """

    variables: Mapping[str, Variable]
    other_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    in_project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves the nodes of one document in one scope."""

    scope: Scope
    findings: FindingList

    def resolve(self, node: Node, path: str = "", key: Span | None = None) -> Variable:
        """Return the node's value and its storable form.

        A faulty scalar is reported and keeps its own text, so that the rest can be checked.
        """
        if isinstance(node, ScalarNode):
            return self._scalar(node, path, key)
        below = [self.resolve(child, at, span) for at, span, child in children(node, path)]
        values, stored = [v.value for v in below], [v.stored for v in below]
        if isinstance(node, ListNode):
            return Variable(value=values, stored=stored)
        names = [entry.name for entry in node.entries]
        pairs, twins = zip(names, values, strict=True), zip(names, stored, strict=True)
        return Variable(value=dict(pairs), stored=dict(twins))

    def _scalar(self, node: ScalarNode, path: str, key: Span | None) -> Variable:
        """Return one scalar's value; a single whole reference keeps its type."""
        if node.value is None and not _MAY_BE_NULL.match(path):
            self.findings.add("spec/empty-value", key or node.span, "has no value", key_path=path)
        if "${" not in node.text or self.findings.full:
            return Variable(value=node.value, stored=node.value)
        parts: list[Variable | str] = []
        faults = 0
        for piece in split_references(node.text, self.scope.variables):
            if isinstance(piece, str):
                parts.append(piece)
                continue
            fault = _malformed(piece) if isinstance(piece, BadReference) else self._fault(piece)
            if fault:
                faults += 1
                rule, message, suggestion = fault
                self.findings.add(rule, node.span, message, key_path=path, suggestion=suggestion)
            elif isinstance(piece, Reference):
                parts.append(self._named(piece, node, path))
        if faults or self._is_too_long(parts, node, path):
            return Variable(value=node.text, stored=node.text)
        return _joined(parts)

    def _is_too_long(self, parts: list[Variable | str], node: ScalarNode, path: str) -> bool:
        """Return whether the text would be longer than a whole file may be; report it if so."""
        values = (part if isinstance(part, str) else part.value for part in parts)
        length = sum(len(value) for value in values if isinstance(value, str))
        too_long = length > MAX_BYTES and len(parts) > 1
        if too_long:
            message = f"its references make the text longer than {MAX_BYTES:,} characters"
            self.findings.add("spec/text-too-long", node.span, message, key_path=path)
        return too_long

    def _fault(self, reference: Reference) -> tuple[str, str, str | None] | None:
        """Return rule, message and suggestion if the reference is undefined."""
        if reference.kind == "var":
            return self._variable_fault(reference.name)
        if reference.kind == "env" and reference.name not in os.environ:
            message = f"the environment variable `{reference.name}` is not set"
            close = nearest(reference.name, os.environ)
            suggestion = f"${{env.{close}}}" if close else None
            return "spec/undefined-environment-variable", message, suggestion
        return None

    def _variable_fault(self, name: str) -> tuple[str, str, str | None] | None:
        """Return rule, message and suggestion if the variable is not defined."""
        if self.scope.in_project:
            message = "a variable of the project file may not be built from another one"
            return "spec/nested-variable", message, None
        if name in self.scope.variables:
            return None
        targets = self.scope.other_targets.get(name)
        if targets:
            message = f"the variable `{name}` is defined only for the target {' or '.join(targets)}"
            return "spec/undefined-variable", message, f"--target {targets[0]}"
        close = nearest(name, self.scope.variables)
        suggestion = f"${{var.{close}}}" if close else None
        return "spec/undefined-variable", f"the variable `{name}` is not defined", suggestion

    def _named(self, reference: Reference, node: ScalarNode, path: str) -> Variable:
        """Return the value of a valid reference."""
        name = reference.name
        if reference.kind == "var":
            return self.scope.variables[name]
        if reference.kind == "env":
            return Variable(value=LooseText(os.environ[name]), stored=str(reference))
        if not secret_is_known(name):
            message = f"the secret `{name}` is not set here; a run needs it"
            self.findings.warn("spec/undefined-secret", node.span, message, key_path=path)
        secret = Secret(parts=(SecretName(name=name),), written=str(reference))
        return Variable(value=secret, stored=str(reference))


def _malformed(piece: BadReference) -> tuple[str, str, str | None]:
    """Return rule, message and suggestion for a malformed reference."""
    message = f"`{piece.written}` is not a reference: write ${{var.x}}, ${{env.X}} or ${{secret.x}}"
    return "spec/bad-reference", message, piece.suggestion


def _joined(parts: list[Variable | str]) -> Variable:
    """Return the parts as one value: a single reference itself, else text, secret if a part is."""
    if len(parts) == 1 and isinstance(parts[0], Variable):
        return parts[0]
    values = [p if isinstance(p, str) else p.value for p in parts]
    stored = "".join(_escaped(p) if isinstance(p, str) else text_within(p.stored) for p in parts)
    if not any(isinstance(value, Secret) for value in values):
        return Variable(value="".join(text_within(value) for value in values), stored=stored)
    pieces: list[str | SecretName] = []
    for value in values:
        pieces.extend(value.parts if isinstance(value, Secret) else (text_within(value),))
    return Variable(value=Secret(parts=tuple(pieces), written=stored), stored=stored)


def _escaped(text: str) -> str:
    """Return literal text escaped for a spec."""
    return text.replace("${", "$${")


def text_within(value: object) -> str:
    """Return a variable's value as it appears inside other text."""
    return value if isinstance(value, str) else scalar_text(_scalar_value(value))


def _scalar_value(value: object) -> ScalarValue:
    """Narrow the type of a value that the project file has already checked to be a scalar."""
    return value if isinstance(value, str | int | float) else None
