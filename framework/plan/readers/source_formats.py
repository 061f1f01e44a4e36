"""What each engine does with source files, by codec, encoding and type: one table of test results.

`FORMATS` lists every trait of `framework.hudi.bootstrap.source_schema` with its wrong outcomes, for
files that stay as they are (`metadata_only`). The refusals of a plan
(`framework.plan.bootstrap.build_bootstrap`) and exceptions of the reader gate are derived from it.
`tests/spark/test_source_formats.py` verifies the table on PySpark 4.1 and 3.5,
`tests/interop/test_source_formats.py` on Apache Hudi, which gets the options that `status` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from framework.vocabulary import SourceTrait

__all__ = ["FORMATS", "Engine", "SourceFormat", "Use"]


@unique
class Engine(StrEnum):
    """A tested engine: Lakestrap in process, Lakestrap on Spark, Apache Hudi on Spark 3.5."""

    IN_PROCESS = "in_process"
    SPARK_4_1 = "spark_4_1"
    SPARK_3_5 = "spark_3_5"
    HUDI_1_2 = "hudi_1_2_0"
    HUDI_0_15 = "hudi_0_15_0"


@unique
class Use(StrEnum):
    """The outcome of reading a table, or of upserting one row of it."""

    RIGHT = "right"
    FAILS = "fails"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFormat:
    """One trait.

    Attributes:
        trait: of a file.
        what: a file with it, as the end of "files with …".
        reads: engines that do not read the right rows from files left as they are; where files of
            the trait differ, the worst outcome.
        upserts: engines whose upsert that touches such a file is wrong; Lakestrap on Spark has
            none.
        heals: whether `full_record` makes all of that right.
        stored: what `full_record` stores, if that is another type; else "".
    """

    trait: SourceTrait
    what: str
    reads: Mapping[Engine, Use] = field(default_factory=dict)
    upserts: Mapping[Engine, Use] = field(default_factory=dict)
    heals: bool = True
    stored: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether files with it cannot stay as they are.

        Some reader of Lakestrap cannot read them, or no release of Apache Hudi can.
        """
        ours = any(engine in self.reads for engine in _OURS)
        return ours or all(engine in self.reads for engine in _HUDI)


_OURS: Final = (Engine.IN_PROCESS, Engine.SPARK_4_1, Engine.SPARK_3_5)
_ON_SPARK: Final = (Engine.SPARK_4_1, Engine.SPARK_3_5)
_HUDI: Final = (Engine.HUDI_1_2, Engine.HUDI_0_15)


def _fail(*engines: Engine) -> Mapping[Engine, Use]:
    return dict.fromkeys(engines, Use.FAILS)


_ALL: Final = _fail(*Engine)
_ON_JVM: Final = _fail(*_ON_SPARK, *_HUDI)
_NOT_HUDI: Final = _fail(*_HUDI)
_SPOILT: Final = dict.fromkeys(_HUDI, Use.WRONG)

FORMATS: Final[tuple[SourceFormat, ...]] = (
    SourceFormat(
        trait=SourceTrait.BROTLI,
        what="column chunks compressed with BROTLI",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.LZ4,
        what="column chunks compressed with LZ4 in another form than Hadoop's",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.LZO,
        what="column chunks compressed with LZO",
        reads=_ALL,
        upserts=_ALL,
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.UNKNOWN_CODEC,
        what="column chunks compressed with a codec newer than this release",
        reads=_ALL,
        upserts=_ALL,
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.BYTE_STREAM_SPLIT,
        what="pages in the encoding BYTE_STREAM_SPLIT",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.UNKNOWN_ENCODING,
        what="pages in an encoding newer than this release",
        reads=_ALL,
        upserts=_ALL,
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.DECIMAL_INTEGER,
        what="decimals stored as integers",
        upserts=_SPOILT,
    ),
    SourceFormat(
        trait=SourceTrait.DECIMAL_PADDED,
        what="decimals stored in more bytes than their digits need",
        upserts={Engine.HUDI_1_2: Use.WRONG},
    ),
    SourceFormat(
        trait=SourceTrait.DECIMAL_BYTES,
        what="decimals of up to 18 digits stored as byte arrays",
        reads=_fail(*_ON_SPARK, Engine.HUDI_0_15),
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.DECIMAL_BYTES_WIDE,
        what="decimals of more than 18 digits stored as byte arrays",
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.VARIANT,
        what="columns of the type VARIANT",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.GEOMETRY,
        what="columns of the type GEOMETRY",
        reads=_fail(Engine.SPARK_3_5, *_HUDI),
        upserts=_NOT_HUDI,
        stored="binary (WKB), without its coordinate system",
    ),
    SourceFormat(
        trait=SourceTrait.GEOGRAPHY,
        what="columns of the type GEOGRAPHY",
        reads=_fail(Engine.SPARK_3_5, *_HUDI),
        upserts=_NOT_HUDI,
        stored="binary (WKB), without its coordinate system",
    ),
    SourceFormat(
        trait=SourceTrait.INTERVAL,
        what="columns of the type INTERVAL",
        reads=_NOT_HUDI,
        upserts=_fail(Engine.HUDI_0_15),
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.UNKNOWN_TYPE,
        what="columns of a logical type newer than this release",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
        heals=False,
    ),
    SourceFormat(
        trait=SourceTrait.FIXED_BINARY,
        what="binary values of a fixed length",
        upserts=_fail(Engine.HUDI_0_15),
    ),
    SourceFormat(
        trait=SourceTrait.JSON,
        what="columns of the type JSON",
        upserts={Engine.HUDI_0_15: Use.WRONG},
    ),
    SourceFormat(
        trait=SourceTrait.LIST_BARE,
        what="repeated columns outside of a LIST",
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.LIST_NAMES,
        what="lists whose inner fields are not named 'list' and 'element'",
        upserts=_NOT_HUDI,
    ),
    SourceFormat(
        trait=SourceTrait.LIST_TWO_LEVEL,
        what="lists of two levels",
        upserts=_fail(Engine.HUDI_0_15),
    ),
    SourceFormat(
        trait=SourceTrait.COLON_NAME,
        what="names with ':', which Hadoop takes for the end of a scheme",
        reads=_ON_JVM,
        upserts=_NOT_HUDI,
    ),
)
