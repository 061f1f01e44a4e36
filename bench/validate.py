"""Wall time of `run-pipeline validate`, as in an editor or a commit hook.

Each sample is a new process, on a spec of the project; Python alone is shown for comparison.
The last line is one JSON object `{bench, ratios, targets, missed}`.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from contest import ROOT
from report import finish
from targets import VALIDATE_TARGETS

__all__ = ["main"]

SPEC = ROOT / "pipelines" / "flights.pipeline.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Cost of one process."""

    wall_s: float
    cpu_s: float


def main() -> int:
    """Run the bench; return 1 with `--check` if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--check", action="store_true", help="fail if a target is missed")
    options = parser.parse_args()
    command = ROOT / ".venv" / "bin" / "run-pipeline"
    costs = {
        ("validate", "Python alone"): _cost([sys.executable, "-c", ""], options.samples),
        ("validate", "validate"): _cost([str(command), "validate", str(SPEC)], options.samples),
    }
    for (_, row), cost in costs.items():
        print(f"{row:16} n={options.samples} wall {cost.wall_s:.3f} s  cpu {cost.cpu_s:.3f} s")
    ratios = {target.name: target.ratio(costs) for target in VALIDATE_TARGETS}
    missed = finish("validate", ratios, VALIDATE_TARGETS)
    return int(bool(missed) and options.check)


def _cost(command: list[str], samples: int) -> Sample:
    """Return the medians of the runs, after one that compiles bytecode."""
    found = [_one(command) for _ in range(samples + 1)][1:]
    return Sample(
        wall_s=statistics.median(each.wall_s for each in found),
        cpu_s=statistics.median(each.cpu_s for each in found),
    )


def _one(command: list[str]) -> Sample:
    """Run a command and return its cost."""
    before, begun = _cpu_of_children(), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Sample(wall_s=time.monotonic() - begun, cpu_s=_cpu_of_children() - before)


def _cpu_of_children() -> float:
    """Return CPU seconds of all exited children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
