"""Clients of object stores, made from settings and the standard chain of credentials.

The chain for S3 is: the settings' own credentials; their profile; `AWS_…` variables, among them web
identity tokens and container credentials; the default profile of the user's AWS files; the
instance's own role. Only profiles that assume roles, run processes or use SSO need boto3.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from datetime import timedelta
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from obstore.store import S3Store

from framework.errors import StorageError, Where
from framework.hudi.storage.object_uri import ObjectUri
from framework.hudi.storage.store_settings import StoreSettings, settings_of

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["Client", "client_of"]

Client = S3Store

_RETRIES: Final = 8  # about half a minute of waiting
_TIMEOUT_S: Final = 120  # a base file of 120 MB at 1 MB/s
_CONNECT_S: Final = 5
_FIRST_WAIT: Final = timedelta(milliseconds=100)
_LONGEST_WAIT: Final = timedelta(seconds=15)
_GIVE_UP: Final = timedelta(minutes=3)
_IN_ENVIRONMENT: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)
_INDIRECT: Final = ("role_arn", "sso_session", "sso_start_url", "credential_process")


def client_of(uri: ObjectUri) -> Client:
    """Return the client of a bucket, by this process's settings; makes no request.

    Raises:
        StorageError: `storage/credentials` for a profile that cannot be used.
    """
    return _client(os.getpid(), uri.bucket, settings_of(uri.scheme))


@lru_cache(maxsize=64)
def _client(_process: int, bucket: str, settings: StoreSettings) -> Client:
    """Return the client of a bucket; connections do not outlive a fork, hence the process's id."""
    options: ClientConfig = {
        "connect_timeout": timedelta(seconds=_CONNECT_S),
        "timeout": timedelta(seconds=settings.timeout_s or _TIMEOUT_S),
    }
    if settings.allow_http:
        options["allow_http"] = True
    retries: RetryConfig = {
        "max_retries": _RETRIES if settings.max_retries is None else settings.max_retries,
        "retry_timeout": _GIVE_UP,
        "backoff": {"init_backoff": _FIRST_WAIT, "max_backoff": _LONGEST_WAIT, "base": 2},
    }
    config: dict[str, Any] = {**_place(bucket, settings), **_credentials(settings)}
    provider = config.pop("credential_provider", None)
    return S3Store(
        bucket,
        client_options=options,
        retry_config=retries,
        credential_provider=provider,
        **config,
    )


def _place(bucket: str, settings: StoreSettings) -> dict[str, Any]:
    """Return the configuration of endpoint and region."""
    found: dict[str, Any] = {}
    if settings.region:
        found["region"] = settings.region
    elif not os.environ.get("AWS_REGION") and not os.environ.get("AWS_DEFAULT_REGION"):
        found["region"] = _profile(settings).get("region", "us-east-1")
    if settings.path_style is not None:
        found["virtual_hosted_style_request"] = not settings.path_style
    if settings.endpoint:
        in_host = settings.path_style is False
        found["endpoint"] = _with_bucket(settings.endpoint, bucket if in_host else "")
    return found


def _with_bucket(endpoint: str, bucket: str) -> str:
    """Return the endpoint, with a bucket that is not empty before its host's name."""
    parts = urlsplit(endpoint.rstrip("/"))
    return urlunsplit(parts._replace(netloc=f"{bucket}.{parts.netloc}")) if bucket else endpoint


def _credentials(settings: StoreSettings) -> dict[str, Any]:
    """Return the configuration of credentials; empty if the client finds them by itself."""
    if settings.anonymous:
        return {"skip_signature": True}
    if settings.access_key_id:
        token = {"session_token": settings.session_token} if settings.session_token else {}
        return {
            "access_key_id": settings.access_key_id,
            "secret_access_key": settings.secret_access_key or "",
            **token,
        }
    if not settings.profile and any(os.environ.get(name) for name in _IN_ENVIRONMENT):
        return {}
    return _of_profile(settings)


def _of_profile(settings: StoreSettings) -> dict[str, Any]:
    """Return the configuration of a profile's credentials; empty without a profile."""
    profile = _profile(settings)
    if "aws_access_key_id" in profile:
        token = profile.get("aws_session_token")
        return {
            "access_key_id": profile["aws_access_key_id"],
            "secret_access_key": profile.get("aws_secret_access_key", ""),
            **({"session_token": token} if token else {}),
        }
    if any(name in profile for name in _INDIRECT):
        return {"credential_provider": _by_boto3(_profile_name(settings))}
    if settings.profile:
        raise _unusable(settings.profile, "is not in the AWS configuration, or has no credentials")
    return {}


def _by_boto3(profile: str) -> Any:
    """Return a provider that lets boto3 find and renew a profile's credentials."""
    try:
        session = import_module("boto3").Session(profile_name=profile)
        return import_module("obstore.auth.boto3").Boto3CredentialProvider(session)
    except ImportError as error:
        raise _unusable(profile, "needs boto3: `pip install boto3`") from error


def _unusable(profile: str, why: str) -> StorageError:
    """Return the error for a profile."""
    return StorageError(
        "storage/credentials",
        f"the AWS profile `{profile}` {why}",
        where=Where(file=str(_files()[1])),
        remedy="Correct the profile, or set `access_key_id` and `secret_access_key` by references.",
    )


def _profile_name(settings: StoreSettings) -> str:
    return settings.profile or os.environ.get("AWS_PROFILE") or "default"


def _files() -> tuple[Path, Path]:
    """Return the user's AWS files, settings first."""
    home = Path.home() / ".aws"
    config = os.environ.get("AWS_CONFIG_FILE")
    credentials = os.environ.get("AWS_SHARED_CREDENTIALS_FILE")
    return (
        Path(config) if config else home / "config",
        Path(credentials) if credentials else home / "credentials",
    )


def _profile(settings: StoreSettings) -> Mapping[str, str]:
    """Return the entries of the profile in both AWS files; those of credentials win."""
    name, (config, credentials) = _profile_name(settings), _files()
    in_config = name if name == "default" else f"profile {name}"
    return {**_section(config, in_config), **_section(credentials, name)}


def _section(file: Path, name: str) -> Mapping[str, str]:
    """Return a section of an INI file; empty if either is missing."""
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(file)
    except (ConfigError, OSError, UnicodeDecodeError):
        return {}
    return dict(parser[name]) if parser.has_section(name) else {}
