"""Tables in an object store: Lakestrap, Apache Hudi on S3A and plain Spark, on one server.

Bootstraps many small files and lineitem, upserts a hundredth of lineitem's rows into the adopted
table, and scans it. All requests pass a proxy that counts them and adds a delay to each. Warm
sessions alternate; figures are medians of the runs, without one warm-up of each. Ratios are of wall
time. The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import obstore
from changes import changes_of
from contest import HERE, ROOT, read_options, start_side
from datasets import DataSet, prepare
from report import finish
from side_process import Side
from specs import keyed_table
from targets import LAKE_TARGETS
from write import hudi_options

sys.path.insert(0, str(ROOT))

from framework.hudi.storage.object_uri import parse_object_uri
from framework.hudi.storage.s3a_options import credential_options, place_options
from framework.hudi.storage.store_client import client_of
from framework.spark.object_stores import packages_for
from tests.support.s3_server import S3Server, free_port
from tests.support.versity import Versity, running_versity

__all__ = ["main"]

SETS = ("many", "lineitem", "upsert", "scan")
_S3A_OF_SPARK_3 = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.3.4"}
"""Of the release of Hadoop in PySpark 3.5."""
_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeCost:
    """Medians of one contender: seconds, and requests by kind and for each source file."""

    wall_s: float
    requests: Mapping[str, int]
    per_file: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """The store, the proxy before it, and a bucket."""

    versity: Versity
    proxy: S3Server
    bucket: str

    @property
    def location(self) -> str:
        """The bucket's location."""
        return f"s3a://{self.bucket}"

    def upload(self, name: str, files: Mapping[str, Path]) -> str:
        """Store files below a folder of the bucket; return its location."""
        client = client_of(parse_object_uri(self.location))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(
                pool.map(
                    lambda each: obstore.put(client, f"{name}/{each[0]}", each[1]), files.items()
                )
            )
        return f"{self.location}/{name}"

    def copy(self, source: str, target: str) -> str:
        """Copy a folder behind the server's back; return the location of the copy."""
        folder = self.versity.folder / "data" / self.bucket
        shutil.rmtree(folder / target, ignore_errors=True)
        shutil.copytree(folder / source, folder / target)
        return f"{self.location}/{target}"

    def remove(self, name: str) -> None:
        """Remove a folder behind the server's back."""
        shutil.rmtree(self.versity.folder / "data" / self.bucket / name, ignore_errors=True)

    def delay(self, ms: int) -> None:
        """Add a delay to each further request."""
        self._ask(f"delay?ms={ms}")

    def counts(self) -> dict[str, int]:
        """Return the requests since the last call, by kind."""
        found: dict[str, int] = json.loads(self._ask("counts"))
        return found

    def _ask(self, what: str) -> bytes:
        """Return the proxy's own answer."""
        connection = HTTPConnection("127.0.0.1", self.proxy.port, timeout=5)
        connection.request("GET", f"/-/{what}")
        found = connection.getresponse().read()
        connection.close()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One set: its name, the delay of requests, its source files, and the runs of each side."""

    name: str
    delay: int
    files: int
    runs: int

    @property
    def set(self) -> str:
        """The name in targets."""
        return f"{self.name}, +{self.delay} ms" if self.delay else self.name


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    costs: dict[tuple[str, str], LakeCost] = {}
    with _running_lake(options.work) as lake, ExitStack() as stack:
        sides = {
            name: stack.enter_context(start_side(name, options, conf=_conf(name, lake)))
            for name in ("ours", "hudi", "plain")
        }
        for delay in map(int, options.delays.split(",")):
            for name in options.sets.split(","):
                costs |= _SETS[name](sides, lake, delay, options)
    ratios = {t.name: t.ratio(costs) for t in LAKE_TARGETS if t.applies(costs, options.scale)}
    missed = finish("lake", ratios, LAKE_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--delays", default="0,20", help="milliseconds added to each request")
    parser.add_argument("--scale", type=int, default=1, help="TPC-H scale of lineitem")
    parser.add_argument("--runs", type=int, default=3, help="measured runs of each contender")
    parser.add_argument("--many-runs", type=int, default=1, help="the same for many files")
    parser.add_argument("--many", default="many", help="the set of many small files")
    parser.add_argument(
        "--many-delayed", default="groups-1000", help="the same for requests with a delay"
    )
    return read_options(parser)


@contextmanager
def _running_lake(work: Path) -> Iterator[Lake]:
    """Run the store and the proxy; this process and the sides reach the store through it."""
    work.mkdir(parents=True, exist_ok=True)
    program = work / "store_proxy"
    subprocess.run(["go", "build", "-o", program, HERE / "store_proxy.go"], check=True)
    with running_versity() as versity:
        bucket = versity.server.new_bucket()
        proxy = S3Server(port=free_port())
        process = subprocess.Popen([program, str(versity.server.port), str(proxy.port)])
        os.environ.update(proxy.environment)
        try:
            yield Lake(versity=versity, proxy=proxy, bucket=bucket)
        finally:
            process.terminate()
            process.wait(10)


def _conf(side: str, lake: Lake) -> str:
    """Return Spark's settings for S3A, as JSON."""
    settings = lake.proxy.settings
    found = {**place_options(settings), **credential_options(settings)}
    conf = {f"spark.hadoop.{name}": value for name, value in found.items()}
    packages = _S3A_OF_SPARK_3 if side == "hudi" else packages_for((lake.location,), {})
    conf["spark.hadoop.fs.s3a.directory.marker.retention"] = "keep"
    return json.dumps(conf | packages)


def _bootstraps(
    sides: Mapping[str, Side], lake: Lake, delay: int, options: argparse.Namespace, *, many: bool
) -> dict[tuple[str, str], LakeCost]:
    """Return the costs of bootstraps of a set of many files, or of lineitem."""
    kind = options.many_delayed if delay else options.many
    source = prepare(kind if many else "lineitem", scale=options.scale, data_dir=options.data)
    location = _stored(lake, source)
    tiny = prepare("tiny-100", scale=1, data_dir=options.data)
    warm = _stored(lake, tiny)
    runs = options.many_runs if many else options.runs

    def bootstrap(side: str, data: DataSet, place: str) -> float:
        lake.remove(f"targets/{side}")
        facts = {**data.facts(), "source": place}
        target = f"{lake.location}/targets/{side}"
        return sides[side].run("bootstrap", **facts, target=target, variant="bloom").wall_s

    def run(side: str) -> float:
        bootstrap(side, tiny, warm)  # Spark stops workers that idled for a minute
        lake.counts()
        return bootstrap(side, source, location)

    name = "many" if many else "lineitem"
    contest = Contest(name=name, delay=delay, files=len(source.files), runs=runs)
    return _measured(lake, contest, {side: partial(run, side) for side in ("ours", "hudi")})


def _upserts(
    sides: Mapping[str, Side], lake: Lake, delay: int, options: argparse.Namespace
) -> dict[tuple[str, str], LakeCost]:
    """Return the costs of upserts into copies of the adopted table."""
    source = prepare("lineitem", scale=options.scale, data_dir=options.data)
    document = _adopted(sides["ours"], lake, source)
    folder = changes_of(source, options.data)
    settings = hudi_options(source, "copy_on_write", "upsert")
    changes = lake.upload("changes", {path.name: path for path in folder.glob("*.parquet")})

    def run(side: str) -> float:
        target = lake.copy("base", f"targets/{side}")
        lake.counts()
        if side == "ours":
            table = {**document["table"], "location": target}
            load = {"source": {"path": changes}, "write": {"operation": "upsert"}}
            return sides[side].run("run", document={**document, "table": table, **load}).wall_s
        return sides[side].run("write", target=target, files=[changes], options=settings).wall_s

    contenders = {side: partial(run, side) for side in ("ours", "hudi")}
    contest = Contest(name="upsert", delay=delay, files=len(source.files), runs=1 + options.runs)
    return _measured(lake, contest, contenders)


def _scans(
    sides: Mapping[str, Side], lake: Lake, delay: int, options: argparse.Namespace
) -> dict[tuple[str, str], LakeCost]:
    """Return the costs of full scans: of the adopted table, and of its source by plain Spark."""
    source = prepare("lineitem", scale=options.scale, data_dir=options.data)
    _adopted(sides["ours"], lake, source)
    places = {"ours": f"{lake.location}/base", "plain": _stored(lake, source)}
    facts = {"name": "full-scan", "measure": source.measure, "keys": [], "where": "true"}

    def run(side: str) -> float:
        lake.counts()
        opened = sides[side].run("open", location=places[side], **facts).wall_s
        return opened + sides[side].run("query", name="full-scan").wall_s

    contenders = {side: partial(run, side) for side in ("ours", "plain")}
    contest = Contest(name="scan", delay=delay, files=len(source.files), runs=1 + options.runs)
    return _measured(lake, contest, contenders)


_SETS = {
    "many": partial(_bootstraps, many=True),
    "lineitem": partial(_bootstraps, many=False),
    "upsert": _upserts,
    "scan": _scans,
}


def _stored(lake: Lake, source: DataSet) -> str:
    """Store a data set where it is not stored yet; return its location."""
    if not (lake.versity.folder / "data" / lake.bucket / source.name).is_dir():
        lake.delay(0)
        files = {str(path.relative_to(source.path)): path for path in source.files}
        return lake.upload(source.name, files)
    return f"{lake.location}/{source.name}"


def _adopted(ours: Side, lake: Lake, source: DataSet) -> dict[str, Any]:
    """Adopt lineitem as `base` where it is not adopted yet; return the spec."""
    document = keyed_table(
        f"{lake.location}/base",
        "copy_on_write",
        keys=source.keys,
        partition=source.partition,
        partition_type=source.partition_type,
    )
    document["bootstrap"] = {"path": _stored(lake, source), "layout": "hive"}
    if not (lake.versity.folder / "data" / lake.bucket / "base").is_dir():
        lake.delay(0)
        ours.run("run", document=document)
    return document


def _measured(
    lake: Lake, contest: Contest, contenders: Mapping[str, Callable[[], float]]
) -> dict[tuple[str, str], LakeCost]:
    """Run the contenders in turns; return the medians, without the first run if there are more."""
    walls: dict[str, list[float]] = {side: [] for side in contenders}
    counts: dict[str, Mapping[str, int]] = {}
    for _ in range(contest.runs):
        for side, run in contenders.items():
            lake.delay(contest.delay)
            walls[side].append(run())
            counts[side] = lake.counts()
    found = {}
    for side, all_walls in walls.items():
        kept = all_walls[1:] or all_walls
        requests = counts[side]
        found[contest.set, side] = LakeCost(
            wall_s=statistics.median(kept),
            requests=requests,
            per_file=sum(requests.values()) / contest.files,
        )
        kinds = "  ".join(f"{kind} {number:,}" for kind, number in sorted(requests.items()))
        print(
            f"{contest.set:18} {side:6} n={len(kept)} wall {found[contest.set, side].wall_s:7.2f} s"
            f" [{min(kept):.2f}-{max(kept):.2f}]  requests a file"
            f" {found[contest.set, side].per_file:6.2f}  {kinds}",
            flush=True,
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
