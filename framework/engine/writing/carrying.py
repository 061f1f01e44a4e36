"""What the stages of a load do: from a lease to audited files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from framework.engine.audit.account import Account
from framework.engine.audit.gate import LoadPlace, audit_load
from framework.engine.audit.subject import WrittenRows
from framework.engine.beginning import begin_run
from framework.engine.events import Note
from framework.engine.inspecting import inspect_rows, reported
from framework.engine.loaded import load_state
from framework.engine.reading.table import open_table
from framework.engine.writing.comparing import compare
from framework.engine.writing.existing import existing_slices, taken_keys
from framework.engine.writing.groups import group_works, write_groups
from framework.engine.writing.load import Load, load_of, load_plan
from framework.engine.writing.refusals import refuse_taken
from framework.engine.writing.replacing import replaced_groups
from framework.errors import CommitConflictError, CorruptFileError, Where
from framework.hudi.commit.files import written_files
from framework.hudi.commit.intent import Intent
from framework.hudi.table.layout import join
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.facts import SPEC_FACT
from framework.plan.words import count_text
from framework.vocabulary import WriteOperation

if TYPE_CHECKING:
    from framework.engine.course import Course, Run
    from framework.engine.writing.comparing import Compared
    from framework.engine.writing.groups import WriteSettings
    from framework.engine.writing.job import LoadJob
    from framework.plan.stages import BeginLoad

T = TypeVar("T")

__all__ = ["audit_rows", "begin_load", "tag_rows", "write_rows"]

_NEW_KEYS_ONLY: Final = frozenset(
    {WriteOperation.INSERT, WriteOperation.BULK_INSERT, WriteOperation.INSERT_OVERWRITE}
)


def begin_load(work: Run, course: Course, stage: BeginLoad) -> Course:
    """Take the lease, open the table as it is now, make the pending instant.

    Raises:
        CommitConflictError: `load/published-meanwhile`.
    """
    plan = load_plan(work)

    def new_intent(write_id: str) -> Intent:
        return Intent(
            write_id=write_id,
            requested_time=next_instant(work.clock, load_timeline(work.storage)),
            action=Action(stage.action),
            operation=plan.operation.value.upper(),
            is_new_table=plan.creates,
            facts={SPEC_FACT: work.plan.target.spec_hash},
        )

    def prepare(_: object) -> Load:
        _refuse_published(work, plan.run_id)
        if plan.creates:
            return Load(table=None)
        table = open_table(work.storage.location)
        table.require_meta_columns("a load")
        return Load(table=table)

    return begin_run(work, course, new_intent, prepare)


def _refuse_published(work: Run, run_id: str | None) -> None:
    """Refuse a run whose id was published between its plan and its lease.

    Raises:
        CommitConflictError: `load/published-meanwhile`.
    """
    if run_id is None:
        return
    state = load_state(work.storage, load_timeline(work.storage), "")
    if run_id in state.run_ids:
        raise CommitConflictError(
            "load/published-meanwhile",
            f"a run of the id {run_id} was published while this one was planned",
            where=Where(table=work.storage.location),
            remedy="Nothing of this run was published, and nothing is left to do for it.",
        )


def tag_rows(work: Run, course: Course) -> Course:
    """Key the input, and find out which of its keys the table has.

    Raises:
        AuditFailedError: `audit/null-keys`, `audit/duplicate-keys`, `audit/taken-keys`.
    """
    _, load = load_of(course)
    job = _known(load.job)
    compared = compare(work.tasks, job, load.files, partial(existing_slices, load, job, work.views))
    _tell_fallbacks(work, compared.tagged.fallbacks)
    hits = sum(each.hits for each in compared.tagged.facts)
    if hits and job.operates in _NEW_KEYS_ONLY:
        refuse_taken(job, hits, taken_keys(work.storage, compared))
    groups = count_text(len(compared.tagged.slices), "file group")
    summary = f"{groups}, {compared.tagged.looked:,} read; {count_text(hits, 'row')} to change"
    return replace(course, job=replace(load, compared=compared), summary=summary)


def _tell_fallbacks(work: Run, fallbacks: int) -> None:
    """Say that tasks listed folders, since the timeline service did not answer them."""
    if fallbacks:
        times = count_text(fallbacks, "question")
        text = f"the timeline service did not answer {times} of tasks; folders were listed instead"
        work.events(Note(level="warning", message=text))


def write_rows(work: Run, course: Course) -> Course:
    """Write every file group that changes or is new."""
    _, load = load_of(course)
    job, compared, settings = _written_with(load)
    written = write_groups(work.tasks, job, compared, settings, events=work.events)
    summary = f"{count_text(written.files, 'file')}, {written.bytes:,} bytes"
    return replace(course, segments=written.segments, summary=summary)


def audit_rows(work: Run, course: Course) -> Course:
    """Prove keys and rows on the written files; there are none where partitions are deleted."""
    transaction, load = load_of(course)
    account = Account(input=0)
    if load_plan(work).request is not None:
        _, compared, settings = _written_with(load)
        account = _account(compared, _rows_before(load, settings))
    place = LoadPlace(
        table=work.storage.location,
        folder=join(transaction.intent.staging.spill, "audit"),
        rule=work.plan.target.key_rule,
    )
    if account.input + course.screened.rows != course.input_rows:
        raise _lost(work, course, account)
    inspection = inspect_rows(work, course, _written_rows(work, course))
    written = written_files(course.segments)
    audited = audit_load(work.tasks, written, place, account, inspection)
    course = replace(course, audited=audited, summary=_told(account))
    reported(work, course, inspection)
    return course


def _lost(work: Run, course: Course, account: Account) -> CorruptFileError:
    """Return the error for rows that came in and are nowhere."""
    return CorruptFileError(
        "audit/rows-differ",
        f"{course.input_rows:,} rows came in, {account.input:,} were loaded and"
        f" {course.screened.rows:,} taken out",
        where=Where(table=work.storage.location),
        remedy="Nothing was published. Run again, and tell us: this is a fault of ours.",
    )


def _written_rows(work: Run, course: Course) -> WrittenRows:
    """Return which rows the checks see."""
    transaction, load = load_of(course)
    table, rule = load.table, work.plan.target.key_rule
    schema = load.schema or (table.schema if table else None)
    if schema is None:
        raise ValueError("the stages of a load come in their order")
    return WrittenRows(
        table=work.storage.location,
        segments=written_files(course.segments).segments,
        schema=schema,
        partition=table.partition if table else rule.partition,
        layout=table.layout if table else rule.layout,
        instant=transaction.intent.requested_time,
        completed=transaction.intent.completed.file_name,
        replaced=replaced_groups(load, load_plan(work), work.views),
        exists=table is not None,
    )


def _account(compared: Compared, before: dict[int, int]) -> Account:
    """Return what became of each input row."""
    settled = compared.settled
    return Account(
        input=compared.input_rows,
        inserted=sum(each.inserted for each in settled),
        updated=sum(each.updated for each in settled),
        moved=sum(each.moved for each in settled),
        superseded=sum(each.superseded for each in settled),
        deleted=sum(each.deleted for each in settled),
        absent=sum(each.absent for each in settled),
        dropped=compared.dropped,
        before=before,
    )


def _rows_before(load: Load, settings: WriteSettings) -> dict[int, int]:
    """Return the rows of each rewritten group before, by number of its new file."""
    job, compared = _known(load.job), _known(load.compared)
    found = {}
    for work in group_works(job, compared, settings.sizing):
        rows = compared.tagged.facts[work.tagged].rows if work.slice else 0
        if work.base_name is None and rows is not None:
            found[work.number] = rows
    return found


def _told(account: Account) -> str:
    """Return what became of the rows, for people."""
    words = (
        f"{count:,} {name}"
        for name, count in account.as_json().items()
        if count and name != "input"
    )
    return ", ".join(words) or "no rows"


def _written_with(load: Load) -> tuple[LoadJob, Compared, WriteSettings]:
    """Return what the stages before made."""
    return _known(load.job), _known(load.compared), _known(load.settings)


def _known(value: T | None) -> T:
    """Return what an earlier stage made.

    Raises:
        ValueError: that stage was left out.
    """
    if value is None:
        raise ValueError("the stages of a load come in their order")
    return value
