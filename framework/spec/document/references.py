"""References to values outside the document.

    ${var.lake}       a variable of the project file, or of --var
    ${env.USER}       an environment variable of the operating system
    ${secret.token}   a secret; never shown, read only when it is used
    $${               the two characters ${ themselves

They are resolved after parsing, once, and never again in what they gave. A scalar that is nothing
but one reference takes the type of its value; inside other text the value becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from framework.spec.document.findings import nearest
from framework.spec.document.scalars import ScalarValue, core_scalar

__all__ = ["KINDS", "BadReference", "LooseText", "Reference", "Variable", "split_references"]

KINDS = ("var", "env", "secret")
"""The namespaces that a reference may name."""

_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_BODY = re.compile(rf"({'|'.join(KINDS)})\.([A-Za-z_][A-Za-z0-9_]*)")
_LOOSE_BODY = re.compile(r"\s*(\w+)\s*[.:]\s*(\w+)\s*")


class LooseText(str):
    """Text from the command line or the environment, where nobody can say its type.

    A field that wants a number or a boolean reads it as an unquoted scalar would be read.
    """

    __slots__ = ()

    def typed(self) -> ScalarValue:
        """What the text would mean unquoted in YAML; the text itself where that overflows."""
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
    """A `${…}` that is none; `suggestion` is the likely right spelling or None."""

    written: str
    suggestion: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable: what it means, and how it is stored (`env` and `secret` stay as written)."""

    value: object
    stored: object


def split_references(
    text: str, variables: Mapping[str, Variable]
) -> Iterator[str | Reference | BadReference]:
    """The text cut at its references, in order; `$${` arrives as the text `${`.

    `variables` are the known ones, for suggestions only.
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
    """The reference that the token is, or why it is none."""
    inside = token.group(1)
    if inside is None:
        return BadReference(written=token.group(), suggestion="$${")
    exact = _BODY.fullmatch(inside)
    if exact:
        return Reference(kind=exact.group(1), name=exact.group(2))
    return BadReference(written=token.group(), suggestion=_likely(inside, variables))


def _likely(inside: str, variables: Mapping[str, Variable]) -> str | None:
    """What the author of a malformed reference meant, if it can be known."""
    loose = _LOOSE_BODY.fullmatch(inside)
    if loose:
        kind = nearest(loose.group(1), KINDS)
        return f"${{{kind}.{loose.group(2)}}}" if kind else None
    known = nearest(inside.strip(), variables)
    return f"${{var.{known}}}" if known else None
