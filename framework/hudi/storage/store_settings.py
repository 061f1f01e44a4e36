"""How to reach object stores: the project file's section `storage`, passed between processes.

Settings stay in memory and in the environment of processes, since they may hold secrets; they are
never written to a file. What they leave out is found by the stores' own credential chains.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

__all__ = ["STORAGE_VARIABLE", "StoreSettings", "settings_of", "settings_text", "use_settings"]

STORAGE_VARIABLE: Final = "LAKESTRAP_STORAGE_SECRET"
"""The environment variable with the settings, as JSON by scheme.

Spark hides values of settings and variables whose name contains `secret`.
"""

_GIVEN: Final[dict[str, str | None]] = {}
"""The variable as it was before `use_settings` set it; empty if it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The settings of one kind of store; None means the store's own default or chain.

    Attributes:
        endpoint: URL of the service.
        region: its region.
        path_style: whether buckets are in the path (True) or in the host's name.
        allow_http: whether an endpoint without TLS is accepted.
        anonymous: whether requests are sent without credentials.
        profile: name of a profile in the user's AWS files.
        access_key_id: with `secret_access_key`, fixed credentials.
        secret_access_key: see `access_key_id`.
        session_token: of temporary credentials.
        max_retries: how often a request is repeated after a fault that may pass.
        timeout_s: seconds that one request may take.
        single_writer: whether names are taken without conditional requests, which this store does
            not know: then nothing protects a table from a second writer.
    """

    endpoint: str | None = None
    region: str | None = None
    path_style: bool | None = None
    allow_http: bool | None = None
    anonymous: bool | None = None
    profile: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = None
    session_token: str | None = None
    max_retries: int | None = None
    timeout_s: int | None = None
    single_writer: bool | None = None

    def __repr__(self) -> str:
        """Return the names of the settings only: values may be secret."""
        known = (each.name for each in fields(self) if getattr(self, each.name) is not None)
        return f"StoreSettings({', '.join(known)})"

    def values(self) -> dict[str, str | int | bool]:
        """Return the settings that are not None, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


def settings_text(settings: Mapping[str, StoreSettings]) -> str:
    """Return the value of `STORAGE_VARIABLE` for settings by scheme (`s3`)."""
    return json.dumps({scheme: each.values() for scheme, each in settings.items()}, sort_keys=True)


def use_settings(settings: Mapping[str, StoreSettings]) -> None:
    """Make this process, and those that it starts, use settings by scheme.

    Without any, the settings of the process's own environment stay, and those of an earlier call
    are dropped.
    """
    if settings:
        text = settings_text(settings)
        _GIVEN.setdefault(STORAGE_VARIABLE, os.environ.get(STORAGE_VARIABLE))
        os.environ[STORAGE_VARIABLE] = text
    elif _GIVEN:
        before = _GIVEN.pop(STORAGE_VARIABLE)
        os.environ.pop(STORAGE_VARIABLE, None)
        os.environ.update({STORAGE_VARIABLE: before} if before is not None else {})


def settings_of(scheme: str) -> StoreSettings:
    """Return this process's settings for a scheme, `s3` for `s3a` as well."""
    text = os.environ.get(STORAGE_VARIABLE)
    known = json.loads(text) if text else {}
    return StoreSettings(**known.get("s3" if scheme == "s3a" else scheme, {}))
