"""Faults of object stores as typed errors, with the service's own code where there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from framework.errors import StorageError, Where
from framework.hudi.storage.port import exists_error, not_found_error

__all__ = ["store_error", "typed_faults"]

_CODE: Final = re.compile(r"<Code>([^<]+)</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<]+)</Message>")
_STATUS: Final = re.compile(r"status(?: code)?:\s*(\d{3})")
_REQUEST: Final = re.compile(r"Error performing ([A-Z]+ \S+) in .*? - (.*)")
_LONGEST: Final = 300
_CONDITIONS: Final = MappingProxyType(
    {
        "NoSuchBucket": "no-bucket",
        "AccessDenied": "permission",
        "AllAccessDisabled": "permission",
        "InvalidAccessKeyId": "credentials",
        "SignatureDoesNotMatch": "credentials",
        "InvalidToken": "credentials",
        "ExpiredToken": "credentials",
        "TokenRefreshRequired": "credentials",
        "RequestTimeTooSkewed": "clock-skew",
        "SlowDown": "throttled",
        "ServiceUnavailable": "throttled",
        "TooManyRequests": "throttled",
        "RequestTimeout": "timeout",
        "NotImplemented": "no-conditions",
    }
)
_UNREACHABLE: Final = ("error sending request", "builder error", "connect", "dns error")
_BY_STATUS: Final = MappingProxyType(
    {"401": "credentials", "403": "permission", "429": "throttled", "503": "throttled"}
)
_BY_TYPE: Final[Mapping[type[Exception], str]] = MappingProxyType(
    {
        FileNotFoundError: "not-found",
        PermissionDeniedError: "permission",
        UnauthenticatedError: "credentials",
        PreconditionError: "changed",
        InvalidPathError: "bad-key",
    }
)
_REMEDIES: Final = MappingProxyType(
    {
        "no-bucket": "Create the bucket, or correct its name, the endpoint or the region.",
        "credentials": "Check the access key and secret, or the profile, in `storage` or in the"
        " environment; `run-pipeline doctor` shows which are used.",
        "permission": "Grant the principal the right to list, read, write and delete there.",
        "clock-skew": "Set this machine's clock by NTP; the service refuses requests that are more"
        " than 15 minutes off.",
        "throttled": "The service asked for fewer requests and all retries were refused: run again"
        " later, or with a lower parallelism.",
        "timeout": "Check the network and the endpoint, then run the same command again.",
        "unreachable": "Check `storage.s3.endpoint`, the region and the network; an endpoint"
        " without TLS needs `allow_http: true`.",
        "changed": "Stop all writers to this file, then run the same command again.",
        "no-conditions": "The store knows no conditional requests. Use another one, or set"
        " `single_writer: true` in `storage` if only one process at a time writes to the table.",
        "bad-key": "Rename the object: keys with empty, `.` or `..` levels cannot be addressed.",
        "failed": "Check the service, then run the same command again.",
    }
)


def store_error(error: Exception, location: str) -> StorageError:
    """Return the typed error for a fault of the store at the full `location`."""
    if isinstance(error, AlreadyExistsError):
        return exists_error(location)
    text = str(error)
    condition = _condition(error, text)
    if condition == "not-found":
        return not_found_error(location)
    return StorageError(
        f"storage/{condition}",
        f"the object store refused or failed: {_reason(text)}"[:_LONGEST],
        where=Where(file=location),
        remedy=_REMEDIES[condition],
    )


@contextmanager
def typed_faults(location: str) -> Iterator[None]:
    """Raise the store's faults inside the context as typed errors at `location`."""
    try:
        yield
    except (BaseError, FileNotFoundError, ValueError) as error:
        raise store_error(error, location) from error


def _condition(error: Exception, text: str) -> str:
    """Return the condition, without `storage/`."""
    known = _CONDITIONS.get(_first(_CODE, text)) or _BY_STATUS.get(_first(_STATUS, text))
    if known:
        return known
    by_type = (name for kind, name in _BY_TYPE.items() if isinstance(error, kind))
    return next(by_type, None) or _of_transport(text)


def _of_transport(text: str) -> str:
    """Return the condition of a fault that is not an answer of the service."""
    words = text.lower()
    if "timed out" in words or "timedout" in words:
        return "timeout"
    if "169.254.169.254" in words:  # the last of the chain, an instance's own role
        return "credentials"
    if any(each in words for each in _UNREACHABLE):
        return "unreachable"
    return "failed"


def _first(pattern: re.Pattern[str], text: str) -> str:
    """Return the first group that matches, or an empty string."""
    found = pattern.search(text)
    return next((each for each in found.groups() if each), "") if found else ""


def _reason(text: str) -> str:
    """Return the service's code and message, else the request and its fault, on one line."""
    code, message = _first(_CODE, text), _first(_MESSAGE, text)
    if code:
        return f"{code}: {message}" if message else code
    first = text.strip().partition("\n")[0]
    request = _REQUEST.search(first)
    return f"{request[1]}: {request[2].strip()}" if request else first or "no reason given"
