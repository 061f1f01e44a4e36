"""The section `spark`: the session that a run starts where there is none."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.spec.fields import SpecModel, Text, fault
from framework.spec.scalars import scalar_text
from framework.spec.secret import Secret

__all__ = ["SparkSpec"]


def _conf_value(value: object) -> str | Secret:
    """The value as Spark's text; secrets stay closed."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, str | int | float):
        return scalar_text(value) if not isinstance(value, str) else str(value)
    raise PydanticCustomError("string_type", "Input should be a valid string")


def _conf_key(key: str) -> str:
    """The key, if it is one of Spark's."""
    if not key.startswith("spark."):
        raise fault("spark-conf-key", "Spark's settings begin with `spark.`", f"spark.{key}")
    return key


ConfKey = Annotated[str, AfterValidator(_conf_key)]
ConfValue = Annotated[
    object,
    BeforeValidator(_conf_value),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]


class SparkSpec(SpecModel):
    """The Spark session that a run starts where there is none."""

    master: Text | None = Field(default=None, description="Spark's master URL; --master beats it.")
    conf: Mapping[ConfKey, ConfValue] = Field(
        default={}, description="Spark settings; the only place where a secret may stand."
    )

    def revealed_conf(self) -> dict[str, str]:
        """The settings with secrets put in, for the session alone: never log or store it.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return {
            key: value.reveal() if isinstance(value, Secret) else str(value)
            for key, value in self.conf.items()
        }
