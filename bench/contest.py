"""What the benches share: where things are, and how a side is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from side_process import Side

if TYPE_CHECKING:
    import argparse

__all__ = ["HERE", "JUDGE", "ROOT", "start_side"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
JUDGE = ROOT / ".venv-judge"
BUNDLE = "org.apache.hudi_hudi-spark3.5-bundle_2.12-1.2.0.jar"


def start_side(name: str, options: argparse.Namespace) -> Side:
    """Return the worker of one side, to be entered; Apache Hudi always runs on Spark 3.5."""
    jar = _bundle() if name == "hudi" else ""
    settings = {
        "cores": options.cores,
        "memory": options.memory,
        "work_dir": str(options.work / name),
        "jar": jar,
    }
    return Side(name, JUDGE if name == "hudi" else options.ours, settings)


def _bundle() -> str:
    """Return Apache Hudi's bundle, fetched as the judge fetches it where it is missing."""
    jar = JUDGE / "ivy" / "jars" / BUNDLE
    if not jar.is_file():
        script = ROOT / "tests" / "interop" / "fetch_judge.py"
        subprocess.run([str(JUDGE / "bin" / "python"), str(script)], check=True, stdout=sys.stderr)
    return str(jar)
