"""Verdicts of the reader gate in few words: readers that fare alike stand together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.plan.readers.versions import ANY_VERSION, Ability

if TYPE_CHECKING:
    from framework.plan.readers.gate import ReaderGate, ReaderVerdict

__all__ = ["reader_groups", "reader_word"]


def reader_groups(gate: ReaderGate) -> tuple[tuple[str, str], ...]:
    """Return pairs of what can be done and who can, in the order of the first reader of each.

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
    """Return the version if it matters, and that reading is only documented where it is."""
    version = "" if verdict.version == ANY_VERSION else verdict.version
    word = "(as documented)" if verdict.reads is Ability.DOCUMENTED else ""
    return " ".join(part for part in (version, word) if part)


def _engines(engines: dict[str, list[str]]) -> str:
    """Return engines with their versions."""
    return "; ".join(f"{name} {', '.join(versions)}".strip() for name, versions in engines.items())
