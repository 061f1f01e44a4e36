"""Checks of `run-pipeline doctor` that need a spec: whether its object stores answer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from framework.cli.doctor import Check
from framework.engine.prepare import Request, load, locations_of
from framework.errors import FrameworkError
from framework.hudi.commit.store_probe import probe_store
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.port import uploads_of

__all__ = ["stores"]

_MOST_SKEW_S: Final = 60.0


def stores(spec: Path) -> tuple[Check, ...]:
    """Check that each location of a spec in an object store can be reached and listed.

    In that of the table it writes: it tries whether the store keeps two writers apart, and compares
    its clock. What it writes is deleted.

    Raises:
        SpecError, PlanError: the spec is faulty, or a secret is not set.
    """
    loaded = load(Request(path=spec))
    table, *sources = locations_of(loaded)
    read = tuple(_store(each) for each in sources if is_object_uri(each))
    return (*_written(table), *read) if is_object_uri(table) else read


def _written(location: str) -> tuple[Check, ...]:
    """Check the place of a table."""
    try:
        storage = open_storage(location)
        uploads = uploads_of(storage)
        if uploads is None:
            return (_store(location),)
        found = probe_store(storage, uploads)
    except FrameworkError as error:
        return (_failed(location, error),)
    is_trusted = not found.lack or not uploads.need_probe
    kept = Check(
        name="writes",
        ok=is_trusted,
        found=f"{location}: {found.lack}" if found.lack else f"{location} keeps two writers apart",
        remedy="" if is_trusted else "Use another store, or `single_writer: true` in `storage`.",
    )
    is_near = abs(found.ahead_s) <= _MOST_SKEW_S
    clock = Check(
        name="clock",
        ok=is_near,
        found=f"the store's clock is {found.ahead_s:+.0f} s ahead",
        remedy="" if is_near else "Set this machine's clock by NTP; stores refuse 15 minutes.",
    )
    return kept, clock


def _store(location: str) -> Check:
    try:
        there = open_storage(location).stat("") is not None
    except FrameworkError as error:
        return _failed(location, error)
    found = location if there else f"{location} is reached, but nothing is there"
    remedy = "" if there else "Correct the location, or the endpoint of `storage`."
    return Check(name="store", ok=there, found=found, remedy=remedy)


def _failed(location: str, error: FrameworkError) -> Check:
    """Return the check of a location that cannot be reached."""
    found = f"{location}: {error.message} [{error.condition}]"
    return Check(name="store", ok=False, found=found, remedy=error.remedy)
