"""Locations of tables and sources: text of a spec -> absolute path or URI."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr, ValidationInfo

from framework.spec.sections.fields import fault

__all__ = ["SCHEMES_NOT_BUILT", "Location", "nested", "resolve_location"]

_OBJECT_SCHEMES = {"s3": "s3a", "s3a": "s3a"}
"""Schemes of object stores, and what Hadoop calls them."""

SCHEMES_NOT_BUILT = (
    *("s3n", "gs", "viewfs", "abfs", "abfss", "wasb", "wasbs", "adl"),
    *("oss", "cosn", "obs", "dbfs", "http", "https"),
)
"""Schemes that are known by name but refused in this version."""

_IN_MEMORY = frozenset({"memory", "objects"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SHORT_FILE = re.compile(r"file:/(?!/)(.*)", re.DOTALL)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


def resolve_location(text: str, folder: Path | None) -> str:
    """Return the location without `.`, `..` and trailing slash; relative ones start at `folder`.

    `..` is resolved in the text: no symbolic link is followed. Without a folder a relative location
    stays relative.

    Raises:
        PydanticCustomError: the scheme is not built, or the text is not a location.
    """
    if _UNPRINTABLE.search(text) or not text.strip():
        raise fault("bad-path", "a path may not be blank or contain control characters")
    if text == "~" or text.startswith("~/"):
        message = "`~` is not expanded in a spec"
        raise fault("bad-path", message, f"${{env.HOME}}{text[1:]}")
    scheme = _SCHEME.fullmatch(text)
    if scheme:
        return _uri(scheme.group(1).lower(), scheme.group(2))
    short = _SHORT_FILE.fullmatch(text)
    if short:
        raise fault("bad-path", "a file URI starts with `file:///`", f"file:///{short.group(1)}")
    start = "" if text.startswith("/") or folder is None else f"{folder.absolute()}/"
    return _collapsed(start + text)


def _uri(scheme: str, rest: str) -> str:
    """Return the URI of a built scheme."""
    if scheme in _IN_MEMORY and rest.strip("/"):
        return f"{scheme}://{rest.rstrip('/')}"
    if scheme == "file":
        if not rest.startswith("/"):
            raise fault("bad-path", "a file URI may not name a host", f"file:///{rest}")
        return f"file://{_collapsed(rest)}"
    if scheme == "hdfs":
        return _in_cluster(rest)
    if scheme in _OBJECT_SCHEMES:
        return _in_bucket(_OBJECT_SCHEMES[scheme], rest)
    if scheme in SCHEMES_NOT_BUILT:
        message = f"`{scheme}://` is not built yet in this version; use a local path, HDFS or S3"
        raise fault("scheme-not-built", message)
    raise fault("unknown-scheme", f"the scheme `{scheme[:20]}://` is not known")


def _in_cluster(rest: str) -> str:
    """Return the URI of a folder of an HDFS cluster."""
    name_node, _, path = rest.partition("/")
    if not name_node:
        raise fault("bad-path", "the NameNode is missing", f"hdfs://namenode:8020/{path}")
    return f"hdfs://{name_node}{_collapsed(f'/{path}')}"


def _in_bucket(scheme: str, rest: str) -> str:
    """Return the canonical URI of a place in a bucket."""
    bucket, _, path = rest.partition("/")
    levels = [level for level in path.split("/") if level]
    if not bucket:
        raise fault("bad-path", "the bucket is missing", f"{scheme}://bucket/{path}")
    if "." in levels or ".." in levels:
        raise fault("bad-path", "a path in a bucket has no levels `.` and `..`")
    return "/".join((f"{scheme}://{bucket}", *levels))


def _collapsed(path: str) -> str:
    """Return the path with its dots resolved in the text."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == ".." and steps and steps[-1] != "..":
            steps.pop()
        elif step == ".." and path.startswith("/"):
            continue
        elif step not in ("", "."):
            steps.append(step)
    if not steps and path.startswith("/"):
        raise fault("bad-path", "the root folder can be neither a table nor a source")
    return ("/" if path.startswith("/") else "") + ("/".join(steps) or ".")


def nested(one: str, other: str) -> str | None:
    """Return how two locations overlap: `same`, `inside` (one in other), `around`, or None."""
    a, b = one.removeprefix("file://"), other.removeprefix("file://")
    if a == b:
        return "same"
    if a.startswith(f"{b}/"):
        return "inside"
    return "around" if b.startswith(f"{a}/") else None


def _located(text: str, info: ValidationInfo) -> str:
    """Return the location, relative to the `folder` of the validation context."""
    folder = (info.context or {}).get("folder")
    return resolve_location(text, folder)


Location = Annotated[StrictStr, Field(min_length=1), AfterValidator(_located)]
