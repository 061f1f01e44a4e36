"""Opens golden tables: unpacked once to the path at which they were made."""

from __future__ import annotations

import json
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["GOLDEN_HOME", "HERE", "GoldenTable", "golden_names", "open_golden"]

HERE = Path(__file__).resolve().parent
GOLDEN_HOME = Path("/tmp/lakestrap-golden")  # noqa: S108 - an index holds absolute paths


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenTable:
    """A table of Apache Hudi's own making.

    `rows` are canonical (`tests.interop.canonical`), in the order of `columns`, sorted.
    """

    location: Path
    columns: tuple[str, ...]
    rows: list[list[object]]


def golden_names() -> tuple[str, ...]:
    """Return the names of all golden tables, sorted: `<kind>-<table type>-<release>`."""
    return tuple(sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz")))


def open_golden(name: str) -> GoldenTable:
    """Unpack a golden table unless it is there already, and return it; never write to it."""
    home = GOLDEN_HOME / name
    if not home.is_dir():
        GOLDEN_HOME.mkdir(exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=GOLDEN_HOME) as folder,
            tarfile.open(HERE / f"{name}.tar.xz") as archive,
        ):
            fresh = Path(folder) / name
            archive.extractall(fresh, filter="data")
            try:
                fresh.rename(home)
            except OSError:  # another test process was first
                if not home.is_dir():
                    raise
    facts: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return GoldenTable(location=home / "table", columns=tuple(facts["columns"]), rows=facts["rows"])
