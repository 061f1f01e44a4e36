"""Make the golden archives of every action: instants as files, and as Apache Hudi archived them.

Run from the repository's root in the judge's environment:
`.venv-judge/bin/python -m tests.golden.archived_services.make_archived_services`.
Each archive holds, of one table, `before`: the files of the timeline before the write that
archived them, with their times; and `after`: the archive files that this write made.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.interop.differences import RELEASES
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.support.orders import Shop

__all__ = ["main"]

HERE = Path(__file__).resolve().parent
KEPT = {
    "hoodie.archive.automatic": "false",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
    "hoodie.rollback.using.markers": "false",
}
ARCHIVING = {
    **KEPT,
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
ROLLBACKS = 4
"""More than Apache Hudi keeps when it archives here."""
OVERWRITE = {"hoodie.datasource.write.operation": "insert_overwrite"}
CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


class Table:
    """A table of ours that Apache Hudi goes on writing to."""

    def __init__(self, judge: Judge, folder: Path, kind: str) -> None:
        self.judge = judge
        self.shop = Shop(folder, kind)
        self.shop.lands("one", ("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1))
        self.shop.lands("two", ("a", "d1", 2), ("d", "d3", 2))
        self.writes = 0

    def write(self, *days: str, **options: str) -> None:
        """Let Apache Hudi write one row to each of some days."""
        self.writes += 1
        batch = self.shop.folder / f"batch-{self.writes}.parquet"
        rows = {"id": [f"x{day}" for day in days], "day": list(days)}
        values = pa.array([self.writes] * len(days), pa.int64())
        pq.write_table(pa.table({**rows, "v": values}), batch)
        every: Mapping[str, str] = {**printed_options(self.shop.location), **options}
        self.judge.upsert(self.shop.location, batch, every)

    def fail(self) -> None:
        """Take the newest commit's completed file away; the next write rolls the commit back."""
        newest = max((self.shop.location / ".hoodie").glob("*commit"), key=lambda path: path.name)
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def written(judge: Judge, folder: Path, kind: str) -> Table:
    """Return a table with instants of every action that is archived."""
    table = Table(judge, folder, kind)
    own = COMPACT if kind == "merge_on_read" else {}
    table.write("d1", "d2", **KEPT)
    table.write("d1", "d2", **KEPT, **own)
    for _ in range(ROLLBACKS):
        table.write("d1", **KEPT)
        table.fail()
    table.write("d2", **KEPT, **OVERWRITE)
    if kind == "copy_on_write":
        table.write("d1", "d4", **KEPT, **CLUSTER)
    for _ in range(3):
        table.write("d1", "d2", "d3", "d4", **KEPT, **own)
    return table


def main() -> None:
    """Make one archive for each release and table type."""
    for release in RELEASES:
        with (
            tempfile.TemporaryDirectory() as work,
            Judge(release, Path(work) / "judge") as judge,
        ):
            for kind in ("copy_on_write", "merge_on_read"):
                folder = Path(work) / kind
                folder.mkdir()
                _pack(written(judge, folder, kind), HERE / f"{kind}-{release}.tar.xz")


def _pack(table: Table, target: Path) -> None:
    """Keep the timeline's files, archive them, and keep the archive files."""
    hoodie = table.shop.location / ".hoodie"
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(hoodie.iterdir()):
            if path.is_file() and not path.name.endswith(".crc"):
                archive.add(path, f"before/{path.name}", filter=_plain)
        for _ in range(3):
            table.write("d1", **ARCHIVING)
        for path in sorted((hoodie / "archived").iterdir()):
            if not path.name.endswith(".crc"):
                archive.add(path, f"after/{path.name}", filter=_plain)
    sys.stderr.write(f"{target.name}: {target.stat().st_size} bytes\n")


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out owners."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
