"""A plan as lines for a terminal; the command line adds colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final, assert_never

from framework.plan.catalogs.target import target_text
from framework.plan.definition import Adopted, Case, Plan
from framework.plan.load import LoadPlan
from framework.plan.observation import SourceDrift
from framework.plan.partitions import totals
from framework.plan.readers.gate import reader_groups
from framework.plan.render.stage_document import stage_text, stage_words
from framework.plan.stages import BeginBootstrap, BeginLoad
from framework.plan.words import count_text, listing, number_text, seconds_text, size_text
from framework.vocabulary import BootstrapMode

__all__ = [
    "Line",
    "LineKind",
    "diff_lines",
    "result_text",
    "text_lines",
]

_NAME_WIDTH: Final = 14


@unique
class LineKind(StrEnum):
    """The kind of a line, which decides how it is drawn."""

    TITLE = "title"
    HEADING = "heading"
    STAGE = "stage"
    DETAIL = "detail"
    WARNING = "warning"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of text without its line end, and its kind."""

    text: str
    kind: LineKind

    def __str__(self) -> str:
        return self.text


def text_lines(plan: Plan) -> tuple[Line, ...]:
    """Return the plan as lines, from its title to its result."""
    return (
        Line(text=_title(plan), kind=LineKind.TITLE),
        *_stages(plan),
        *_partitions(plan),
        *_diff(plan),
        *_readers(plan),
        *_notes(plan),
        Line(text=result_text(plan), kind=LineKind.RESULT),
    )


def result_text(plan: Plan) -> str:
    """Return the closing sentence of a plan."""
    drift = plan.adopted.drift if plan.adopted else None
    match plan.case:
        case Case.BOOTSTRAP:
            said = "1 table to bootstrap"
        case Case.RESUME:
            said = "1 table to bootstrap, resumed"
        case Case.FINISH:
            said = "1 table to finish"
        case Case.EMPTY:
            said = "nothing to adopt yet"
        case Case.LOAD:
            said = _load_text(plan.load)
        case Case.UP_TO_DATE if drift is not None and drift.new_files:
            said = f"up to date, but for {count_text(drift.new_files, 'new file')}"
        case Case.UP_TO_DATE:
            said = "up to date"
        case _:
            assert_never(plan.case)
    return f"Plan: {said}. Nothing has been changed."


def _load_text(load: LoadPlan | None) -> str:
    """Return what is loaded, in a few words."""
    if load is None:
        return "1 load"
    files = f" of {count_text(load.files, 'file')}" if load.files else ""
    table = " into a new table" if load.creates else ""
    return f"1 {load.operation}{files}{table}"


def _title(plan: Plan) -> str:
    """Return name, type and size of the table."""
    head = f"{plan.target.name}  {plan.target.table_type}"
    if plan.load is not None:
        earlier = count_text(plan.load.earlier_files, "file")
        before = f", {earlier} loaded before" if plan.load.earlier_files else ""
        files = f"{count_text(plan.load.files, 'file')}, {size_text(plan.load.bytes)}"
        return f"{head}  {plan.load.operation}  {files}{before}"
    if plan.adopted is not None:
        facts = plan.adopted.facts
        files = f"{count_text(facts.skeletons, 'skeleton')}, {count_text(facts.full, 'full file')}"
        return f"{head}  adopted at {facts.instant}: {files}"
    taken = plan.taken
    return (
        f"{head}  {count_text(taken.partitions, 'partition')}, {count_text(taken.files, 'file')}, "
        f"{number_text(taken.rows)} rows, {size_text(taken.bytes)}"
    )


def _stages(plan: Plan) -> Iterator[Line]:
    """Yield the numbered stages; `begin` is part of the stage after it."""
    if not plan.stages:
        return
    yield _heading("stages")
    if plan.inventory is not None:
        files = count_text(plan.inventory.files, "file")
        yield _stage_line("source", f"{files} fingerprinted")
    shown = [stage for stage in plan.stages if not isinstance(stage, BeginBootstrap | BeginLoad)]
    for number, stage in enumerate(shown, start=1):
        yield _stage_line(f"{number} {stage_words(stage)}", stage_text(stage))
    if plan.catalog is not None:
        yield _stage_line("then", target_text(plan.catalog))
    if plan.taken.files:
        cost = seconds_text(plan.estimate.core_seconds)
        yield _stage_line("cost", f"~{cost}, an estimate from footers and sampled rows")


def _stage_line(name: str, text: str) -> Line:
    return Line(text=f"   {name:<{_NAME_WIDTH}}{text}", kind=LineKind.STAGE)


def _partitions(plan: Plan) -> Iterator[Line]:
    """Yield one line per mode and rule, if there are several."""
    groups = {(p.mode, p.rule): p.reason for p in plan.partitions}
    if len(groups) < 2:  # noqa: PLR2004  the title covers a single one
        return
    yield _heading("partitions")
    for (mode, rule), reason in sorted(groups.items(), key=_by_rule):
        chosen = [p for p in plan.partitions if (p.mode, p.rule) == (mode, rule)]
        sums = totals(chosen)
        by = "default" if rule is None else f"rules[{rule}]" + (f", {reason}" if reason else "")
        paths = listing(tuple(p.partition_path for p in chosen), limit=3)
        sizes = f"{count_text(sums.files, 'file')}, {number_text(sums.rows)} rows"
        yield _detail(
            f"{mode:<14}{count_text(sums.partitions, 'partition')}, {sizes}, "
            f"{size_text(sums.bytes)} ({by}): {paths}"
        )


def _by_rule(group: tuple[tuple[BootstrapMode, int | None], str]) -> tuple[bool, int]:
    """Order groups of partitions by the number of their rule, the default last."""
    rule = group[0][1]
    return rule is None, rule or 0


def _diff(plan: Plan) -> Iterator[Line]:
    """Yield how source and spec differ from those at creation, under a heading."""
    lines = diff_lines(plan)
    if lines:
        yield _heading("changes")
        yield from lines


def diff_lines(plan: Plan) -> tuple[Line, ...]:
    """Return how source and spec differ from those at creation; nothing if they do not."""
    if plan.adopted is None:
        return ()
    return (*_spec_diff(plan.adopted), *_source_diff(plan, plan.adopted.drift))


def _spec_diff(adopted: Adopted) -> Iterator[Line]:
    """Report a change of the spec in fields that may change."""
    if adopted.spec_changed:
        yield _detail("the spec has changed in fields that an adopted table may change")


def _source_diff(plan: Plan, drift: SourceDrift | None) -> Iterator[Line]:
    """Yield new, missing and changed source files with their counts."""
    if drift is None:
        return
    if drift.new_files:
        yield _detail(
            f"{count_text(drift.new_files, 'new file')} ({size_text(drift.new_bytes)}) under "
            f"{plan.target.source} not in the table{_samples(drift.samples_new, drift.new_files)}"
        )
    for count, word, samples in (
        (drift.missing_files, "missing", drift.samples_missing),
        (drift.changed_files, "changed", drift.samples_changed),
    ):
        if count:
            yield _warning(f"{count_text(count, 'source file')} {word}{_samples(samples, count)}")


def _samples(paths: tuple[str, ...], total: int) -> str:
    """Return the first few of `total` paths after a colon; nothing if none is known."""
    return f": {listing(paths, total=total)}" if paths else ""


def _readers(plan: Plan) -> Iterator[Line]:
    """Yield the readers by ability, and the exceptions that apply."""
    yield _heading("readers")
    for word, readers in reader_groups(plan.readers):
        yield _detail(f"{word:<19}{readers}")
    for exception in plan.readers.exceptions:
        yield _warning(f"{exception.name} ({exception.who}): {exception.message}")
        yield _detail(f"  full_record would change: {exception.full_record}")


def _notes(plan: Plan) -> Iterator[Line]:
    if not plan.notes:
        return
    yield _heading("notes")
    for note in plan.notes:
        make = _warning if note.level == "warning" else _detail
        yield make(f"{note.message} [{note.condition}]")


def _heading(text: str) -> Line:
    return Line(text=f"  {text}", kind=LineKind.HEADING)


def _detail(text: str) -> Line:
    return Line(text=f"   {text}", kind=LineKind.DETAIL)


def _warning(text: str) -> Line:
    return Line(text=f"   ! {text}", kind=LineKind.WARNING)
