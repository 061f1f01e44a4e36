"""The section `storage`: how object stores are reached. Nothing of it is ever stored.

    storage:
      s3:
        endpoint: http://127.0.0.1:9000
        region: eu-central-1
        path_style: true
        allow_http: true
        access_key_id: ${env.LAKE_KEY}
        secret_access_key: ${secret.lake}

Without it, and for all that it leaves out, the stores' own chains of credentials are used.
"""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from framework.spec.document.references import LooseText
from framework.spec.document.secret import Secret
from framework.spec.sections.fields import Flag, PositiveNumber, SpecModel, Text, WholeNumber, fault
from framework.spec.sections.timeline_service_spec import revealed

__all__ = ["S3StorageSpec", "StorageSpec"]

_ENDPOINT = re.compile(r"(https?)://[^/\s?#@]+/?")
_MOST_RETRIES = 100


def _endpoint(text: str) -> str:
    """Return the URL, if it is a service's, without a path or credentials."""
    if not _ENDPOINT.fullmatch(text):
        raise fault("bad-endpoint", "an endpoint is a URL such as `https://s3.example.com`")
    return text.rstrip("/")


def _referred(value: object, info: ValidationInfo) -> object:
    """Return the value, if it comes from the environment or a secret and is not written out."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, LooseText):
        return str(value)
    name = info.field_name or "value"
    message = "a credential is never written into a file: refer to it"
    raise fault("literal-secret", message, f"{name}: ${{secret.{name}}}")


Endpoint = Annotated[Text, AfterValidator(_endpoint)]
Retries = Annotated[WholeNumber, Field(ge=0, le=_MOST_RETRIES)]
Credential = Annotated[
    object,
    BeforeValidator(_referred),
    WithJsonSchema({"type": "string", "pattern": r"\$\{(var|env|secret)\."}),
]


class S3StorageSpec(SpecModel):
    """S3, and stores that speak its protocol."""

    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the service; by default that of AWS.",
        examples=["http://127.0.0.1:9000"],
    )
    region: Text | None = Field(
        default=None, description="Region of the buckets.", examples=["eu-central-1"]
    )
    path_style: Flag | None = Field(
        default=None, description="Whether buckets are named in the path instead of the host."
    )
    allow_http: Flag | None = Field(
        default=None, description="Whether an endpoint without TLS is allowed."
    )
    anonymous: Flag | None = Field(
        default=None, description="Whether requests are sent without credentials."
    )
    profile: Text | None = Field(
        default=None, description="A profile of the user's AWS files.", examples=["lake"]
    )
    access_key_id: Credential | None = Field(
        default=None, description="Access key; a reference `${env.X}` or `${secret.x}`."
    )
    secret_access_key: Credential | None = Field(
        default=None, description="Secret key; a reference `${env.X}` or `${secret.x}`."
    )
    session_token: Credential | None = Field(
        default=None, description="Token of temporary credentials; a reference."
    )
    max_retries: Retries | None = Field(
        default=None, description="Repetitions of a request after a fault that may pass."
    )
    timeout_s: PositiveNumber | None = Field(
        default=None, description="Seconds that one request may take."
    )
    single_writer: Flag | None = Field(
        default=None,
        description="Write to a store that knows no conditional requests. You make sure that only "
        "one process at a time writes to each table.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Return the section, if its fields agree."""
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise fault("incomplete-credentials", "an access key needs its secret, and vice versa")
        ways = [self.anonymous is True, self.profile is not None, self.access_key_id is not None]
        if sum(ways) > 1:
            message = "choose one of `anonymous`, `profile` and `access_key_id`"
            raise fault("ambiguous-credentials", message)
        if self.endpoint is not None and self.endpoint.startswith("http:") and not self.allow_http:
            message = "the endpoint has no TLS: requests could be read on their way"
            raise fault("plain-http", message, "allow_http: true")
        return self

    def revealed(self) -> dict[str, str | int | bool]:
        """Return the fields that are set, with secrets put in: never log or store them.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        found = {name: getattr(self, name) for name in type(self).model_fields}
        secret = revealed({n: v for n, v in found.items() if isinstance(v, Secret)})
        return {n: secret.get(n, v) for n, v in found.items() if v is not None}


class StorageSpec(SpecModel):
    """How object stores are reached."""

    s3: S3StorageSpec | None = Field(default=None, description="Stores of `s3://` and `s3a://`.")
