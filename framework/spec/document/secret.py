"""A value that must never be shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from framework.errors import PlanError, Where
from framework.spec.document.source import read_regular

__all__ = ["NOT_ALLOWED_HERE", "SECRETS_FOLDER", "Secret", "SecretName", "secret_is_known"]

SECRETS_FOLDER = Path("/run/secrets")
"""Where container platforms mount secrets, one file each; `RUN_PIPELINE_SECRETS` overrides it."""

_MAX_BYTES = 1_000_000

NOT_ALLOWED_HERE = (
    "a secret is allowed in `spark.conf`, `source.options` and credentials of `storage` only; "
    "everything else is stored"
)
"""The message for a secret in any other place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretName:
    """The name in `${secret.name}`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Secret:
    """Text that holds at least one secret; `repr` and `str` are `***`.

    It holds names, not values: only `reveal` reads the secret, at the moment of use, so no plan,
    log, dump or exception can hold it.

    Attributes:
        parts: the text in order, secrets by name.
        written: the text as the author wrote it, `${secret.name}` included.
    """

    parts: tuple[str | SecretName, ...]
    written: str

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return "***"

    def reveal(self) -> str:
        """Return the text with the secrets in it.

        Raises:
            PlanError: `spec/undefined-secret`, a secret is not set.
        """
        return "".join(p if isinstance(p, str) else _read(p.name) for p in self.parts)


def secret_is_known(name: str) -> bool:
    """Return whether `reveal` would find the secret now; its value is not read."""
    return _variable(name) in os.environ or _file(name).is_file()


def _read(name: str) -> str:
    """Return the secret from its environment variable, else its file minus the last newline."""
    value = os.environ.get(_variable(name))
    if value is not None:
        return value
    try:
        return read_regular(_file(name), _MAX_BYTES).decode("utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(
            "spec/undefined-secret",
            f"the secret `{name}` is not set",
            where=Where(),
            remedy=f"Set {_variable(name)}, or write it to the file {_file(name)}.",
        ) from error


def _variable(name: str) -> str:
    """Return the name of the environment variable for the secret."""
    return f"RUN_PIPELINE_SECRET_{name.upper()}"


def _file(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file for the secret."""
    return Path(environ.get("RUN_PIPELINE_SECRETS", SECRETS_FOLDER)) / name
