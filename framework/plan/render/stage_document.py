"""Each stage in the plan's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import assert_never

from framework.plan.render.stage_text import stage_text
from framework.plan.stages import (
    AuditBootstrap,
    AuditLoad,
    BeginBootstrap,
    BeginLoad,
    CommitBootstrap,
    CommitLoad,
    FullRecords,
    Index,
    ReadInput,
    Recover,
    Recovery,
    Screen,
    Skeletons,
    Stage,
    StageName,
    TagRows,
    WriteRows,
    stage_name,
)

__all__ = ["StageDocument", "stage_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDocument:
    """One step of a run; members that a stage does not have are null.

    `instant` is null in `begin` and `commit` where the clock gives it at run time.
    """

    stage: StageName
    summary: str
    recovery: Recovery | None = None
    write_id: str | None = None
    instant: str | None = None
    action: str | None = None
    partitions: int | None = None
    files: int | None = None
    rows: int | None = None
    bytes_rewritten: int | None = None
    estimated_bytes_to_write: int | None = None


def stage_document(stage: Stage) -> StageDocument:
    """Return what the plan's JSON says of a stage."""
    named = partial(StageDocument, stage=stage_name(stage), summary=stage_text(stage))
    match stage:
        case Recover():
            found = named(
                recovery=stage.recovery,
                write_id=stage.write_id,
                instant=stage.instant,
                files=stage.files_done,
            )
        case BeginBootstrap():
            found = named(write_id=stage.resumes, instant=stage.instant, action=stage.action)
        case Skeletons() | FullRecords():
            found = named(
                partitions=stage.partitions,
                files=stage.files,
                rows=stage.rows,
                bytes_rewritten=None if isinstance(stage, Skeletons) else stage.bytes_rewritten,
                estimated_bytes_to_write=stage.bytes_to_write,
            )
        case AuditBootstrap():
            found = named(rows=stage.rows)
        case Index():
            found = named(
                partitions=stage.partitions,
                files=stage.files,
                estimated_bytes_to_write=stage.bytes_to_write,
            )
        case CommitBootstrap():
            found = named(instant=stage.instant, action=stage.action, files=stage.files)
        case _:
            found = _of_load(stage)
    return found


def _of_load(
    stage: BeginLoad | ReadInput | Screen | TagRows | WriteRows | AuditLoad | CommitLoad,
) -> StageDocument:
    """Return what the plan's JSON says of a stage of a load."""
    named = partial(StageDocument, stage=stage_name(stage), summary=stage_text(stage))
    match stage:
        case BeginLoad() | CommitLoad():
            return named(action=stage.action)
        case ReadInput():
            return named(files=stage.files)
        case Screen() | TagRows() | WriteRows() | AuditLoad():
            return named()
        case _:
            assert_never(stage)
