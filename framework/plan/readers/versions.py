"""The readers of the reader gate: which engines can read a table, and which can keep writing it.

`READERS` rates each for a table with skeletons and for one without. `YES` was verified by running
that release, `DOCUMENTED` is a statement of its project or vendor, `UNPROVEN` is neither.
`plan.readers.exceptions` lowers the ratings for certain data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from framework.vocabulary import ReaderName

__all__ = ["ANY_VERSION", "READERS", "Ability", "Reader"]

ANY_VERSION: Final = "any"


@unique
class Ability(StrEnum):
    """How certain it is that a reader can do something; ordered from worst to best."""

    NO = "no"
    UNPROVEN = "unproven"
    DOCUMENTED = "documented"
    YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One engine at one version, and what it can do if no exception applies.

    `skeletons` and `full` are pairs (read, continue) for a table with skeletons and for one
    without; `note` explains the first pair where needed.
    """

    key: ReaderName
    engine: str
    version: str
    skeletons: tuple[Ability, Ability]
    full: tuple[Ability, Ability]
    note: str = ""


_NO, _UNPROVEN, _DOCUMENTED, _YES = Ability
_BOTH: Final = (_YES, _YES)
_READ_ONLY: Final = (_DOCUMENTED, _NO)

READERS: Final[tuple[Reader, ...]] = (
    Reader(
        key=ReaderName.SPARK_HUDI_1_2,
        engine="Spark with Apache Hudi",
        version="1.2.0",
        skeletons=_BOTH,
        full=_BOTH,
    ),
    Reader(
        key=ReaderName.SPARK_HUDI_1_1,
        engine="Spark with Apache Hudi",
        version="1.1.x",
        skeletons=_BOTH,
        full=_BOTH,
    ),
    Reader(
        key=ReaderName.SPARK_HUDI_1_0,
        engine="Spark with Apache Hudi",
        version="1.0.x",
        skeletons=_BOTH,
        full=_BOTH,
    ),
    Reader(
        key=ReaderName.SPARK_HUDI_0_15,
        engine="Spark with Apache Hudi",
        version="0.15.0",
        skeletons=_BOTH,
        full=_BOTH,
    ),
    Reader(
        key=ReaderName.TRINO,
        engine="Trino",
        version="476",
        skeletons=(_YES, _NO),
        full=(_YES, _NO),
    ),
    Reader(
        key=ReaderName.HUDI_TRINO,
        engine="Trino",
        version="hudi-trino 1.2.1",
        skeletons=(_UNPROVEN, _NO),
        full=(_UNPROVEN, _NO),
        note="skeletons were never shown to work",
    ),
    Reader(
        key=ReaderName.HUDI_RS,
        engine="hudi-rs",
        version="0.5.0",
        skeletons=(_NO, _NO),
        full=(_YES, _NO),
        note="returns NULL for every data column of a skeleton, without an error",
    ),
    Reader(
        key=ReaderName.HIVE,
        engine="Hive",
        version=ANY_VERSION,
        skeletons=(_NO, _NO),
        full=_READ_ONLY,
        note="fails on a data column of a partitioned table (apache/hudi issue 19643)",
    ),
    Reader(
        key=ReaderName.ATHENA,
        engine="Athena",
        version="engine 3",
        skeletons=(_UNPROVEN, _NO),
        full=_READ_ONLY,
        note="skeletons were never shown to work",
    ),
    Reader(
        key=ReaderName.FLINK,
        engine="Flink",
        version=ANY_VERSION,
        skeletons=(_UNPROVEN, _UNPROVEN),
        full=(_UNPROVEN, _UNPROVEN),
        note="skeletons were never shown to work",
    ),
)
