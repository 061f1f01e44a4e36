"""Checks of `run-pipeline doctor` that need a spec: whether its object stores answer."""

from __future__ import annotations

from pathlib import Path

from framework.cli.doctor import Check
from framework.engine.prepare import Request, load, locations_of
from framework.errors import FrameworkError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.object_uri import is_object_uri

__all__ = ["stores"]


def stores(spec: Path) -> tuple[Check, ...]:
    """Check that each location of a spec in an object store can be reached and listed.

    Raises:
        SpecError, PlanError: the spec is faulty, or a secret is not set.
    """
    loaded = load(Request(path=spec))
    return tuple(_store(each) for each in locations_of(loaded) if is_object_uri(each))


def _store(location: str) -> Check:
    try:
        there = open_storage(location).stat("") is not None
    except FrameworkError as error:
        found = f"{location}: {error.message} [{error.condition}]"
        return Check(name="store", ok=False, found=found, remedy=error.remedy)
    found = location if there else f"{location} is reached, but nothing is there"
    remedy = "" if there else "Correct the location, or the endpoint of `storage`."
    return Check(name="store", ok=there, found=found, remedy=remedy)
