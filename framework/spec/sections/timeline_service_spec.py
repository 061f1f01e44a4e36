"""The section `timeline_service`: how tasks learn which files make up the table (RFC-03)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from framework.spec.sections.fields import Flag, SpecModel, Text, WholeNumber
from framework.spec.sections.sizes import Size
from framework.vocabulary import ServiceAuth, ViewStore

__all__ = ["TimelineServiceSpec"]

_LEAST_MEMORY = 16 << 20
_LAST_PORT = 65_535

Port = Annotated[WholeNumber, Field(ge=0, le=_LAST_PORT)]


class TimelineServiceSpec(SpecModel):
    """The view that the driver keeps of the table, and serves to its tasks."""

    enabled: Flag = Field(
        default=True,
        description="Whether the driver keeps and serves a view; if not, folders are listed.",
    )
    incremental: Flag = Field(
        default=True,
        description="Whether the view follows the timeline; if not, a commit makes it list anew.",
    )
    store: ViewStore = Field(
        default=ViewStore.MEMORY,
        description="Where it keeps file groups: `memory`, `spillable` or `embedded_kv`.",
    )
    memory: Annotated[Size, Field(ge=_LEAST_MEMORY)] = Field(
        default=256 << 20, description="How much memory its store may take.", examples=["256MB"]
    )
    auth: ServiceAuth = Field(
        default=ServiceAuth.TOKEN,
        description="What callers show: a `token`, or nothing on a `loopback` address.",
    )
    host: Text | None = Field(
        default=None,
        description="The address to listen on; by default loopback, or the driver's of a cluster.",
    )
    port: Port = Field(default=0, description="The port to listen on; 0 takes a free one.")
