"""Paths and command-line options of the benches, and the start of a side."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from side_process import Side

__all__ = ["HERE", "JUDGE", "ROOT", "read_options", "start_side"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
JUDGE = ROOT / ".venv-judge"
ENGINES = ROOT / ".venv-rivals"
HUDI = "org.apache.hudi_hudi-spark3.5-bundle_2.12-1.2.0.jar"
RIVALS = {
    "hudi": HUDI,
    "timeline_hudi": HUDI,
    "iceberg": "org.apache.iceberg_iceberg-spark-runtime-3.5_2.12-1.10.0.jar",
}
"""Sides that need a jar; they always run on Spark 3.5."""
WITHOUT_SPARK = frozenset({"duckdb", "polars"})
"""Sides with a separate environment, without Spark."""


def read_options(
    parser: argparse.ArgumentParser, ours: Path = ROOT / ".venv"
) -> argparse.Namespace:
    """Parse the command line, with the common options of all contests.

    Args:
        parser: has the bench's own options.
        ours: default environment of our side.
    """
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--work", type=Path, default=HERE / "data" / "work")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--memory", default="4g", help="memory of each Spark driver, or each JVM")
    parser.add_argument("--ours", type=Path, default=ours, help="our environment")
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    options.work, options.data = options.work.resolve(), options.data.resolve()
    return options


def start_side(name: str, options: argparse.Namespace, *, conf: str = "") -> Side:
    """Return the worker of one side, a context manager; `conf` is more of Spark's, as JSON."""
    settings = {
        "cores": options.cores,
        "memory": options.memory,
        "work_dir": str(options.work / name),
        "jar": _jar(RIVALS[name]) if name in RIVALS else "",
        "conf": conf,
    }
    return Side(name, _environment(name, options.ours), settings)


def _environment(name: str, ours: Path) -> Path:
    if name in WITHOUT_SPARK:
        return ENGINES
    return JUDGE if name in RIVALS else ours


def _jar(name: str) -> str:
    """Return a rival's jar, downloading it like the judge's if it is missing."""
    jar = JUDGE / "ivy" / "jars" / name
    if not jar.is_file():
        script = ROOT / "tests" / "interop" / "fetch_judge.py"
        command = [str(JUDGE / "bin" / "python"), str(script), "--rivals"]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return str(jar)
