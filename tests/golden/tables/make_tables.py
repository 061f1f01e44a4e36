"""Make the golden tables: small tables that Apache Hudi itself wrote, as compressed archives.

Run from the repository's root in the judge's environment:
`.venv-judge/bin/python -m tests.golden.tables.make_tables`.
Each archive has beside it a JSON file with the rows as the release that made it reads them.
Tables lie at one fixed path, since a bootstrap index holds absolute paths.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.golden.tables.opening import GOLDEN_HOME, HERE
from tests.interop.differences import RELEASES
from tests.interop.judge import KEEP_VERSION_6, Judge

__all__ = ["main"]

COMMON: Mapping[str, str] = {
    **KEEP_VERSION_6,
    "hoodie.table.name": "golden",
    "hoodie.datasource.write.recordkey.field": "id,part",
    "hoodie.datasource.write.partitionpath.field": "day",
    "hoodie.datasource.write.precombine.field": "n",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.index.bloom.num_entries": "500",
    "hoodie.write.markers.type": "DIRECT",
}
BOOTSTRAP: Mapping[str, str] = {
    "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    "hoodie.bootstrap.parallelism": "2",
    "hoodie.bootstrap.mode.selector": (
        "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
    ),
}
TABLE_TYPE = "hoodie.datasource.write.table.type"
OPERATION = "hoodie.datasource.write.operation"


def main() -> None:
    """Make every table with every release."""
    with tempfile.TemporaryDirectory() as work:
        for release in RELEASES:
            with Judge(release, Path(work) / release) as judge:
                for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ"):
                    _make_written(judge, table_type)
                    _make_bootstrapped(judge, table_type)


def _make_written(judge: Judge, table_type: str) -> None:
    """Make a table by an insert and an upsert: two slices, or a base file and a log."""
    name = _name("written", judge.version, table_type)
    home = _fresh(name)
    batch = home / "batch.parquet"
    for operation, rows in (("bulk_insert", _rows(0, 6)), ("upsert", _rows(4, 4))):
        pq.write_table(rows, batch)
        options = {**COMMON, TABLE_TYPE: table_type, OPERATION: operation}
        judge.ask("write", location=str(home / "table"), batch=str(batch), options=options)
    _pack(judge, name, ["table"])


def _make_bootstrapped(judge: Judge, table_type: str) -> None:
    """Make a METADATA_ONLY bootstrap of two partitions, the partition column in the path only."""
    name = _name("bootstrapped", judge.version, table_type)
    home = _fresh(name)
    for day in ("2024-02-28", "2024-02-29"):
        folder = home / "source" / f"day={day}"
        folder.mkdir(parents=True)
        rows = _rows(0 if day.endswith("28") else 3, 3).drop_columns(["day"])
        pq.write_table(rows, folder / "part-0.parquet", store_schema=False)
    options = {**COMMON, **BOOTSTRAP, TABLE_TYPE: table_type}
    options["hoodie.bootstrap.base.path"] = str(home / "source")
    judge.ask("bootstrap", location=str(home / "table"), options=options)
    _pack(judge, name, ["table", "source"])


def _rows(first: int, count: int) -> pa.Table:
    """Return rows of a two-part key, a text, an ordering number and a day."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(list(ids), pa.int64()),
            "part": pa.array([number % 2 for number in ids], pa.int32()),
            "v": pa.array([f"v{number}-of-{count}" for number in ids]),
            "n": pa.array([count * 10 + number for number in ids], pa.int64()),
            "day": pa.array([f"2024-02-2{8 + number // 3 % 2}" for number in ids]),
        }
    )


def _name(kind: str, release: str, table_type: str) -> str:
    """Name a golden table."""
    return f"{kind}-{table_type.lower().replace('_', '-')}-{release}"


def _fresh(name: str) -> Path:
    """Return the empty fixed home of a table."""
    home = GOLDEN_HOME / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home


def _pack(judge: Judge, name: str, folders: Sequence[str]) -> None:
    """Write the archive and the facts of a table."""
    home = GOLDEN_HOME / name
    answer = judge.ask("read", location=str(home / "table"))
    facts = {"made_by": f"Apache Hudi {judge.version}", **answer}
    (HERE / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    with tarfile.open(HERE / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        for path in sorted(path for folder in folders for path in (home / folder).rglob("*")):
            if path.is_file() and not path.name.endswith(".crc"):
                _add(archive, path, path.relative_to(home).as_posix())
    sys.stderr.write(f"{name}: {(HERE / f'{name}.tar.xz').stat().st_size} bytes\n")


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add one file with no owner and its modification time, which an index has in milliseconds.

    Half of one is added: what unpacks it counts in floating-point seconds.
    """
    entry = tarfile.TarInfo(name)
    data = path.read_bytes()
    seconds, rest = divmod(path.stat().st_mtime_ns // 1_000_000, 1000)
    entry.size, entry.pax_headers = len(data), {"mtime": f"{seconds}.{rest:03}5"}
    archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()
