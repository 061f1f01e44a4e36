"""Runs a spec twice and reads its table each time, on a Spark of its own with Hadoop's S3A.

`python -m tests.support.store_session SPEC TABLE` prints the rows of both times as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from framework.spark import read, run
from framework.spark.object_stores import packages_for
from framework.spark.session import open_session
from framework.vocabulary import Verify

__all__ = ["main"]


def main(spec: str, table: str) -> None:
    """Run, read, run, read."""
    conf = {"spark.sql.shuffle.partitions": "2", **packages_for(("s3a://any",), {})}
    found: list[list[list[Any]]] = []
    with open_session(master="local[2]", conf=conf) as session:
        for _ in range(2):
            run(session.spark, spec)
            rows = read(session.spark, table, verify=Verify.FULL).collect()
            found.append(sorted([r.id, r.v, r.p, r["_hoodie_record_key"]] for r in rows))
        shown = session.spark.sparkContext.getConf().getAll()
    sys.stdout.write(json.dumps({"rows": found, "settings": dict(shown)}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
