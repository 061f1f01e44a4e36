"""Tables that the user named by a spec, by their location, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from framework.engine.prepare import Request, load
from framework.spec.loading import find_specs

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["locations_of"]


def locations_of(
    place: str | None, target: str | None, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the location of each table meant.

    A spec file means its table, any other text is a location itself, None means the tables of all
    specs below the current folder.

    Raises:
        SpecError: a spec is faulty, or there is none.
    """
    if place is None:
        paths = find_specs(())
    elif place.endswith((".yml", ".yaml")):
        paths = (Path(place),)
    else:
        return (place if ":/" in place else str(Path(place).resolve()),)
    requests = (Request(path=path, target=target, variables=variables) for path in paths)
    return tuple(load(request).table.location for request in requests)
