"""A timeline's hash, by which client and server tell whether they know the same (section 9.3)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from framework.hudi.timeline.instant import DATA_ACTIONS, Action

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.hudi.timeline.instant import Instant
    from framework.hudi.timeline.timeline import Timeline

__all__ = ["instants_hash", "timeline_hash", "timeline_hashes"]

_COMPACTIONS: Final = frozenset({Action.COMPACTION})
_PLANNED: Final = frozenset({Action.COMPACTION, Action.LOGCOMPACTION})


def instants_hash(instants: Iterable[Instant]) -> str:
    """Return Apache Hudi's hash of some instants, in their order."""
    texts = (f"{each.requested_time}_{each.action}_{each.state.upper()}" for each in instants)
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def timeline_hash(timeline: Timeline) -> str:
    """Return the hash that our clients tell: of completed instants and pending compactions."""
    return _hash(timeline, _COMPACTIONS, writes_alone=False)


def timeline_hashes(timeline: Timeline) -> frozenset[str]:
    """Return the hashes that clients of the same timeline may tell, ours among them.

    Apache Hudi's begin with all completed instants and pending compactions, and go on with those
    that write data; pending log compactions came with later releases.
    """
    return frozenset(
        _hash(timeline, planned, writes_alone=writes)
        for planned in (_COMPACTIONS, _PLANNED)
        for writes in (False, True)
    )


def _hash(timeline: Timeline, planned: frozenset[Action], *, writes_alone: bool) -> str:
    """Return the hash of the instants of a kind."""
    counting = sorted((*timeline.completed, *timeline.pending))
    return instants_hash(
        each
        for each in counting
        if (each.is_completed or each.action in planned)
        and (not writes_alone or each.action in DATA_ACTIONS)
    )
