"""Inputs of later runs, and small sources for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.plan.load import InputRequest, Transform

__all__ = ["an_input", "some_rows", "write_rows"]


def an_input(path: Path | None, *sql: str, **more: Any) -> InputRequest:
    """Return a request for Parquet at `path`; transforms are called `t1`, `t2` and so on."""
    named = tuple(Transform(name=f"t{at}", sql=each) for at, each in enumerate(sql, 1))
    given: dict[str, Any] = {"format": "parquet", "transforms": named}
    given["path"] = None if path is None else str(path)
    return InputRequest(**{**given, **more})


def some_rows(begin: int, stop: int) -> pa.Table:
    """Return rows with `id` in [begin, stop) and a text `v`."""
    ids = range(begin, stop)
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [f"v{each}" for each in ids]})


def write_rows(file: Path, begin: int = 0, stop: int = 10) -> Path:
    """Write such rows as a Parquet file, whose folder is made, and return its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(some_rows(begin, stop), file)
    return file
