"""Driver memory by number of files, and Apache Hudi's cost of opening a very large table.

Each size runs in a new session. The driver's peak is that of its Python process; the JVM's is shown
beside it. `--large` adopts that many files once and opens the table with Apache Hudi.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from contest import read_options, start_side
from datasets import DataSet, prepare
from report import finish
from side_process import Measured
from targets import SCALE_TARGETS

__all__ = ["main"]


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    options = _options()
    sizes = [*options.sizes.split(","), *([options.large] if options.large else [])]
    costs: dict[tuple[str, str], Measured] = {}
    for size in sizes:
        source = prepare(f"tiny-{size}", scale=1, data_dir=options.data)
        table = options.work / "targets" / source.name
        costs["scale", source.name] = _adopt(source, table, options)
        if size == options.large:
            _open(source, table, options)
    ratios = {t.name: t.ratio(costs) for t in SCALE_TARGETS if t.applies(costs, 1)}
    missed = finish("scale", ratios, SCALE_TARGETS)
    return int(bool(missed) and options.check)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,100000", help="comma-separated numbers of files")
    parser.add_argument("--large", default="", help="a number of files to adopt and open once")
    return read_options(parser)


def _adopt(source: DataSet, table: Path, options: argparse.Namespace) -> Measured:
    """Adopt a source in a new session and print the cost."""
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    with start_side("ours", options) as side:
        measured = side.run("bootstrap", **source.facts(), target=str(table), variant="none")
    _print(source.name, "adopt", measured)
    return measured


def _open(source: DataSet, table: Path, options: argparse.Namespace) -> None:
    """Open an adopted table with Apache Hudi and count its rows, in a new session."""
    with start_side("hudi", options) as side:
        facts = {"name": "count", "measure": source.measure, "keys": [], "where": ""}
        _print(source.name, "Hudi opens", side.run("open", location=str(table), **facts))
        _print(source.name, "Hudi counts", side.run("query", name="count"))


def _print(name: str, what: str, measured: Measured) -> None:
    print(
        f"{name:14} {what:10} wall {measured.wall_s:8.2f} s  cpu {measured.cpu_s:8.2f} s  "
        f"driver {measured.driver_mb:6.0f} MB  JVM {measured.jvm_mb:6.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
