"""Typed errors for what an HDFS client raises.

The client raises Python's own errors for taken and missing names, and for others one class with
Java's class name and stack in its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from framework.errors import StorageError, Where
from framework.hudi.storage.port import storage_error

__all__ = ["NOT_EMPTY", "hdfs_error", "is_missing"]

NOT_EMPTY: Final = "PathIsNotEmptyDirectoryException"

_NOT_FILE: Final = "Path is not a file"
_NOT_FOLDER: Final = "ParentNotDirectoryException"
_CONDITIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        _NOT_FILE: "failed",
        _NOT_FOLDER: "not-found",
        "AccessControlException": "permission",
        "SaslException": "permission",
        "QuotaExceededException": "full",
        "could only be written to": "full",
    }
)
_RPC: Final = re.compile(r'RPCError\("([\w.$]+)", "(.*)', re.DOTALL)
_UNREACHABLE: Final = (
    "Check that the NameNode and DataNodes run and can be reached from here, and the location."
)
_SAFE_MODE: Final = "Wait until the NameNode has left its safe mode, then run again."


def is_missing(error: BaseException) -> bool:
    """Return whether nothing is at a path, be it because a folder above it is a file."""
    if _NOT_FILE in str(error):
        return False
    return isinstance(error, FileNotFoundError) or _NOT_FOLDER in str(error)


def hdfs_error(error: Exception, place: str) -> StorageError:
    """Return the typed error for what the client raised at a full location."""
    if isinstance(error, StorageError):
        return error
    text = str(error)
    kind = next((kind for sign, kind in _CONDITIONS.items() if sign in text), None)
    if kind is None and isinstance(error, (FileExistsError, FileNotFoundError)):
        kind = "exists" if isinstance(error, FileExistsError) else "not-found"
    if kind is not None:
        return storage_error(OSError(_reason(text)), place, condition=kind)
    remedy = _SAFE_MODE if "SafeModeException" in text else _UNREACHABLE
    return StorageError("storage/failed", _reason(text), where=Where(file=place), remedy=remedy)


def _reason(text: str) -> str:
    """Return the first line of a message, without Java's stack."""
    match = _RPC.search(text)
    words = match[2] if match else text
    return words.replace("\\n", "\n").partition("\n")[0].strip('")')
