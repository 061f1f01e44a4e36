"""A plan as Markdown for a pull request: a table of modes, the stages, the readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from framework.errors import FrameworkError, SpecError
from framework.plan.catalogs.target import target_text
from framework.plan.definition import Plan
from framework.plan.partitions import PartitionPlan, totals
from framework.plan.readers.gate import reader_groups
from framework.plan.render.stage_document import key_text, stage_text, stage_words
from framework.plan.render.text import diff_lines, result_text
from framework.plan.stages import BeginBootstrap, BeginLoad
from framework.plan.words import count_text, number_text, seconds_text, size_text
from framework.vocabulary import BootstrapMode

__all__ = ["cell", "failure_text", "markdown_text"]

_OPEN_AT_MOST: Final = 12
_ROWS_AT_MOST: Final = 200


def failure_text(spec: str, error: FrameworkError) -> str:
    """Return the errors of a spec as GitHub-flavoured Markdown that ends in a newline."""
    return "\n".join([f"### `{cell(spec)}`: failed", "", *_errors(error), ""])


def _errors(error: FrameworkError) -> Iterator[str]:
    """Yield one line per error; a faulty spec has one per finding."""
    if not isinstance(error, SpecError):
        yield _line(error.condition, str(error.where), error.message, error.remedy)
        return
    for each in error.findings:
        near = f"write {each.suggestion}" if each.suggestion else ""
        level = "" if each.severity == "error" else f"{each.severity}: "
        yield _line(each.rule, str(each.where), f"{level}{each.message}", near)


def _line(condition: str, where: str, message: str, remedy: str) -> str:
    place = f"{cell(where)}: " if where else ""
    advice = f" ({cell(remedy)})" if remedy else ""
    return f"- **error** {place}{cell(message)} `{condition}`{advice}"


def markdown_text(plan: Plan, *known: str) -> str:
    """Return the plan as GitHub-flavoured Markdown that ends in a newline.

    `known` are sentences about data read besides the footers, such as "Keys: not proven.".

    More than 12 partitions are folded, and only the first 200 are listed, so that
    the text fits in a comment.
    """
    parts = [
        *_head(plan),
        *(line for sentence in known for line in (sentence, "")),
        *_modes(plan),
        *_partitions(plan),
        *_diff(plan),
        *_readers(plan),
    ]
    return "\n".join([*parts, *_notes(plan), f"**{result_text(plan)}**"]) + "\n"


def _head(plan: Plan) -> Iterator[str]:
    """Yield the title, the key and the stages."""
    rule = plan.target.key_rule
    yield f"### `{plan.target.name}`"
    yield ""
    yield (
        f"{plan.target.table_type}, {key_text(rule.record_key)} unique in {rule.scope}, "
        f"{rule.generator.class_name.rpartition('.')[2]}{_columns(plan)}"
    )
    yield ""
    shown = [stage for stage in plan.stages if not isinstance(stage, BeginBootstrap | BeginLoad)]
    for number, stage in enumerate(shown, start=1):
        yield f"{number}. **{stage_words(stage)}** {cell(stage_text(stage))}"
    if shown and plan.catalog is not None:
        yield f"{len(shown) + 1}. **then** {cell(target_text(plan.catalog))}"
    if plan.taken.files:
        cost = seconds_text(plan.estimate.core_seconds)
        size = size_text(plan.estimate.bytes_to_write)
        yield ""
        yield f"Estimate: ~{size} to write, ~{cost}."
    if shown:
        yield ""


def _columns(plan: Plan) -> str:
    """Return the number of columns; nothing where only a load can determine it."""
    return f", schema of {count_text(len(plan.schema), 'column')}" if plan.schema else ""


def _modes(plan: Plan) -> Iterator[str]:
    """Yield one row for each mode that has partitions."""
    if not plan.partitions:
        return
    yield "| mode | partitions | files | rows | size |"
    yield "|---|---:|---:|---:|---:|"
    for mode in BootstrapMode:
        sums = totals(plan.of_mode(mode))
        if sums.partitions:
            counts = (sums.partitions, sums.files, sums.rows)
            numbers = " | ".join(number_text(n) for n in counts)
            yield f"| {mode} | {numbers} | {size_text(sums.bytes)} |"
    yield ""


def _partitions(plan: Plan) -> Iterator[str]:
    """Yield one row per partition, folded if there are many."""
    if len(plan.partitions) < 2:  # noqa: PLR2004  the table of modes covers a single one
        return
    folded = len(plan.partitions) > _OPEN_AT_MOST
    if folded:
        yield f"<details><summary>{count_text(len(plan.partitions), 'partition')}</summary>"
        yield ""
    yield "| partition | mode | files | rows | size | why |"
    yield "|---|---|---:|---:|---:|---|"
    yield from (_partition(each) for each in plan.partitions[:_ROWS_AT_MOST])
    yield ""
    left = len(plan.partitions) - _ROWS_AT_MOST
    if left > 0:
        yield f"and {count_text(left, 'more partition')}"
        yield ""
    if folded:
        yield "</details>"
        yield ""


def _partition(each: PartitionPlan) -> str:
    rule = "default" if each.rule is None else f"rules[{each.rule}]"
    why = f"{rule}: {cell(each.reason)}" if each.reason else rule
    path = f"`{cell(each.partition_path)}`" if each.partition_path else "(root)"
    numbers = f"{number_text(each.files)} | {number_text(each.rows)} | {size_text(each.bytes)}"
    return f"| {path} | {each.mode} | {numbers} | {why} |"


def _diff(plan: Plan) -> Iterator[str]:
    """Yield the changes against a table that exists, as in the text form."""
    lines = diff_lines(plan)
    yield from (f"- {cell(line.text.strip())}" for line in lines)
    if lines:
        yield ""


def _readers(plan: Plan) -> Iterator[str]:
    """Yield the readers by ability, and the exceptions that apply."""
    yield "| readers | |"
    yield "|---|---|"
    yield from (f"| {word} | {cell(readers)} |" for word, readers in reader_groups(plan.readers))
    yield ""
    for each in plan.readers.exceptions:
        yield (
            f"- **{each.name}** ({each.who}) {cell(each.message)}. "
            f"With `full_record`: {cell(each.full_record)}."
        )
    if plan.readers.exceptions:
        yield ""


def _notes(plan: Plan) -> Iterator[str]:
    """Yield the notes, warnings marked."""
    for note in plan.notes:
        mark = "**warning** " if note.level == "warning" else ""
        yield f"- {mark}{cell(note.message)} `{note.condition}`"
    if plan.notes:
        yield ""


def cell(text: str) -> str:
    """Return text that is safe in a table cell and starts no markup or mention."""
    escaped = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return escaped.replace("@", "@\u200b").replace("`", "'")
