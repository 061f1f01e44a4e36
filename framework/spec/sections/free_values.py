"""Values of any YAML type: arguments, and rows of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.spec.document.references import LooseText
from framework.spec.document.secret import NOT_ALLOWED_HERE, Secret
from framework.spec.sections.fields import fault

__all__ = ["FreeValue", "ScalarField"]


def _free(value: object) -> object:
    """Return the value with text of unknown type parsed as a scalar; refuse a secret."""
    if isinstance(value, Secret):
        raise fault("secret-not-allowed", NOT_ALLOWED_HERE)
    if isinstance(value, LooseText):
        return value.typed()
    if isinstance(value, Mapping):
        return {name: _free(inner) for name, inner in value.items()}
    return [_free(item) for item in value] if isinstance(value, list) else value


def _scalar(value: object) -> object:
    """Return text, a number or a boolean; refuse anything else."""
    typed = value.typed() if isinstance(value, LooseText) else value
    if not isinstance(typed, str | int | float):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    return typed


FreeValue = Annotated[Any, BeforeValidator(_free), WithJsonSchema({})]
ScalarField = Annotated[
    Any,
    BeforeValidator(_scalar),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]
