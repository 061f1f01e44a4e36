"""The targets of each bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from report import Target

__all__ = [
    "AUDIT_TARGETS",
    "BOOTSTRAP_TARGETS",
    "HUGE_TARGETS",
    "INDEX_TARGETS",
    "KEY_TARGETS",
    "LAKE_TARGETS",
    "READ_TARGETS",
    "SCALE_TARGETS",
    "SERVICE_TARGETS",
    "TIMELINE_TARGETS",
    "VALIDATE_TARGETS",
    "WRITE_TARGETS",
]


def _pair(name: str, data: str, rows: str, least: float, **more: Any) -> Target:
    """Return a target that compares two rows, given as `ours/rival`."""
    ours, _, rival = rows.partition("/")
    return Target(name=name, set=data, ours=ours, rival=rival, least=least, **more)


BOOTSTRAP_TARGETS: Sequence[Target] = (
    _pair("lineitem SF1, bloom", "lineitem", "ours-bloom/hudi-bloom", 2.5, scale=1),
    _pair("lineitem SF5, bloom", "lineitem", "ours-bloom/hudi-bloom", 3.5, scale=5),
    _pair("lineitem, no bloom", "lineitem", "ours-none/hudi-none", 3.0),
    _pair("lineitem, defaults", "lineitem", "ours-default/hudi-default", 4.0),
    _pair("lineitem, plain rewrite", "lineitem", "ours-default/plain", 3.0),
    _pair("wide, bloom", "wide", "ours-bloom/hudi-bloom", 2.5),
    _pair("wide, no bloom", "wide", "ours-none/hudi-none", 3.0),
    _pair("wide, defaults", "wide", "ours-default/hudi-default", 4.0),
    _pair("wide, plain rewrite", "wide", "ours-default/plain", 8.0),
    _pair("many files, CPU", "many", "ours-bloom/hudi-bloom", 4.0),
    _pair("many files, wall", "many", "ours-bloom/hudi-bloom", 8.0, measure="wall_s"),
    *(
        Target(
            name=f"{data}, {row}: estimated core-seconds, times above or below",
            set=data,
            ours=f"ours-{row}",
            measure="misjudged",
            most=2.0,
        )
        for data, row in (
            ("lineitem", "bloom"),
            ("lineitem", "none"),
            ("lineitem", "full"),
            ("wide", "none"),
            ("many", "bloom"),
        )
    ),
    Target(
        name="lineitem SF1, bytes per record without bloom",
        set="lineitem",
        ours="ours-none",
        measure="parquet_bytes",
        divisor=6_001_215,
        most=2.0,
        scale=1,
    ),
)


def _within(query: str, most: float, *, plain: str | None = None) -> Target:
    """Return a target on ours over plain Spark, on lineitem."""
    return Target(
        name=f"lineitem, {query}: ours / plain Spark",
        set="lineitem",
        ours=f"plain {plain or query}",
        rival=f"ours {query}",
        most=most,
    )


def _at_most(name: str, data: str, row: str, measure: str, most: float) -> Target:
    """Return a target on one measure of one row."""
    return Target(name=name, set=data, ours=row, measure=measure, most=most)


def _planning(data: str, most: float) -> Target:
    """Return a target on our seconds of planning."""
    return _at_most(f"{data}, seconds of planning", data, "ours plan", "planning_s", most)


READ_TARGETS: Sequence[Target] = (
    _within("filtered-sum", 1.1),
    _within("full-scan", 1.1),
    _within("point", 1.1),
    _within("full-scan-meta", 2.0, plain="full-scan"),
    _pair(
        "lineitem, full-scan-meta: Apache Hudi / ours",
        "lineitem",
        "ours full-scan-meta/hudi full-scan-meta",
        2.0,
    ),
    Target(
        name="lineitem, seconds of planning beyond plain Spark's",
        set="lineitem",
        ours="ours plan",
        rival="plain plan",
        measure="planning_s",
        most=0.2,
        surplus=True,
    ),
    _planning("tiny-100", 0.2),
    _planning("tiny-10000", 1.5),
    _planning("tiny-100000", 10.0),
)


SCALE_TARGETS: Sequence[Target] = (
    Target(
        name="driver memory at 100,000 files over that at 1,000",
        set="scale",
        ours="tiny-1000",
        rival="tiny-100000",
        measure="driver_mb",
        most=1.2,
    ),
)


HUGE_TARGETS: Sequence[Target] = (
    _at_most("upsert into one partition: MB of a task", "huge", "upsert", "task_mb", 1_000),
)


KEY_TARGETS: Sequence[Target] = (
    _at_most("automatic keys, bytes of 100,000", "keys", "ours", "packed", 3_500),
    _at_most("automatic keys, ns to make and write one", "keys", "ours", "ns", 50),
)


INDEX_TARGETS: Sequence[Target] = (
    _at_most("bootstrap index, bytes per file", "index", "ours", "bytes_per_file", 160),
    _at_most("bootstrap index, seconds of the driver", "index", "ours", "join_s", 1.0),
    _at_most("bootstrap index, ms to open", "index", "ours", "open_ms", 50),
    _at_most("bootstrap index, ms to look up a partition", "index", "ours", "partition_ms", 10),
    _at_most("bootstrap index, ms to look up a file", "index", "ours", "file_ms", 10),
)


VALIDATE_TARGETS: Sequence[Target] = (
    _at_most("validate, seconds of wall time", "validate", "validate", "wall_s", 0.5),
)


def _faster(name: str, least: float) -> Target:
    """Return a target on Apache Hudi's wall time over ours."""
    return _pair(f"{name}: wall time", name, "ours/hudi", least, measure="wall_s")


_CHANGED = ("adopted-cow", "adopted-mor", "ordinary-cow", "ordinary-mor")
_OTHERS = (*_CHANGED[1:], "bulk")

WRITE_TARGETS: Sequence[Target] = (
    _faster("adopted-cow", 7.0),
    _faster("adopted-mor", 4.0),
    _faster("ordinary-cow", 5.0),
    _faster("ordinary-mor", 4.0),
    _faster("bulk", 1.5),
    *(
        _pair(f"{name}: wall time of Iceberg", name, "ours/iceberg", least, measure="wall_s")
        for name, least in (("adopted-cow", 4.0), *((other, 1.0) for other in _OTHERS))
    ),
    *(
        _pair(f"{name}: bytes written", name, "ours/hudi", 1.0, measure="bytes_written")
        for name in (*_CHANGED, "bulk")
    ),
    *(
        _pair(f"{name}: {query}", name, f"ours {query}/hudi {query}", 1.0, measure="wall_s")
        for name in (*_CHANGED, "bulk")
        for query in ("filtered-sum", "full-scan", "changes")
    ),
)


def _later(name: str, data: str, rows: str, most: float, measure: str) -> Target:
    """Return a target on a measure later over that of earlier, rows given as `later/earlier`."""
    later, _, earlier = rows.partition("/")
    return Target(name=name, set=data, ours=earlier, rival=later, most=most, measure=measure)


SERVICE_TARGETS: Sequence[Target] = (
    _faster("compaction", 3.0),
    _faster("clustering", 2.0),
    _faster("cleaning", 10.0),
    _at_most("cleaning: listings to plan", "cleaning", "ours", "listings", 0),
    *(
        _later(f"{name}: {what}", f"daily {name}", rows, most, measure)
        for name in ("copy_on_write", "merge_on_read")
        for what, rows, most, measure in (
            ("load of day 30 over day 2", "day 30/day 2", 1.3, "load_s"),
            ("read on day 30 over day 2", "day 30/day 2", 1.3, "read_s"),
            ("files on day 30 over day 15", "day 30/day 15", 1.1, "files"),
        )
    ),
    _later("load after 10,000 loads and 10^6 files over 10", "past", "long/short", 1.2, "load_s"),
    _later("open a timeline of 10,000 over 100", "open", "long/short", 1.2, "open_ms"),
)


def _in_a_lake(name: str, rows: str, least: float) -> Iterator[Target]:
    """Yield the targets on a set without and with a delay of each request."""
    for data in (name, f"{name}, +20 ms"):
        yield _pair(f"{data}: wall time", data, rows, least, measure="wall_s")


LAKE_TARGETS: Sequence[Target] = (
    *_in_a_lake("many", "ours/hudi", 8.0),
    *_in_a_lake("lineitem", "ours/hudi", 4.0),
    *_in_a_lake("upsert", "ours/hudi", 4.0),
    *(
        Target(
            name=f"{data}: ours / plain Spark",
            set=data,
            ours="plain",
            rival="ours",
            measure="wall_s",
            most=1.1,
        )
        for data in ("scan", "scan, +20 ms")
    ),
)


AUDIT_TARGETS: Mapping[str, Sequence[Target]] = {
    "uniqueness": (
        *(
            _pair(
                f"{arranged} files: wall time of Spark's groupBy",
                arranged,
                "ours/groupby",
                least,
                measure="wall_s",
                scale=5,
            )
            for arranged, least in (("shuffled", 6.0), ("ordered", 20.0))
        ),
        Target(
            name="memory of a task at SF5 over that at SF1",
            set="memory",
            ours="sf1",
            rival="sf5",
            measure="task_mb",
            most=1.3,
        ),
        _at_most("planted duplicates: cases told wrongly", "planted", "ours", "wrong", 0),
    ),
    "checks": (
        Target(
            name="ten checks on a bulk insert: wall time over that without",
            set="bulk insert",
            ours="plain",
            rival="checked",
            measure="wall_s",
            most=1.15,
        ),
        _at_most("planted bad rows: checks that missed some", "planted rows", "ours", "wrong", 0),
    ),
}
"""Targets by part of `bench/audit.py`."""


def _share(name: str, part: str, row: str, rival: str, **more: Any) -> Target:
    """Return a target on the second row's measure over the first's."""
    return Target(name=name, set=part, ours=rival, rival=row, **more)


_LOOK_UPS = ("1 free", "1 one core", "1 two cores", "8 free", "32 free")
"""Connections, and the placement of server and client."""
TIMELINE_TARGETS: Sequence[Target] = (
    *(
        _pair(
            f"touch, {number}: seconds",
            "touch",
            f"ours {number}/hudi {number}",
            5.0,
            measure="seconds",
        )
        for number in (1, 8, 32)
    ),
    *(
        _share(
            f"look-ups, {row}: a second",
            "lookups",
            f"ours {row}",
            f"hudi {row}",
            measure="rate",
            least=1.0,
        )
        for row in _LOOK_UPS
    ),
    *(
        _pair(
            f"look-ups, {row}: p99",
            "lookups",
            f"ours {row}/hudi {row}",
            1.0,
            measure="p99_us",
        )
        for row in _LOOK_UPS
    ),
    _share("batches: groups a second", "batches", "ours", "hudi", measure="rate", least=5.0),
    _pair("resident memory in memory", "memory", "ours/hudi", 4.0, measure="loaded_mb"),
    _at_most("spillable: resident of the bound", "stores", "ours spillable", "of_bound", 1.2),
    _at_most("embedded_kv: p99 in us", "stores", "ours embedded_kv", "p99_us", 1_000),
    _share(
        "sync: first answer, large table over small",
        "sync",
        "ours large",
        "ours small",
        measure="first_ms",
        most=1.5,
    ),
    *(
        _share(
            f"markers, {number}: a second",
            "markers",
            f"ours {number}",
            f"hudi {number}",
            measure="rate",
            least=1.0,
        )
        for number in (1, 8, 32)
    ),
    *(
        _at_most(f"attacked {attack}: {name}", "attacked", attack, measure, most)
        for attack in ("without a token", "with a token")
        for name, measure, most in (("p99 in ms", "p99_ms", 50), ("MB more", "added_mb", 32))
    ),
)
"""A number in a row's name is its number of connections; `touch` runs on free cores."""
