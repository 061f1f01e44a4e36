"""Locations in object stores: `scheme://bucket/prefix`, with one canonical form for each place."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from framework.errors import PlanError, Where

__all__ = ["SCHEMES", "ObjectUri", "is_object_uri", "parse_object_uri", "store_of"]

SCHEMES: Final = MappingProxyType({"s3": "s3a", "s3a": "s3a"})
"""Scheme as written to the scheme that Hadoop resolves, which tables record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectUri:
    """A place in an object store.

    Attributes:
        scheme: as Hadoop resolves it, such as `s3a`.
        bucket: the bucket's name.
        prefix: the keys' common start, without `/` at either end; `""` is the whole bucket.
    """

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        """Return the canonical text, which is not percent-encoded."""
        root = f"{self.scheme}://{self.bucket}"
        return f"{root}/{self.prefix}" if self.prefix else root


def is_object_uri(location: str) -> bool:
    """Return whether the location is in an object store."""
    scheme, separator, _ = location.partition("://")
    return bool(separator) and scheme in SCHEMES


def store_of(location: str) -> str:
    """Return the bucket or cluster of a canonical location; `""` for this machine's files.

    Hadoop has one file system for each, such as `s3a://bucket` and `hdfs://namenode:8020`.
    """
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator and scheme != "file" else ""


def parse_object_uri(location: str) -> ObjectUri:
    """Return the parts of a location; text after the scheme is used as is, as Hadoop does.

    `s3://b/x/`, `s3a://b/x` and `s3a://b//x` are one place.

    Raises:
        PlanError: `storage/bad-location` without a bucket, or with `.` or `..` as a level.
    """
    scheme, _, rest = location.partition("://")
    bucket, _, path = rest.partition("/")
    levels = [level for level in path.split("/") if level]
    if not bucket or "." in levels or ".." in levels:
        raise PlanError(
            "storage/bad-location",
            "a location in an object store is a bucket and a prefix without `.` and `..`",
            where=Where(file=location),
            remedy="Write it as s3://bucket/folder.",
        )
    return ObjectUri(scheme=SCHEMES[scheme], bucket=bucket, prefix="/".join(levels))
