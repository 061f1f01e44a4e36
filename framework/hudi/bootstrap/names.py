"""Names of the base files that a bootstrap writes: pure functions of the source path and number.

So every attempt, retry and resume makes the same names (design.md, section 6).
"""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from framework.hudi.filegroup.names import BaseFileName
from framework.vocabulary import BootstrapMode

__all__ = ["base_file_name", "file_id"]


def file_id(source_path: str, mode: BootstrapMode) -> str:
    """Return the file id for a source file, given its path relative to the source root.

    A skeleton's is a bare UUID, as Apache Hudi's own are; a full file's has the usual `-0`
    (format sheet, section 3.1).
    """
    name = str(uuid5(NAMESPACE_URL, f"lakestrap:{source_path}"))
    return name if mode is BootstrapMode.METADATA_ONLY else f"{name}-0"


def base_file_name(identity: str, number: int, instant: str) -> str:
    """Return the base file's name; the write token holds the file's number in the inventory."""
    return str(BaseFileName(file_id=identity, write_token=f"{number}-0-0", instant=instant))
