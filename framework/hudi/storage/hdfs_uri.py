"""Locations in HDFS: `hdfs://authority/path`, read as Hadoop reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framework.errors import PlanError, Where

__all__ = ["HdfsUri", "is_hdfs_uri", "parse_hdfs_uri"]

_SCHEME: Final = "hdfs://"


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsUri:
    """A folder of a cluster.

    Attributes:
        cluster: the NameNode's `hdfs://host:port`, or a nameservice.
        path: absolute, without a slash at its end; `/` is the root.
    """

    cluster: str
    path: str

    @property
    def text(self) -> str:
        """The whole URI, without a slash at its end."""
        return f"{self.cluster}{self.path.rstrip('/')}"


def is_hdfs_uri(location: str) -> bool:
    """Return whether a location is in HDFS."""
    return location[: len(_SCHEME)].lower() == _SCHEME


def parse_hdfs_uri(location: str) -> HdfsUri:
    """Return the parts of an HDFS location; the text of the path is not percent-decoded.

    Raises:
        PlanError: `storage/bad-location` without a NameNode.
    """
    authority, _, path = location[len(_SCHEME) :].partition("/")
    if not is_hdfs_uri(location) or not authority:
        raise PlanError(
            "storage/bad-location",
            "the location does not name its NameNode",
            where=Where(file=location),
            remedy="Write hdfs://namenode:8020/lake/flights, or the nameservice in its place.",
        )
    levels = [level for level in path.split("/") if level]
    return HdfsUri(cluster=f"{_SCHEME}{authority}", path=f"/{'/'.join(levels)}")
