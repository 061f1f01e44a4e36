"""References to values outside the document.

    ${var.lake}       a variable of the project file, or of --var
    ${env.USER}       an environment variable of the operating system
    ${secret.token}   a secret; never shown, read only when it is used
    $${               the two characters ${ themselves

They are resolved once, after parsing; a resolved value is not scanned again. A scalar that is a
single reference takes the type of its value; inside other text the value becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from framework.spec.document.findings import nearest
from framework.spec.document.scalars import ScalarValue, core_scalar

__all__ = ["KINDS", "BadReference", "LooseText", "Reference", "Variable", "split_references"]

KINDS = ("var", "env", "secret")
"""The namespaces of references."""

_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_BODY = re.compile(rf"({'|'.join(KINDS)})\.([A-Za-z_][A-Za-z0-9_]*)")
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
        kind = nearest(loose.group(1), KINDS)
        return f"${{{kind}.{loose.group(2)}}}" if kind else None
    known = nearest(inside.strip(), variables)
    return f"${{var.{known}}}" if known else None
