"""Make the golden archives: timelines of tables of ours that Apache Hudi went on writing to.

Run from the repository's root in the judge's environment:
`.venv-judge/bin/python -m tests.golden.archives.make_archives`.
Each archive holds `.hoodie` of a table that we adopted and loaded into once, with the run id
`monday`, and whose commits of ours Apache Hudi then archived; `skipped` is `day=d3`.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

from tests.interop.differences import RELEASES
from tests.interop.judge import Judge
from tests.interop.test_judge_archives import archived_table

__all__ = ["main"]

HERE = Path(__file__).resolve().parent


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
                _, location = archived_table(judge, folder, kind)
                target = HERE / f"{kind}-{release}.tar.xz"
                with tarfile.open(target, "w:xz", preset=9) as archive:
                    archive.add(location / ".hoodie", ".hoodie", filter=_plain)
                sys.stderr.write(f"{target.name}: {target.stat().st_size} bytes\n")


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out checksums of Java, and owners."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return None if entry.name.endswith(".crc") else entry


if __name__ == "__main__":
    main()
