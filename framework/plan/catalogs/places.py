"""Locations as catalogs hold them."""

from __future__ import annotations

import re
from typing import Final

from framework.vocabulary import CatalogKind

__all__ = ["catalog_location", "same_place"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_S3: Final = frozenset({"s3", "s3a", "s3n"})


def catalog_location(location: str, kind: CatalogKind) -> str:
    """Return a table's location in the text that engines resolve.

    A local path is `file:/path`, as Hadoop prints it. Of S3, Hadoop resolves `s3a:`, and Athena,
    which reads AWS Glue, `s3:`.
    """
    scheme, rest = _split(location)
    if scheme == "file":
        return f"file:{rest}"
    if scheme in _S3:
        scheme = "s3" if kind is CatalogKind.GLUE else "s3a"
    return f"{scheme}:{rest}"


def same_place(one: str, other: str) -> bool:
    """Return whether two texts name the same location.

    `/a`, `file:/a` and `file:///a/` do, and `s3://b/c` and `s3a://b/c`.
    """
    return _key(one) == _key(other)


def _key(location: str) -> tuple[str, str]:
    scheme, rest = _split(location)
    return "s3" if scheme in _S3 else scheme, rest


def _split(location: str) -> tuple[str, str]:
    """Return scheme and rest, `file` and one `/` for local paths, without a `/` at the end."""
    found = _SCHEME.fullmatch(location)
    scheme, rest = (found[1].lower(), found[2]) if found else ("file", location)
    if scheme == "file":
        rest = "/" + rest.lstrip("/")
    return scheme, rest.rstrip("/") or "/"
