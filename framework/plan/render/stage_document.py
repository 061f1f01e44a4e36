"""Each stage in the plan's JSON, and as short text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, assert_never

from framework.plan import stages
from framework.plan.words import count_text, size_text
from framework.vocabulary import BootstrapMode, KeyScope

__all__ = ["StageDocument", "key_text", "stage_document", "stage_text", "stage_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDocument:
    """One step of a run; members that a stage lacks are null.

    `instant` is null in `begin` and `commit` if the clock sets it at run time.
    """

    stage: stages.StageName
    summary: str
    recovery: stages.Recovery | None = None
    write_id: str | None = None
    instant: str | None = None
    action: str | None = None
    partitions: int | None = None
    files: int | None = None
    rows: int | None = None
    bytes_rewritten: int | None = None
    estimated_bytes_to_write: int | None = None


def stage_document(stage: stages.Stage) -> StageDocument:
    """Return a stage as a member of the plan's JSON."""
    named = partial(StageDocument, stage=stages.stage_name(stage), summary=stage_text(stage))
    match stage:
        case stages.Recover():
            found = named(
                recovery=stage.recovery,
                write_id=stage.write_id,
                instant=stage.instant,
                files=stage.files_done,
            )
        case stages.BeginBootstrap():
            found = named(write_id=stage.resumes, instant=stage.instant, action=stage.action)
        case stages.Skeletons() | stages.FullRecords():
            found = named(
                partitions=stage.partitions,
                files=stage.files,
                rows=stage.rows,
                bytes_rewritten=None
                if isinstance(stage, stages.Skeletons)
                else stage.bytes_rewritten,
                estimated_bytes_to_write=stage.bytes_to_write,
            )
        case stages.AuditBootstrap():
            found = named(rows=stage.rows)
        case stages.Index():
            found = named(
                partitions=stage.partitions,
                files=stage.files,
                estimated_bytes_to_write=stage.bytes_to_write,
            )
        case stages.CommitBootstrap():
            found = named(instant=stage.instant, action=stage.action, files=stage.files)
        case _:
            found = _of_load(stage)
    return found


def _of_load(
    stage: stages.BeginLoad
    | stages.ReadInput
    | stages.Screen
    | stages.TagRows
    | stages.WriteRows
    | stages.AuditLoad
    | stages.CommitLoad,
) -> StageDocument:
    """Return a stage of a load as a member of the plan's JSON."""
    named = partial(StageDocument, stage=stages.stage_name(stage), summary=stage_text(stage))
    match stage:
        case stages.BeginLoad() | stages.CommitLoad():
            return named(action=stage.action)
        case stages.ReadInput():
            return named(files=stage.files)
        case stages.Screen() | stages.TagRows() | stages.WriteRows() | stages.AuditLoad():
            return named()
        case _:
            assert_never(stage)


_WORDS: Final = {"full_records": "full files"}
_RECOVERIES: Final = {
    stages.Recovery.RESUME: "resume",
    stages.Recovery.ROLL_BACK: "roll back",
    stages.Recovery.FINISH: "finish",
}


def key_text(columns: tuple[str, ...]) -> str:
    """Return key columns as `key (a, b)`, none as `automatic key`."""
    return f"key ({', '.join(columns)})" if columns else "automatic key"


def stage_words(stage: stages.Stage) -> str:
    """Return the word that names a stage; at most 11 letters, for the column."""
    name = stages.stage_name(stage)
    return _WORDS.get(name, name)


def stage_text(stage: stages.Stage) -> str:
    """Return what a stage does, in a few words."""
    match stage:
        case stages.Recover():
            return _recover(stage)
        case stages.BeginBootstrap():
            return f"{stage.action} {stage.instant or 'at the next instant'}"
        case stages.Skeletons() | stages.FullRecords():
            return _writing(stage)
        case stages.AuditBootstrap() | stages.Index() | stages.CommitBootstrap() | stages.Screen():
            return _ending(stage)
        case _:
            return _loading(stage)


def _recover(stage: stages.Recover) -> str:
    """Return how an earlier run is recovered, why, and what is kept."""
    kept = stage.recovery is stages.Recovery.RESUME
    done = f" ({count_text(stage.files_done, 'file')} done)" if kept else ""
    return f"{_RECOVERIES[stage.recovery]} run {stage.write_id[:8]}: {stage.reason}{done}"


def _writing(stage: stages.Skeletons | stages.FullRecords) -> str:
    """Return what is written and what is rewritten."""
    skeletons = isinstance(stage, stages.Skeletons)
    mode = BootstrapMode.METADATA_ONLY if skeletons else BootstrapMode.FULL_RECORD
    rewritten = 0 if isinstance(stage, stages.Skeletons) else stage.bytes_rewritten
    files = "" if isinstance(stage, stages.Skeletons) else f", {count_text(stage.files, 'file')}"
    return (
        f"{count_text(stage.partitions, 'partition')} {mode}{files}: "
        f"~{size_text(stage.bytes_to_write)} to write, {size_text(rewritten)} of data rewritten"
    )


def _ending(
    stage: stages.AuditBootstrap | stages.Index | stages.CommitBootstrap | stages.Screen,
) -> str:
    """Return what is checked or proven, what the index covers, or what makes all visible."""
    if isinstance(stage, stages.Screen):
        return _screening(stage)
    if isinstance(stage, stages.AuditBootstrap):
        checks = f", {count_text(stage.checks, 'check')}" if stage.checks else ""
        return f"{key_text(stage.columns)} unique in {stage.scope}, not null{checks}"
    if isinstance(stage, stages.CommitBootstrap):
        return f"{stage.instant or f'an ordinary {stage.action}'}, atomic"
    partitions, files = count_text(stage.partitions, "partition"), count_text(stage.files, "file")
    return f"{partitions}, {files}"


def _loading(
    stage: stages.BeginLoad
    | stages.ReadInput
    | stages.TagRows
    | stages.WriteRows
    | stages.AuditLoad
    | stages.CommitLoad,
) -> str:
    """Return what a stage of a load does."""
    match stage:
        case stages.ReadInput():
            how = "read and written to Parquet first" if stage.copies else "read in place"
            files = count_text(stage.files, "file")
            return f"{files}, {size_text(stage.bytes)}, {how}" if stage.files else how
        case stages.TagRows():
            whole = stage.scope is KeyScope.TABLE
            return f"keys looked up in {'the table' if whole else 'the partitions of the input'}"
        case stages.WriteRows():
            return f"{stage.operation}, one task per file group"
        case stages.AuditLoad():
            checks = f", {count_text(stage.checks, 'check')}" if stage.checks else ""
            return f"{key_text(stage.columns)} unique in {stage.scope}, no row lost{checks}"
        case stages.BeginLoad() | stages.CommitLoad():
            begins = isinstance(stage, stages.BeginLoad)
            return f"{stage.action} at the next instant{'' if begins else ', atomic'}"
        case _:
            assert_never(stage)


def _screening(stage: stages.Screen) -> str:
    """Return the checks, and which rows are excluded before anything is written."""
    parts = [count_text(stage.checks, "check")]
    if stage.splitting:
        parts.append(f"rows of {stage.splitting} excluded")
    if stage.keeps_one:
        parts.append("one row kept per key")
    return ", ".join(parts)
