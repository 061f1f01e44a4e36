"""Log blocks of instants that neither the timeline nor a rollback block knows.

Readers skip them now. Once the timeline has moved past their instant they would count, since it
would be taken for an archived one.
"""

from __future__ import annotations

from collections.abc import Iterator

from framework.engine.fsck.findings import Check, Severity, TableFinding
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, read_blocks
from framework.hudi.filegroup.names import LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.timeline.timeline import Timeline

__all__ = ["unknown_blocks"]


def unknown_blocks(
    storage: Storage, timeline: Timeline, path: str, partition_path: str
) -> Iterator[TableFinding]:
    """Yield a finding for each unknown instant in a log file.

    Reads the headers of its blocks, and only if one is unknown also those of its slice's other log
    files, for rollback blocks.

    Raises:
        CorruptFileError: a log file is damaged.
    """
    with storage.open_input(path) as source:
        data = [block for block in read_blocks(source) if block.kind is not BlockKind.COMMAND]
    instants = filter(None, (block.header.get(HeaderKey.INSTANT_TIME) for block in data))
    unknown = {e for e in instants if not timeline.is_completed(e) and not timeline.find(e)}
    if not unknown:
        return
    for instant in sorted(unknown - _rolled_back(storage, path)):
        yield TableFinding(
            check=Check.CONTENTS,
            severity=Severity.WARNING,
            condition="fsck/unknown-block",
            message="a log file has blocks of an instant that is not on the timeline, and that no "
            "rollback block takes back: readers skip them until the timeline has moved past it",
            remedy="Merge the slice before that with `run-pipeline compact`; a clean then deletes "
            "the log file.",
            file=path,
            partition=partition_path,
            instant=instant,
        )


def _rolled_back(storage: Storage, path: str) -> set[str]:
    """Return the instants that rollback blocks in the slice of a log file take back."""
    mine = LogFileName.parse(name_of(path))
    found: set[str] = set()
    for entry in storage.list(parent_of(path)):
        log = LogFileName.parse(entry.name)
        if mine and log and (log.file_id, log.base_instant) == (mine.file_id, mine.base_instant):
            with storage.open_input(entry.path) as source:
                found.update(
                    block.header.get(HeaderKey.TARGET_INSTANT_TIME, "")
                    for block in read_blocks(source)
                    if block.kind is BlockKind.COMMAND
                )
    return found
