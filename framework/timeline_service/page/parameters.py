"""What a caller of the page's data may say: numbers within bounds, and which part of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from framework.timeline_service.messages import RequestRefusedError

__all__ = ["Part"]

T = TypeVar("T")

_MOST: Final = 200
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a list.

    Attributes:
        offset: how many come before it.
        limit: how many are in it at most.
    """

    offset: int
    limit: int

    @classmethod
    def of(cls, said: Mapping[str, str], usual: int) -> Self:
        """Return the part that a query asks for.

        Raises:
            RequestRefusedError: 400; a number is none, or out of bounds.
        """
        offset = _number(said, "offset", 0)
        limit = _number(said, "limit", usual)
        if not 1 <= limit <= _MOST:
            raise RequestRefusedError(400, f"limit is a number from 1 to {_MOST}")
        return cls(offset=offset, limit=limit)

    def of_list(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of this part."""
        return items[self.offset : self.offset + self.limit]

    def document(self, items: Sequence[Any], total: int) -> dict[str, Any]:
        """Return the part as JSON: its items, where they stand, and how many there are in all."""
        return {
            "items": list(items),
            "offset": self.offset,
            "limit": self.limit,
            "total": total,
        }


def _number(said: Mapping[str, str], name: str, usual: int) -> int:
    """Return a parameter that is a whole number and not negative."""
    text = said.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS:
        raise RequestRefusedError(400, f"{name} is a whole number, not negative")
    return int(text)
