"""The section `timeline_service` (RFC-03), and settings for Spark that may hold secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.spec.document.scalars import scalar_text
from framework.spec.document.secret import Secret
from framework.spec.sections.fields import Flag, SpecModel, Text, WholeNumber
from framework.spec.sections.quantities import Size
from framework.vocabulary import ServiceAuth, ViewStore

__all__ = ["SettingValue", "TimelineServiceSpec", "revealed"]

_LEAST_MEMORY = 16 << 20
_LAST_PORT = 65_535

Port = Annotated[WholeNumber, Field(ge=0, le=_LAST_PORT)]


class TimelineServiceSpec(SpecModel):
    """The view of the table that the driver holds and serves to its tasks."""

    enabled: Flag = Field(
        default=True,
        description="Whether the driver holds and serves a view; otherwise folders are listed.",
    )
    incremental: Flag = Field(
        default=True,
        description="Whether the view follows the timeline; otherwise a commit causes a listing.",
    )
    store: ViewStore = Field(
        default=ViewStore.MEMORY,
        description="Where the view stores file groups: `memory`, `spillable` or `embedded_kv`.",
    )
    memory: Annotated[Size, Field(ge=_LEAST_MEMORY)] = Field(
        default=256 << 20, description="Memory limit of the view's store.", examples=["256MB"]
    )
    auth: ServiceAuth = Field(
        default=ServiceAuth.TOKEN,
        description="Authentication of callers: a `token`, or none on a `loopback` address.",
    )
    host: Text | None = Field(
        default=None,
        description="The address to listen on; by default loopback, or the driver's in a cluster.",
    )
    port: Port = Field(default=0, description="The port to listen on; 0 picks a free one.")


def _setting(value: object) -> str | Secret:
    """Return the value as Spark's text; a secret is not revealed."""
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
    """Return the settings with secrets put in, for Spark alone: never log or store them.

    Raises:
        PlanError: `spec/undefined-secret`.
    """
    return {
        key: value.reveal() if isinstance(value, Secret) else str(value)
        for key, value in settings.items()
    }
