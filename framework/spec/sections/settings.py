"""Settings that are handed to Spark as text, and may hold secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.spec.document.scalars import scalar_text
from framework.spec.document.secret import Secret

__all__ = ["SettingValue", "revealed"]


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
