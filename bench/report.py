"""Rows, bounds and the final JSON line of the benches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Target",
    "finish",
    "print_row",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on a ratio, at least `least` or at most `most`: the rival's measure over ours.

    Without a rival, ours over `divisor`; with `surplus`, ours minus the rival's.
    """

    name: str
    set: str
    ours: str
    rival: str | None = None
    measure: str = "cpu_s"
    least: float | None = None
    most: float | None = None
    scale: int | None = None
    divisor: float = 1.0
    surplus: bool = False

    def applies(self, costs: Mapping[tuple[str, str], Any], scale: int) -> bool:
        """Return whether this run measured the target's rows."""
        needed = [self.ours, *([self.rival] if self.rival else [])]
        at_scale = self.scale is None or (self.scale == 1) == (scale == 1)
        return at_scale and all((self.set, row) in costs for row in needed)

    def ratio(self, costs: Mapping[tuple[str, str], Any]) -> float:
        """Return the compared value: a ratio, a surplus, or ours over the divisor."""
        ours = float(getattr(costs[self.set, self.ours], self.measure))
        if self.rival is None:
            return round(ours / self.divisor, 3)
        rival = float(getattr(costs[self.set, self.rival], self.measure))
        return round(ours - rival, 3) if self.surplus else round(rival / ours, 2)

    def missed(self, ratio: float) -> bool:
        """Return whether a measured ratio misses this target."""
        low = self.least is not None and ratio < self.least
        return low or (self.most is not None and ratio > self.most)


def print_row(data: str, row: str, samples: Sequence[Any], cost: Any) -> None:
    """Print one contender's medians, with the spread of the wall time."""
    walls = [measured.wall_s for measured, _, _ in samples]
    print(
        f"{data:14} {row:16} n={len(samples)} wall {cost.wall_s:7.2f} s "
        f"[{min(walls):.2f}-{max(walls):.2f}]  cpu {cost.cpu_s:7.2f} s  "
        f"peak {cost.peak_mb:6.0f} MB  parquet {cost.parquet_bytes / 1e6:8.2f} MB  "
        f"all {cost.bytes_written / 1e6:8.2f} MB",
        flush=True,
    )


def finish(bench: str, ratios: Mapping[str, float], targets: Sequence[Target]) -> list[str]:
    """Print each ratio with its target, then the JSON line; return the missed targets."""
    known = {target.name: target for target in targets if target.name in ratios}
    missed = [name for name, target in known.items() if target.missed(ratios[name])]
    for name, target in known.items():
        bar = f">= {target.least}" if target.least is not None else f"<= {target.most}"
        verdict = "MISSED" if name in missed else "met"
        print(f"{name:48} {ratios[name]:8.2f}  target {bar:8} {verdict}")
    bars = {
        name: target.most if target.least is None else target.least
        for name, target in known.items()
    }
    print(json.dumps({"bench": bench, "ratios": ratios, "targets": bars, "missed": missed}))
    return missed
