"""What each stage does, in a few words."""

from __future__ import annotations

from typing import Final, assert_never

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
    TagRows,
    WriteRows,
    stage_name,
)
from framework.plan.words import count_text, size_text
from framework.vocabulary import BootstrapMode, KeyScope

__all__ = ["key_text", "stage_text", "stage_words"]

_WORDS: Final = {"full_records": "full files"}
_RECOVERIES: Final = {
    Recovery.RESUME: "resume",
    Recovery.ROLL_BACK: "roll back",
    Recovery.FINISH: "finish",
}


def key_text(columns: tuple[str, ...]) -> str:
    """Return key columns as `key (a, b)`, none as `automatic key`."""
    return f"key ({', '.join(columns)})" if columns else "automatic key"


def stage_words(stage: Stage) -> str:
    """Return the word by which a stage is shown; at most 11 letters, for the column."""
    name = stage_name(stage)
    return _WORDS.get(name, name)


def stage_text(stage: Stage) -> str:
    """Return what a stage does, in a few words."""
    match stage:
        case Recover():
            return _recover(stage)
        case BeginBootstrap():
            return f"{stage.action} {stage.instant or 'at the next instant'}"
        case Skeletons() | FullRecords():
            return _writing(stage)
        case AuditBootstrap() | Index() | CommitBootstrap() | Screen():
            return _ending(stage)
        case _:
            return _loading(stage)


def _recover(stage: Recover) -> str:
    """Return how an earlier run is recovered, why, and what is kept."""
    kept = stage.recovery is Recovery.RESUME
    done = f" ({count_text(stage.files_done, 'file')} done)" if kept else ""
    return f"{_RECOVERIES[stage.recovery]} run {stage.write_id[:8]}: {stage.reason}{done}"


def _writing(stage: Skeletons | FullRecords) -> str:
    """Return what is written and what is rewritten."""
    skeletons = isinstance(stage, Skeletons)
    mode = BootstrapMode.METADATA_ONLY if skeletons else BootstrapMode.FULL_RECORD
    rewritten = 0 if isinstance(stage, Skeletons) else stage.bytes_rewritten
    files = "" if isinstance(stage, Skeletons) else f", {count_text(stage.files, 'file')}"
    return (
        f"{count_text(stage.partitions, 'partition')} {mode}{files}: "
        f"~{size_text(stage.bytes_to_write)} to write, {size_text(rewritten)} of data rewritten"
    )


def _ending(stage: AuditBootstrap | Index | CommitBootstrap | Screen) -> str:
    """Return what is checked or proven, what the index covers, or what makes all visible."""
    if isinstance(stage, Screen):
        return _screening(stage)
    if isinstance(stage, AuditBootstrap):
        checks = f", {count_text(stage.checks, 'check')}" if stage.checks else ""
        return f"{key_text(stage.columns)} unique in {stage.scope}, not null{checks}"
    if isinstance(stage, CommitBootstrap):
        return f"{stage.instant or f'an ordinary {stage.action}'}, atomic"
    partitions, files = count_text(stage.partitions, "partition"), count_text(stage.files, "file")
    return f"{partitions}, {files}"


def _loading(stage: BeginLoad | ReadInput | TagRows | WriteRows | AuditLoad | CommitLoad) -> str:
    """Return what a stage of a load does."""
    match stage:
        case ReadInput():
            how = "read and written to Parquet first" if stage.copies else "read where they lie"
            files = count_text(stage.files, "file")
            return f"{files}, {size_text(stage.bytes)}, {how}" if stage.files else how
        case TagRows():
            whole = stage.scope is KeyScope.TABLE
            return f"keys looked for in {'the table' if whole else 'the partitions of the input'}"
        case WriteRows():
            return f"{stage.operation}, one task per file group"
        case AuditLoad():
            checks = f", {count_text(stage.checks, 'check')}" if stage.checks else ""
            return f"{key_text(stage.columns)} unique in {stage.scope}, no row lost{checks}"
        case BeginLoad() | CommitLoad():
            begins = isinstance(stage, BeginLoad)
            return f"{stage.action} at the next instant{'' if begins else ', atomic'}"
        case _:
            assert_never(stage)


def _screening(stage: Screen) -> str:
    """Return which rows are taken out before anything is written."""
    parts = [count_text(stage.checks, "check")]
    if stage.splitting:
        parts.append(f"rows of {stage.splitting} taken out")
    if stage.keeps_one:
        parts.append("one row kept of each key")
    return ", ".join(parts)
