"""What the operating system says, in the words of the storage port."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from types import MappingProxyType

from framework.errors import StorageError, Where

__all__ = ["exists_error", "not_found_error", "storage_error"]

_CONDITIONS: Mapping[int, str] = MappingProxyType(
    {
        errno.ENOENT: "not-found",
        errno.ENOTDIR: "not-found",
        errno.EEXIST: "exists",
        errno.ENOTEMPTY: "exists",
        errno.EISDIR: "exists",
        errno.EACCES: "permission",
        errno.EPERM: "permission",
        errno.EROFS: "permission",
        errno.ENOSPC: "full",
        errno.EDQUOT: "full",
        errno.EFBIG: "full",
        errno.EMFILE: "too-many-open",
        errno.ENFILE: "too-many-open",
    }
)
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "not-found": "Check the path, and that no other process cleans the folder.",
        "exists": "Another writer may be at work on this table; look at it before you run again.",
        "permission": "Give the user who runs this the right to it; an EPERM on a link also means "
        "that the file system has no hard links, without which nothing can be published.",
        "full": "Free some space or raise the quota, then run the same command again.",
        "too-many-open": "Raise the limit on open files (`ulimit -n`), or set a lower parallelism.",
        "symbolic-link": "Put a folder or file of the table there, not a link to another place.",
        "failed": "Look at the disk or mount, then run the same command again.",
    }
)


def storage_error(error: OSError, location: str, *, condition: str | None = None) -> StorageError:
    """Return the typed error for `error` at the full `location`.

    `condition` (the part after `storage/`) overrides what the error number says. The caller raises
    it `from error`.
    """
    kind = condition or _CONDITIONS.get(error.errno or 0, "failed")
    reason = error.strerror or str(error) or type(error).__name__
    return StorageError(
        f"storage/{kind}", reason, where=Where(file=location), remedy=_REMEDIES.get(kind, "")
    )


def exists_error(location: str) -> StorageError:
    """Return the error for a name that is taken."""
    return storage_error(FileExistsError(errno.EEXIST, "the name is taken"), location)


def not_found_error(location: str) -> StorageError:
    """Return the error for a name with nothing behind it."""
    return storage_error(FileNotFoundError(errno.ENOENT, "there is no such file"), location)
