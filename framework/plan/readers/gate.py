"""The reader gate: what each known reader can do with the planned table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from framework.plan.readers.exceptions import EXCEPTIONS, ReaderException, Trait
from framework.plan.readers.versions import ANY_VERSION, READERS, Ability, Reader
from framework.vocabulary import ReaderName

__all__ = ["Exemption", "ReaderGate", "ReaderVerdict", "gate", "reader_groups", "reader_word"]

_ORDER: Final = {ability: rank for rank, ability in enumerate(Ability)}


def reader_groups(gate: ReaderGate) -> tuple[tuple[str, str], ...]:
    """Return pairs of an ability and its readers, in the order of the first reader of each.

    Versions of one engine are joined: `Spark with Apache Hudi 1.2.0, 1.1.x`.
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for verdict in gate.verdicts:
        engines = groups.setdefault(reader_word(verdict), {})
        engines.setdefault(verdict.engine, []).append(_version(verdict))
    return tuple((word, _engines(engines)) for word, engines in groups.items())


def reader_word(verdict: ReaderVerdict) -> str:
    """Return what a reader can do with the table, in a word or two."""
    if verdict.reads in {Ability.NO, Ability.UNPROVEN}:
        return "cannot read" if verdict.reads is Ability.NO else "unproven"
    if verdict.continues is Ability.NO:
        return "read only"
    return "read and write on" if verdict.continues is Ability.YES else "read, writing unproven"


def _version(verdict: ReaderVerdict) -> str:
    """Return the version, if it matters, and whether reading is only documented."""
    version = "" if verdict.version == ANY_VERSION else verdict.version
    word = "(as documented)" if verdict.reads is Ability.DOCUMENTED else ""
    return " ".join(part for part in (version, word) if part)


def _engines(engines: dict[str, list[str]]) -> str:
    return "; ".join(f"{name} {', '.join(versions)}".strip() for name, versions in engines.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderVerdict:
    """What one reader can do with the planned table, and the names of the limiting exceptions."""

    name: ReaderName
    engine: str
    version: str
    reads: Ability
    continues: Ability
    exceptions: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """An exception that applies to the plan, with `message` filled in.

    `readers` has one text per reader, `who` one for all, with versions of an engine joined.
    """

    name: str
    message: str
    full_record: str
    readers: tuple[str, ...]
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderGate:
    """One verdict per reader in the order of `READERS`, and the `EXCEPTIONS` that apply.

    `traits` are the judged ones.
    """

    verdicts: tuple[ReaderVerdict, ...]
    exceptions: tuple[Exemption, ...]
    traits: Mapping[Trait, str]


def gate(traits: Mapping[Trait, str]) -> ReaderGate:
    """Return the verdict on a table with these traits.

    Args:
        traits: each trait of the planned table with its cause, as text.
    """
    applying = tuple(e for e in EXCEPTIONS if e.traits <= traits.keys())
    verdicts = tuple(
        _verdict(reader, applying, skeletons=Trait.SKELETONS in traits) for reader in READERS
    )
    return ReaderGate(
        verdicts=verdicts,
        exceptions=tuple(_exemption(exception, traits) for exception in applying),
        traits=traits,
    )


def _verdict(
    reader: Reader, applying: tuple[ReaderException, ...], *, skeletons: bool
) -> ReaderVerdict:
    """Return what `reader` can do, lowered by each exception that affects it."""
    own = [e for e in applying if reader.key in e.readers]
    reads, continues = reader.skeletons if skeletons else reader.full
    return ReaderVerdict(
        name=reader.key,
        engine=reader.engine,
        version=reader.version,
        reads=_worst(reads, *(e.reads for e in own)),
        continues=_worst(continues, *(e.continues for e in own)),
        exceptions=tuple(e.name for e in own),
        note=reader.note if skeletons else "",
    )


def _worst(ability: Ability, *limits: Ability | None) -> Ability:
    """Return the lowest of the given abilities."""
    return min((ability, *(a for a in limits if a is not None)), key=_ORDER.__getitem__)


def _exemption(exception: ReaderException, traits: Mapping[Trait, str]) -> Exemption:
    """Return the exception with its cause filled in, and the readers by name."""
    detail = "; ".join(traits[t] for t in sorted(exception.traits) if traits[t])
    concerned = tuple(reader for reader in READERS if reader.key in exception.readers)
    return Exemption(
        name=exception.name,
        message=exception.message.format(detail=detail),
        full_record=exception.full_record,
        readers=tuple(f"{reader.engine} {reader.version}" for reader in concerned),
        who=_who(concerned),
    )


def _who(readers: Sequence[Reader]) -> str:
    """Return engines with their versions: `Trino OSS connector; Athena engine 3`."""
    versions: dict[str, list[str]] = {}
    for reader in readers:
        versions.setdefault(reader.engine, []).append(reader.version)
    return "; ".join(f"{engine} {', '.join(each)}" for engine, each in versions.items())
