"""The reader-gate traits of a planned table, with the cause of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from framework.hudi.keygen.rule import KeyGenerator
from framework.hudi.table.partition_path import HIVE_DEFAULT
from framework.hudi.table.schema import Widening, widenings
from framework.plan.observation import SourceInventory
from framework.plan.partitions import PartitionPlan
from framework.plan.readers.exceptions import Trait
from framework.plan.readers.source_formats import FORMATS
from framework.plan.target import Target
from framework.plan.words import count_text, listing
from framework.vocabulary import BootstrapMode, PartitionType, SourceTrait, TableType

__all__ = ["partitions_with", "traits_of"]

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
        **_ordering_traits(target, types),
    }


def partitions_with(
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
        hit = set(partitions_with(of_file, source, skeletons))
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


def _is_null_in(path: str, target: Target, columns: Mapping[str, PartitionType]) -> bool:
    """Return whether the folder gives one of these columns the null value."""
    levels = zip(target.partition_types, path.split("/"), strict=False)
    return any(name in columns and level.endswith(HIVE_DEFAULT) for name, level in levels)


def _paths(paths: tuple[str, ...]) -> str:
    """Return partition paths quoted, the first few of them."""
    return listing(tuple(repr(path) if path else "the root folder" for path in paths))
