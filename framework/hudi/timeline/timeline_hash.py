"""A timeline's hash, by which client and server tell whether they know the same (section 9.3)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from framework.hudi.timeline.instant import COMPACTIONS, DATA_ACTIONS, Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.hudi.timeline.instant import Instant
    from framework.hudi.timeline.timeline import Timeline

__all__ = ["instants_hash", "timeline_hash", "timeline_hashes"]

_COMPACTION_ALONE: Final = frozenset({Action.COMPACTION})


def instants_hash(instants: Iterable[Instant]) -> str:
    """Return Apache Hudi's hash of some instants, in their order."""
    texts = (f"{each.requested_time}_{each.action}_{each.state.upper()}" for each in instants)
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def timeline_hash(timeline: Timeline) -> str:
    """Return the hash that our clients tell: of completed instants and pending compactions."""
    return instants_hash(_counting(_ordered(timeline), _COMPACTION_ALONE))


def timeline_hashes(timeline: Timeline) -> frozenset[str]:
    """Return the hashes that clients of the same timeline may tell, ours among them.

    Apache Hudi's begin with all completed instants and pending compactions, and go on with those
    that write data; pending log compactions came with later releases.
    """
    found = _ordered(timeline)
    writes = [each for each in found if each.action in DATA_ACTIONS]
    return frozenset(
        instants_hash(_counting(instants, planned))
        for instants in (found, writes)
        for planned in (_COMPACTION_ALONE, COMPACTIONS)
    )


def _ordered(timeline: Timeline) -> list[Instant]:
    """Return the instants that count, in their order."""
    return sorted((*timeline.completed, *timeline.pending))


def _counting(instants: Iterable[Instant], planned: frozenset[Action]) -> Iterator[Instant]:
    """Yield completed instants, and the pending ones of some actions."""
    return (each for each in instants if each.is_completed or each.action in planned)
