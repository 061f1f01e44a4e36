"""Which of several versions of a record stays (format sheet, section 1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from framework.errors import UnsupportedTableError, Where
from framework.hudi.table.layout import PROPERTIES
from framework.hudi.table.properties import TableProperties

__all__ = ["MergeRule"]

_MODEL: Final = "org.apache.hudi.common.model."
_LATER_WINS: Final = frozenset({f"{_MODEL}OverwriteWithLatestAvroPayload"})
_GREATER_WINS: Final = frozenset(
    {f"{_MODEL}DefaultHoodieRecordPayload", f"{_MODEL}EventTimeAvroPayload"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """How versions of one record are compared.

    Attributes:
        ordering: the column whose greater value wins, the later write where they are equal; null
            is less than any value. None: the later write wins.
    """

    ordering: str | None = None

    @classmethod
    def of(cls, properties: TableProperties) -> Self:
        """Return the rule of a table.

        Without a payload class an ordering field decides, as in Apache Hudi 1.x.

        Raises:
            UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`.
        """
        payload = properties.payload_class
        if payload in _LATER_WINS:
            return cls()
        if payload is not None and payload not in _GREATER_WINS:
            raise _unsupported(
                "payload-class", f"records are merged by {payload}, whose rule is not known here"
            )
        if len(properties.ordering_fields) > 1:
            names = ", ".join(properties.ordering_fields)
            raise _unsupported(
                "ordering-fields", f"versions are ordered by several fields: {names}"
            )
        return cls(ordering=properties.ordering_field)


def _unsupported(condition: str, message: str) -> UnsupportedTableError:
    """Return the error for a table whose records are merged in another way."""
    return UnsupportedTableError(
        f"merge/{condition}",
        message,
        where=Where(file=PROPERTIES),
        remedy="Read and write the table with Apache Hudi.",
    )
