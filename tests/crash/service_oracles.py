"""What must be true of a table after a killed service, whichever service it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.timeline.instant import Action, Instant, InstantState
from tests.support.writing import rows_of

__all__ = ["Rows", "canonical", "check_table_is_well", "contents", "has_table", "rows_at"]

Rows = tuple[tuple[Any, ...], ...]

_COLUMNS: Final = (
    "id",
    "day",
    "v",
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
)
_NAMES: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "file"),
    (re.compile(r"[0-9a-f]{32}"), "run"),
    (re.compile(r"(?<!\d)\d{17}(?!\d)"), "instant"),
)
_COMMITS: Final = ("commit", "deltacommit", "replacecommit")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Names that a table had before a service; others get the number of their first place."""

    text: str

    def replaced(self, paths: list[str]) -> list[str]:
        """Return paths in which new file ids, runs and instants have the same names in each run."""
        for pattern, word in _NAMES:
            found = sorted({each for path in paths for each in pattern.findall(path)})
            new = [each for each in found if each not in self.text]
            numbered = word == "instant"
            for number, each in enumerate(new):
                to = f"<{word}{number if numbered else ''}>"
                paths = [path.replace(each, to) for path in paths]
        return sorted(paths)


def contents(table: Path) -> dict[str, bytes]:
    """Return every file and folder of a table with its bytes."""
    return {
        str(path.relative_to(table)): path.read_bytes() if path.is_file() else b"folder"
        for path in sorted(table.rglob("*"))
    }


def canonical(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Return the names of what a service leaves, the same for each run of it."""
    return _Known(text="\n".join(before)).replaced(list(after))


def has_table(table: Path) -> bool:
    """Return whether a reader finds a table."""
    return (table / ".hoodie" / "hoodie.properties").exists()


def rows_at(table: Path, instant: str | None = None) -> Rows:
    """Return the rows with the meta columns that services keep, sorted; each is there once."""
    found = rows_of(str(table), instant)
    rows = tuple(sorted(tuple(row[name] for name in _COLUMNS) for row in found))
    assert len({row[:1] for row in rows}) == len(rows), "a key is there twice"
    return rows


def check_table_is_well(table: Path) -> None:
    """Check the timeline, the files that commits name, and all that fsck checks."""
    check_timeline(table)
    check_sizes(table)
    findings = check_table(str(table), InProcessTasks(1), deep=True).findings
    assert not findings, findings


def check_timeline(table: Path) -> None:
    """Each completed instant was requested or inflight before, and is the only one of its time."""
    found: dict[tuple[str, Action], dict[InstantState, int]] = {}
    for path in (table / ".hoodie").iterdir():
        instant = Instant.parse(path.name)
        if path.is_file() and instant is not None:
            action = instant.action
            is_done = (
                action is Action.COMMIT
                and (table / ".hoodie" / f"{instant.requested_time}.compaction.requested").exists()
            )
            key = (instant.requested_time, Action.COMPACTION if is_done else action)
            found.setdefault(key, {})[instant.state] = path.stat().st_mtime_ns
    for key, states in found.items():
        if InstantState.COMPLETED in states:
            assert InstantState.INFLIGHT in states, key
        times = [states[each] for each in InstantState if each in states]
        assert times == sorted(times), key
    times_of = [time for time, action in found if action is not Action.SAVEPOINT]
    assert len(times_of) == len(set(times_of)), sorted(found)


def check_sizes(table: Path) -> None:
    """Each file that a commit names and that is there has the size that the commit records."""
    for path in (table / ".hoodie").iterdir():
        if path.suffix.lstrip(".") in _COMMITS and path.stat().st_size:
            stats = json.loads(path.read_bytes()).get("partitionToWriteStats", {})
            for each in (stat for found in stats.values() for stat in found):
                file = table / each["path"]
                if file.exists():
                    assert file.stat().st_size == each["fileSizeInBytes"], file
