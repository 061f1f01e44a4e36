"""Apache Iceberg's part of `bench/write.py`: the same rows, from the same state each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from changes import changes_of, flat_copy
from datasets import DataSet
from side_process import Measured, Side

__all__ = ["merger"]

MODES = {"cow": "copy-on-write", "mor": "merge-on-read"}


def merger(
    side: Side, name: str, source: DataSet, data: Path
) -> Callable[[], tuple[Measured, int]]:
    """Return a function that writes once and returns the cost and the bytes of new files."""
    facts = {"source": str(source.path.resolve()), "partition": source.partition}

    def insert() -> tuple[Measured, int]:
        side.run("create", **facts, mode=MODES["cow"])
        measured = side.run("bulk", files=_files(flat_copy(source, data)))
        return measured, side.run("written").value

    if name == "bulk":
        return insert
    begin, _, kind = name.partition("-")
    snapshot = side.run("begin", **facts, mode=MODES[kind], adopted=begin == "adopted").value
    arguments = {
        "files": _files(changes_of(source, data)),
        "keys": list(source.keys),
        "partition": source.partition,
    }

    def merge() -> tuple[Measured, int]:
        side.run("again", snapshot=snapshot)
        measured = side.run("merge", **arguments)
        return measured, side.run("written").value

    return merge


def _files(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("*.parquet"))]
