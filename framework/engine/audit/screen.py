"""Exclusion of rows before anything is written: those of checks that quarantine or drop.

A query engine finds the places of bad rows, once for all checks. The writing tasks get the
excluded rows of each file as a list; the gate checks the written files nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.audit.subject import Checker, InputRows, QuarantineWork
from framework.engine.quarantine.record import with_places
from framework.engine.tasks import decode, encode
from framework.errors import AuditFailedError, CorruptFileError, Where
from framework.hudi.commit.created import create_whole, read_bytes
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join, name_of, parent_of
from framework.plan.quality.model import Check, Quality
from framework.vocabulary import OnFail

Duplicates = Callable[[Mapping[int, "ExcludedRows"]], pa.Table]

__all__ = [
    "DUPLICATE",
    "NOTHING",
    "ExcludedRows",
    "ScreenPlace",
    "Screened",
    "excluded_rows",
    "screen",
]

DUPLICATE: Final = "duplicate-key"
"""The rule of rows that lost to another row with their key."""

_FOUND: Final = "screening.json"
_BAD, _GONE, _EARLY, _POSITIONS = "bad", "gone", "early", "quarantined.parquet"
_PLACES: Final = pa.schema([("number", pa.int64()), ("row", pa.int64()), ("mask", pa.int64())])
_ORDER: Final = [("number", "ascending"), ("row", "ascending")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedRows:
    """Rows of one file that are not written: the path of their places, and their number."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """The result of a screening.

    Attributes:
        quarantined: number of quarantined rows.
        dropped: number of dropped rows.
        by_rule: bad rows by check; one row may be bad by several.
        looked: rows that each check covered.
        gone: the excluded rows of each file that has any, by its number.
        quarantine: absolute folder of the quarantined rows; "" if there are none.
    """

    quarantined: int = 0
    dropped: int = 0
    by_rule: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    looked: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    gone: Mapping[int, ExcludedRows] = field(default_factory=lambda: MappingProxyType({}))
    quarantine: str = ""

    @property
    def rows(self) -> int:
        """Number of excluded rows."""
        return self.quarantined + self.dropped


NOTHING: Final = Screened()
"""No rows were excluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPlace:
    """The locations and the input of a screening.

    Attributes:
        storage: the table's.
        folder: this run's folder in it; local, and visible to every task.
        quarantine: absolute folder to create for the quarantined rows.
        run_id: the run.
        instant: its instant.
        total: number of input rows.
        origins: the name of each numbered file, for reports.
        has_places: whether the files themselves record where each row came from, as
            quarantined rows do.
    """

    storage: Storage
    folder: str
    quarantine: str
    run_id: str
    instant: str
    total: int
    origins: Mapping[int, str]
    has_places: bool = False


def screen(
    checker: Checker,
    rows: InputRows,
    quality: Quality,
    place: ScreenPlace,
    duplicates: Duplicates | None = None,
) -> Screened:
    """Find the rows to exclude, quarantine those of quarantining checks, and return the result.

    `duplicates` returns the rows that lose to others, given the rows excluded so far; they are
    quarantined by the rule `DUPLICATE`.

    A resumed run gets the result that was recorded before. Holds 24 bytes per bad row.

    Raises:
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`.
        TaskError: `audit/check-not-run`.
    """
    storage, record = place.storage, join(place.folder, _FOUND)
    if storage.stat(record) is not None:
        return _read(storage, record)
    storage.delete(place.folder)
    rules = _Rules.of(quality.splitting, keeps_one=duplicates is not None)
    places = _PLACES.empty_table()
    looked = {each.name: place.total for each in quality.splitting}
    if quality.splitting:
        bad = join(place.folder, _BAD)
        looked |= checker.find_bad(rows, quality.splitting, f"{storage.location}/{bad}")
        places = _places(storage, bad)
    if duplicates is not None:
        places = _joined(places, duplicates(dict(_write_gone(places, place, _EARLY))), rules)
    found = replace(_screened(rules, places, place), looked=looked)
    _refuse(quality, found, place)
    if found.quarantined:
        _quarantine(checker, rows, rules, places, place)
    _write(storage, record, found)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """Names of rules by their bits, and the bits of those that quarantine rows."""

    names: tuple[str, ...]
    quarantining: int

    @classmethod
    def of(cls, checks: Sequence[Check], *, keeps_one: bool) -> _Rules:
        """Return the rules of some checks, and that of duplicates."""
        bits = [each.on_fail is OnFail.QUARANTINE for each in checks]
        names = [each.name for each in checks]
        if keeps_one:
            bits, names = [*bits, True], [*names, DUPLICATE]
        return cls(names=tuple(names), quarantining=sum(b << at for at, b in enumerate(bits)))


def excluded_rows(storage: Storage, path: str) -> np.ndarray:
    """Return the places of one file's excluded rows, ascending; none for ""."""
    if not path:
        return np.empty(0, np.int64)
    return np.frombuffer(read_bytes(storage, path), np.int64)


def _places(storage: Storage, folder: str) -> pa.Table:
    """Return the bad rows by file and row."""
    tables = []
    for entry in storage.list(folder):
        if entry.name.endswith(".parquet"):
            with storage.open_input(entry.path) as file:
                tables.append(
                    pq.read_table(file, columns=_PLACES.names, page_checksum_verification=True)
                )
    whole = pa.concat_tables([_PLACES.empty_table(), *(each.cast(_PLACES) for each in tables)])
    return whole.sort_by(_ORDER)


def _joined(places: pa.Table, losers: pa.Table, rules: _Rules) -> pa.Table:
    """Return the places with those of losing duplicates, which are other rows."""
    bit = pa.scalar(1 << rules.names.index(DUPLICATE), pa.int64())
    more = losers.append_column("mask", pa.repeat(bit, losers.num_rows)).cast(_PLACES)
    return pa.concat_tables([places, more]).sort_by(_ORDER)


def _screened(rules: _Rules, places: pa.Table, place: ScreenPlace) -> Screened:
    """Write each file's places; return the result."""
    masks = places["mask"].to_numpy()
    quarantined = int(np.count_nonzero(masks & rules.quarantining))
    by_rule = {
        name: int(np.count_nonzero(masks & (1 << bit))) for bit, name in enumerate(rules.names)
    }
    return Screened(
        quarantined=quarantined,
        dropped=masks.size - quarantined,
        by_rule=by_rule,
        gone=dict(_write_gone(places, place, _GONE)),
        quarantine=place.quarantine if quarantined else "",
    )


def _write_gone(
    places: pa.Table, place: ScreenPlace, folder: str
) -> Iterator[tuple[int, ExcludedRows]]:
    """Write the places of each file's excluded rows; yield its number and their path."""
    numbers, rows = places["number"].to_numpy(), places["row"].to_numpy()
    different, starts = np.unique(numbers, return_index=True)
    ends = np.append(starts, numbers.size)[1:]
    for number, start, end in zip(different.tolist(), starts.tolist(), ends.tolist(), strict=True):
        path = join(place.folder, folder, str(number))
        with place.storage.create(path, durable=False) as out:
            out.write(np.ascontiguousarray(rows[start:end]).tobytes())
        yield number, ExcludedRows(path=path, rows=end - start)


def _refuse(quality: Quality, found: Screened, place: ScreenPlace) -> None:
    """Raise if more rows would be excluded than the spec allows."""
    for check in quality.splitting:
        failed, looked = found.by_rule[check.name], found.looked[check.name]
        bounded = check.budget.rows or check.budget.share is not None
        if bounded and not check.budget.allows(failed, looked):
            raise _refusal(
                "over-budget",
                f"`{check.name}` would exclude {failed:,} of {looked:,} rows,"
                f" more than `max_failed: {check.budget}`",
                found,
                place,
                name=check.name,
            )
    if place.total and found.rows / place.total > quality.max_ratio:
        raise _refusal(
            "too-many-set-aside",
            f"{found.rows:,} of {place.total:,} rows would be quarantined or dropped,"
            f" more than `max_ratio: {quality.max_ratio:g}`",
            found,
            place,
        )


def _refusal(
    condition: str, message: str, found: Screened, place: ScreenPlace, *, name: str = ""
) -> AuditFailedError:
    """Return the error of a screening that excludes too much; `name` is the check's."""
    return AuditFailedError(
        f"audit/{condition}",
        message,
        report={
            "check": condition,
            **({"name": name} if name else {}),
            "rows": place.total,
            "quarantined": found.quarantined,
            "dropped": found.dropped,
            "by_rule": dict(found.by_rule),
        },
        where=Where(table=place.storage.location),
        remedy="Nothing was published. Check the source, or the checks that fail.",
    )


def _quarantine(
    checker: Checker,
    rows: InputRows,
    rules: _Rules,
    places: pa.Table,
    place: ScreenPlace,
) -> None:
    chosen = (places["mask"].to_numpy() & rules.quarantining) != 0
    places = places.filter(pa.array(chosen))
    if place.has_places:
        places = with_places(places, dict(zip(rows.numbers, rows.paths, strict=True)))
    positions = join(place.folder, _POSITIONS)
    with place.storage.create(positions) as out:
        pq.write_table(places, out, write_page_checksum=True)
    storage = open_storage(parent_of(place.quarantine))
    storage.delete(name_of(place.quarantine))  # may be partial, from an earlier process of the run
    checker.quarantine(
        rows,
        QuarantineWork(
            positions=f"{place.storage.location}/{positions}",
            rules=rules.names,
            folder=place.quarantine,
            run_id=place.run_id,
            instant=place.instant,
            origins=place.origins,
        ),
    )


def _write(storage: Storage, path: str, found: Screened) -> None:
    """Write the result; the name never belongs to a partial file."""
    create_whole(storage, path, f"{path}.new", encode(found).encode())


def _read(storage: Storage, path: str) -> Screened:
    """Return the result of an earlier process of the run."""
    try:
        return decode(Screened, read_bytes(storage, path).decode())
    except ValueError as error:
        raise CorruptFileError(
            "audit/screening-not-readable",
            "what an earlier process of this run quarantined cannot be read",
            where=Where(file=path),
            remedy="Run again with --fresh.",
        ) from error
