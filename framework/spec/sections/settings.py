"""Settings that are handed to Spark as text, and may hold secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.spec.document.references import LooseText
from framework.spec.document.scalars import scalar_text
from framework.spec.document.secret import NOT_ALLOWED_HERE, Secret
from framework.spec.sections.fields import fault

__all__ = ["FreeValue", "ScalarField", "SettingValue", "revealed"]


def _free(value: object) -> object:
    """The value with text of unknown type read as a scalar; a secret is refused."""
    if isinstance(value, Secret):
        raise fault("secret-not-allowed", NOT_ALLOWED_HERE)
    if isinstance(value, LooseText):
        return value.typed()
    if isinstance(value, Mapping):
        return {name: _free(inner) for name, inner in value.items()}
    return [_free(item) for item in value] if isinstance(value, list) else value


def _scalar(value: object) -> object:
    """Text, a number or a boolean."""
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


def _setting(value: object) -> str | Secret:
    """The value as Spark's text; secrets stay closed."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, str | int | float):
        return scalar_text(value) if not isinstance(value, str) else str(value)
    raise PydanticCustomError("string_type", "Input should be a valid string")


SettingValue = Annotated[
    object,
    BeforeValidator(_setting),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]


def revealed(settings: Mapping[str, object]) -> dict[str, str]:
    """The settings with secrets put in, for Spark alone: never log or store them.

    Raises:
        PlanError: `spec/undefined-secret`.
    """
    return {
        key: value.reveal() if isinstance(value, Secret) else str(value)
        for key, value in settings.items()
    }
