"""Tables with every kind of file, for damaging them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from framework.vocabulary import TableType, WriteOperation
from tests.golden.tables.opening import open_golden
from tests.support.scenes import a_document, a_scene, adopt
from tests.support.sources import ids
from tests.support.writing import Lake, load

__all__ = ["adopted_lake", "changed_bytes", "files_of", "hudi_lake", "written_lake"]


def written_lake(kind: TableType, folder: Path) -> Path:
    """Return a table of ours with three loads: new rows, changed ones, deleted ones."""
    lake = Lake(folder=folder, type=kind, ordering="n")
    first = [
        {"id": f"k{n}", "day": f"d{n % 2}", "n": 1, "text": "é" * (n % 7), "price": n / 3}
        for n in range(40)
    ]
    load(lake, WriteOperation.UPSERT, first)
    load(lake, WriteOperation.UPSERT, [{**each, "n": 2} for each in first[:9]])
    load(
        lake, WriteOperation.DELETE, [{"id": each["id"], "day": each["day"]} for each in first[:3]]
    )
    return Path(lake.location)


def adopted_lake(folder: Path) -> tuple[Path, Path]:
    """Return a bootstrapped table with a partition of each mode, and the folder of its source."""
    rules = [{"partition": "p=2", "mode": "full_record"}]
    files = {"p=1/a": ids(*range(40)), "p=1/b": ids(*range(40, 60)), "p=2/a": ids(*range(60, 90))}
    scene = a_scene(folder, files, a_document(rules=rules))
    adopt(scene)
    return scene.location, scene.source


def hudi_lake(name: str, folder: Path) -> Path:
    """Return a copy of a golden table of Apache Hudi."""
    return shutil.copytree(open_golden(name).location, folder / name)


_KINDS = {
    ".parquet": "base",
    ".hfile": "index",
    ".hoodie_partition_metadata": "partition metadata",
    "hoodie.properties": "properties",
}


def files_of(location: Path, source: Path | None = None) -> dict[str, list[Path]]:
    """Return what readers may look at, by kind: files of the table, and those of its source."""
    found: dict[str, list[Path]] = {}
    for path in sorted(location.rglob("*")):
        kind = _kind(path, location)
        if kind and path.is_file():
            found.setdefault(kind, []).append(path)
    if source is not None:
        found["source"] = sorted(path for path in source.rglob("*") if path.is_file())
    return found


def _kind(path: Path, location: Path) -> str | None:
    """Return the kind of a file, None for what readers do not look at."""
    ending = next((kind for end, kind in _KINDS.items() if path.name.endswith(end)), None)
    if ending or ".log." in path.name:
        return ending or "log"
    parts = path.relative_to(location).parts
    if parts[0] == ".hoodie" and len(parts) == 2 and path.suffix:
        return f"instant {path.suffix}"
    return "state" if ".lakestrap" in parts else None


@contextmanager
def changed_bytes(path: Path, change: Callable[[bytes], bytes]) -> Iterator[None]:
    """Change the bytes of a file under its old time, and put back what was there."""
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(change(before))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
