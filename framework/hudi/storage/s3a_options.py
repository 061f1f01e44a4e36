"""What Hadoop's S3A needs to reach the same stores as this process."""

from __future__ import annotations

from typing import Final

from framework.hudi.storage.store_settings import StoreSettings

__all__ = ["credential_options", "place_options"]

_S3A: Final = "fs.s3a"
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a"


def place_options(settings: StoreSettings) -> dict[str, str]:
    """Return S3A's options of endpoint and region, which are no secrets."""
    found = {
        "endpoint": settings.endpoint,
        "endpoint.region": settings.region,
        "path.style.access": _word(settings.path_style),
        "connection.ssl.enabled": "false" if settings.allow_http else None,
    }
    return _named(found)


def credential_options(settings: StoreSettings) -> dict[str, str]:
    """Return S3A's options of fixed credentials, for its configuration in memory alone.

    Empty if S3A finds credentials by its own chain.
    """
    found = {
        "access.key": settings.access_key_id,
        "secret.key": settings.secret_access_key,
        "session.token": settings.session_token,
        "aws.credentials.provider": _provider(settings),
    }
    return _named(found)


def _named(found: dict[str, str | None]) -> dict[str, str]:
    return {f"{_S3A}.{name}": value for name, value in found.items() if value is not None}


def _word(flag: bool | None) -> str | None:  # noqa: FBT001 - a setting's value
    return None if flag is None else str(flag).lower()


def _provider(settings: StoreSettings) -> str | None:
    """Return the class that finds credentials, None for S3A's own chain."""
    if settings.anonymous:
        return f"{_PROVIDERS}.AnonymousAWSCredentialsProvider"
    if settings.access_key_id:
        kind = "Temporary" if settings.session_token else "Simple"
        return f"{_PROVIDERS}.{kind}AWSCredentialsProvider"
    return None
