"""One look at a file's key columns for a proof alone: nulls, order, and no text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.hudi.bootstrap.key_pass import check_text, key_facts
from framework.hudi.keygen.ordering import FollowedOrder, is_injective
from framework.hudi.keygen.text import null_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.bootstrap.key_pass import KeyFacts
    from framework.hudi.keygen.rule import KeyRule
    from framework.hudi.table.partition_path import PartitionValue

__all__ = ["KeyScan"]


class KeyScan:
    """Looks at the keys of one file, batch by batch; keys are of columns, not automatic.

    Attributes:
        injective: whether composite texts so far can be taken apart in one way only; else hashes of
            values say nothing about them.
    """

    def __init__(self, rule: KeyRule, values: Mapping[str, PartitionValue]) -> None:
        self._rule = rule
        self._values = values
        self._order = FollowedOrder()
        self._rows = self._nulls = 0
        self.injective = True

    @property
    def increasing(self) -> bool:
        """Whether all keys so far are there and increase from row to row."""
        return self._order.increasing and not self._nulls

    def add(self, batch: Any) -> None:
        """Take in a batch of key columns with at least one row.

        Raises:
            CorruptFileError: `key/not-utf8`.
        """
        check_text(batch, self._rows)
        self._rows += batch.num_rows
        self._nulls += null_rows(self._rule, batch, self._values).size
        if self._order.increasing:
            self._order.add(self._rule, batch, self._values)
            self.injective &= self._order.injective
        else:
            self.injective = self.injective and is_injective(self._rule, batch, self._values)

    def facts(self) -> KeyFacts:
        """Return what is known after the last batch; least and greatest text are not."""
        return key_facts(self._rows, self._nulls, self._order)
