"""The section `spark`: the session that a run starts where there is none."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from typing import Annotated

from pydantic import AfterValidator, Field

from framework.spec.sections.fields import SpecModel, Text, fault
from framework.spec.sections.settings import SettingValue, revealed

__all__ = ["SparkSpec"]


def _conf_key(key: str) -> str:
    """The key, if it is one of Spark's."""
    if not key.startswith("spark."):
        raise fault("spark-conf-key", "Spark's settings begin with `spark.`", f"spark.{key}")
    return key


ConfKey = Annotated[str, AfterValidator(_conf_key)]


class SparkSpec(SpecModel):
    """The Spark session that a run starts where there is none."""

    master: Text | None = Field(default=None, description="Spark's master URL; --master beats it.")
    conf: Mapping[ConfKey, SettingValue] = Field(
        default={}, description="Spark settings; a secret may stand here."
    )

    def revealed_conf(self) -> dict[str, str]:
        """The settings with secrets put in, for the session alone: never log or store it.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return revealed(self.conf)
