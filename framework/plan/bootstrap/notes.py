"""What a planned table is like: notes for its author, and traits for the reader gate.

Notes are warnings and advice; each trait comes with its cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from framework.hudi.keygen.rule import KeyGenerator
from framework.hudi.storage.object_uri import store_of
from framework.hudi.table.partition_path import HIVE_DEFAULT
from framework.hudi.table.schema import Widening, widenings
from framework.plan.definition import PlanNote
from framework.plan.estimate import commit_bytes
from framework.plan.observation import SourceInventory
from framework.plan.partitions import PartitionPlan, totals
from framework.plan.readers.exceptions import Trait
from framework.plan.readers.source_formats import FORMATS
from framework.plan.target import Target
from framework.plan.words import count_text, listing, size_text
from framework.vocabulary import BloomKind, BootstrapMode, PartitionType, SourceTrait, TableType

__all__ = ["notes_of", "traits_of"]

_BIG_COMMIT_FILES: Final = 100_000
_RULES_AT_MOST: Final = 5
_OVERFULL: Final = 2
_TEXT_TYPES: Final = ("string", "large_string")
_NOT_REWRITTEN: Final = {
    SourceTrait.INT96: ("source/int96", "with INT96 timestamps", "by Apache Hudi"),
    SourceTrait.MILLISECOND: (
        "source/millisecond",
        "with timestamps in milliseconds",
        "correctly by Apache Hudi before 1.1",
    ),
}


def notes_of(
    target: Target, source: SourceInventory, partitions: tuple[PartitionPlan, ...], schema: Any
) -> tuple[PlanNote, ...]:
    """Return the notes on a plan that creates a table of this schema, warnings first."""
    found = [
        *_rewrite_notes(source, partitions),
        *_size_notes(partitions),
        *_bloom_notes(target, partitions),
        *_key_notes(target, schema),
        *_ignored_notes(source),
    ]
    return tuple(sorted(found, key=lambda note: note.level != "warning"))


def _rewrite_notes(
    source: SourceInventory, partitions: tuple[PartitionPlan, ...]
) -> Iterator[PlanNote]:
    """Advise `full_record` for partitions whose files some Hudi job cannot rewrite correctly."""
    skeletons = [p for p in partitions if p.mode is BootstrapMode.METADATA_ONLY]
    for trait, (condition, what, by_whom) in _NOT_REWRITTEN.items():
        hit = _partitions_with(trait, source, skeletons)
        if hit:
            yield PlanNote(
                condition=condition,
                level="warning",
                message=(
                    f"{count_text(len(hit), 'partition')} {what} can be read, but not be "
                    f"rewritten {by_whom}; to write these in full: {_full_record_rule(hit)}"
                ),
            )


def _full_record_rule(paths: tuple[str, ...]) -> str:
    """Return the rule that writes these partitions in full, ready to paste into the spec."""
    if paths == ("",):
        return "mode: full_record"
    pattern = "|".join(re.escape(path).replace("\\-", "-") for path in paths[:_RULES_AT_MOST])
    left = len(paths) - _RULES_AT_MOST
    more = f" (and {count_text(left, 'more partition')})" if left > 0 else ""
    return f"- {{partition: {_quoted(pattern)}, mode: full_record}}{more}"


def _quoted(pattern: str) -> str:
    """Return a YAML scalar of the pattern: single-quoted, where a backslash is itself."""
    return "'" + pattern.replace("'", "''") + "'" if pattern.isprintable() else json.dumps(pattern)


def _size_notes(partitions: tuple[PartitionPlan, ...]) -> Iterator[PlanNote]:
    """Warn of a commit so large that Apache Hudi takes long to open the table."""
    files = totals(p for p in partitions if p.mode is not BootstrapMode.SKIP).files
    if files > _BIG_COMMIT_FILES:
        yield PlanNote(
            condition="plan/big-commit",
            level="warning",
            message=(
                f"the commit of {count_text(files, 'file')} will have about "
                f"{size_text(commit_bytes(files))}, which Apache Hudi reads whole when it opens "
                "the table"
            ),
        )


def _bloom_notes(target: Target, partitions: tuple[PartitionPlan, ...]) -> Iterator[PlanNote]:
    """Warn of files so long that their bloom filters reject few absent keys."""
    most = _OVERFULL * target.bloom.max_keys
    long = tuple(
        repr(p.partition_path)
        for p in partitions
        if p.mode is not BootstrapMode.SKIP and p.rows > p.files * most
    )
    if long and target.bloom.kind != BloomKind.NONE:
        yield PlanNote(
            condition="bloom/overfull",
            level="info",
            message=(
                f"files of {listing(long)} have more than {most:,} rows, so their bloom filters "
                f"rule out little; they stop growing at table.bloom.max_keys, {most // _OVERFULL:,}"
            ),
        )


def _key_notes(target: Target, schema: Any) -> Iterator[PlanNote]:
    """Warn that text parts of a composite key may give two keys the same text."""
    if not target.key_rule.is_composite:
        return
    types = {field.name: str(field.type) for field in schema or ()}
    declared = target.partition_types
    text = tuple(
        column
        for column in target.key_rule.record_key
        if types.get(column) in _TEXT_TYPES
        or (column not in types and declared.get(column) is PartitionType.STRING)
    )
    if text:
        yield PlanNote(
            condition="key/text-may-collide",
            level="info",
            message=(
                f"key parts {listing(text)} are text: values with ',' or ':' could give two keys "
                "the same text; uniqueness is proven on that text, so the audit would refuse them"
            ),
        )


def _ignored_notes(source: SourceInventory) -> Iterator[PlanNote]:
    """Report how many hidden files were skipped."""
    if source.ignored_files:
        yield PlanNote(
            condition="source/ignored-files",
            level="info",
            message=(
                f"skipped {count_text(source.ignored_files, 'file')} under the source, as Spark "
                "does (names that start with '_' or '.')"
            ),
        )


# Arrow's text of the types; it is searched as a whole, so nested types count too.
_TYPES: Final[Mapping[Trait, re.Pattern[str]]] = {
    Trait.NAIVE_TIMESTAMP: re.compile(r"timestamp\[\w+\]"),
    Trait.NANOSECOND: re.compile(r"timestamp\[ns\b"),
    Trait.TIME: re.compile(r"time(32|64)\["),
    Trait.FLOAT16: re.compile(r"halffloat"),
    Trait.LIST: re.compile(r"\blist<"),
}
_OF_FILES: Final = {
    Trait.INT96: SourceTrait.INT96,
    Trait.MILLISECOND: SourceTrait.MILLISECOND,
    Trait.LEGACY_CALENDAR: SourceTrait.LEGACY_CALENDAR,
    Trait.EARLY_DAYS: SourceTrait.EARLY_DAYS,
    **{Trait(known.trait.value): known.trait for known in FORMATS if not known.is_refused},
}
_DATE: Final = "date32[day]"
_PLAIN_IN_PATH: Final = {PartitionType.STRING, PartitionType.DATE}


def traits_of(
    target: Target, source: SourceInventory, partitions: Sequence[PartitionPlan], schema: Any
) -> dict[Trait, str]:
    """Return the traits of the table that this plan creates, each with its cause as text.

    `schema` is the table's.
    """
    skeletons = tuple(p for p in partitions if p.mode is BootstrapMode.METADATA_ONLY)
    types = {} if schema is None else {field.name: str(field.type) for field in schema}
    flags = {
        Trait.SKELETONS: bool(skeletons),
        Trait.MERGE_ON_READ: target.table_type is TableType.MERGE_ON_READ,
        Trait.CUSTOM_KEYS: target.key_rule.generator is KeyGenerator.CUSTOM,
    }
    return {
        **{trait: "" for trait, present in flags.items() if present},
        **_type_traits(types),
        **_widened_trait(source, skeletons, schema),
        **_file_traits(source, skeletons),
        **_path_traits(target, types, skeletons),
        **_value_traits(target, partitions),
        **_place_traits(target, source, skeletons),
        **_ordering_traits(target, types),
    }


def _partitions_with(
    trait: SourceTrait, source: SourceInventory, partitions: Sequence[PartitionPlan]
) -> tuple[str, ...]:
    """Return the paths among `partitions` that have a source file with this trait."""
    having = {s.partition_path for s in source.partitions if s.traits.get(trait, 0)}
    return tuple(p.partition_path for p in partitions if p.partition_path in having)


def _type_traits(types: Mapping[str, str]) -> dict[Trait, str]:
    """Return the traits that follow from column types, with the columns."""
    hits = {
        trait: tuple(name for name, text in types.items() if pattern.search(text))
        for trait, pattern in _TYPES.items()
    }
    return {trait: f"column {listing(names)}" for trait, names in hits.items() if names}


def _widened_trait(
    source: SourceInventory, skeletons: Sequence[PartitionPlan], schema: Any
) -> dict[Trait, str]:
    """Return the traits of columns that a file with a skeleton has in a narrower type."""
    if schema is None:
        return {}
    paths = {p.partition_path for p in skeletons}
    taken = {at for s in source.partitions if s.partition_path in paths for at in s.schemas}
    names: dict[Trait, set[str]] = {}
    for at in taken:
        for field in source.schemas[at].schema:
            for found in widenings(field.type, schema.field(field.name).type):
                for trait in _of_widening(found):
                    names.setdefault(trait, set()).add(field.name)
    return {trait: f"column {listing(tuple(sorted(hit)))}" for trait, hit in names.items()}


def _of_widening(found: Widening) -> Iterator[Trait]:
    """Yield the traits that follow from one leaf in a narrower type."""
    yield Trait.WIDENED
    if found.is_nested:
        yield Trait.WIDENED_NESTED
    if str(found.narrow) in {"float", "halffloat"}:
        yield Trait.WIDENED_FLOAT


def _file_traits(source: SourceInventory, skeletons: Sequence[PartitionPlan]) -> dict[Trait, str]:
    """Return the traits of files that are not rewritten, with their count and partitions."""
    found: dict[Trait, str] = {}
    for trait, of_file in _OF_FILES.items():
        hit = set(_partitions_with(of_file, source, skeletons))
        having = tuple(s for s in source.partitions if s.partition_path in hit)
        if having:
            files = count_text(sum(s.traits[of_file] for s in having), "file")
            place = f"{files} in {_paths(tuple(s.partition_path for s in having))}"
            column = having[0].examples.get(of_file, ("", ""))[1]
            found[trait] = f"column '{column}', {place}" if column else place
    return found


def _ordering_traits(target: Target, types: Mapping[str, str]) -> dict[Trait, str]:
    """Return the trait of ordering columns that are dates."""
    declared = target.partition_types
    dates = tuple(
        column
        for column in target.ordering
        if types.get(column, declared.get(column)) in {_DATE, PartitionType.DATE}
    )
    return {Trait.DATE_ORDERING: f"column {listing(dates)}"} if dates else {}


def _path_traits(
    target: Target, types: Mapping[str, str], skeletons: Sequence[PartitionPlan]
) -> dict[Trait, str]:
    """Return the traits of partition columns, with columns or partitions.

    All but that of the default partition are about columns that no file contains.
    """
    if not skeletons:
        return {}
    declared = {n: kind for n, kind in target.partition_types.items() if n not in types}
    dates = tuple(n for n, kind in declared.items() if kind is PartitionType.DATE)
    typed = tuple(n for n, kind in declared.items() if kind not in _PLAIN_IN_PATH)
    paths = tuple(p.partition_path for p in skeletons)
    escapes = bool(declared) and target.key_rule.url_encode
    escaped = tuple(path for path in paths if "%" in path) if escapes else ()
    absent = tuple(path for path in paths if _is_null_in(path, target, target.partition_types))
    causes = {
        Trait.DATE_PATH_ONLY: f"column {listing(dates)}" if dates else "",
        Trait.TYPED_PATH_ONLY: f"column {listing(typed)}" if typed else "",
        Trait.ESCAPED_PATH_ONLY: f"partition {_paths(escaped)}" if escaped else "",
        Trait.DEFAULT_PARTITION: f"partition {_paths(absent)}" if absent else "",
    }
    return {trait: cause for trait, cause in causes.items() if cause}


def _value_traits(target: Target, partitions: Sequence[PartitionPlan]) -> dict[Trait, str]:
    """Return the trait of partitions whose folder is not the text of their values."""
    taken = (p.partition_path for p in partitions if p.mode is not BootstrapMode.SKIP)
    escapes = target.key_rule.url_encode
    hit = tuple(
        path
        for path in taken
        if (escapes and "%" in path) or _is_null_in(path, target, target.partition_types)
    )
    return {Trait.ESCAPED_VALUE: f"partition {_paths(hit)}"} if hit else {}


def _place_traits(
    target: Target, source: SourceInventory, skeletons: Sequence[PartitionPlan]
) -> dict[Trait, str]:
    """Return the trait of skeletons whose source is in another store than the table."""
    stores = store_of(source.location), store_of(target.location)
    if not skeletons or stores[0] == stores[1]:
        return {}
    return {Trait.SOURCE_ELSEWHERE: f"source in {stores[0] or 'local files'}"}


def _is_null_in(path: str, target: Target, columns: Mapping[str, PartitionType]) -> bool:
    """Return whether the folder gives one of these columns the null value."""
    levels = zip(target.partition_types, path.split("/"), strict=False)
    return any(name in columns and level.endswith(HIVE_DEFAULT) for name, level in levels)


def _paths(paths: tuple[str, ...]) -> str:
    """Return partition paths quoted, the first few of them."""
    return listing(tuple(repr(path) if path else "the root folder" for path in paths))
