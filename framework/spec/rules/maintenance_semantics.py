"""Faults between the fields of `maintenance`, and between them and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from framework import vocabulary
from framework.spec.rules.lookup import Lookup
from framework.spec.sections import maintenance_spec

__all__ = ["MaintenanceSemantics"]

_POLICIES: Final = ("keep_commits", "keep_for", "keep_versions")
_LEAST_SORTED: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSemantics(Lookup):
    """Validator of `maintenance` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_compact()
        self._check_clean()
        self._check_archive()
        self._check_cluster()

    def _check_compact(self) -> None:
        """Report compaction of a table without log files."""
        kind = self._at("table", "type")
        merges = kind == vocabulary.TableType.MERGE_ON_READ.value
        if isinstance(self._at("maintenance", "compact"), Mapping) and not merges:
            message = "a copy_on_write table has no log files to compact"
            self._note("nothing-to-compact", "maintenance.compact", message)

    def _check_clean(self) -> None:
        """Report more than one policy."""
        named = [name for name in _POLICIES if self._has(f"maintenance.clean.{name}")]
        for name in named[1:]:
            message = f"`{named[0]}` is written already; a table has one policy of cleaning"
            self._note("one-clean-policy", f"maintenance.clean.{name}", message)

    def _check_archive(self) -> None:
        """Report limits of archival that cross each other, or the commits that cleaning keeps."""
        section = ("maintenance", "archive")
        least = self._number(*section, "keep_min") or maintenance_spec.ARCHIVE_KEEP_MIN
        most = self._number(*section, "keep_max") or maintenance_spec.ARCHIVE_KEEP_MAX
        if most <= least:
            name = "keep_max" if self._has("maintenance.archive.keep_max") else "keep_min"
            message = f"keep_max ({most}) must be greater than keep_min ({least})"
            suggestion = f"keep_max: {least + 10}" if name == "keep_max" else None
            self._note("out-of-range", f"maintenance.archive.{name}", message, suggestion)
        commits = self._number("maintenance", "clean", "keep_commits")
        if commits is not None and commits >= least:
            message = (
                f"keep_commits ({commits}) must be less than archive.keep_min ({least}): "
                "slices of archived commits cannot be cleaned one by one"
            )
            path = "maintenance.clean.keep_commits"
            self._note("out-of-range", path, message, f"keep_commits: {least - 1}")

    def _check_cluster(self) -> None:
        """Require two columns for a Z-order."""
        columns = self._at("maintenance", "cluster", "by")
        count = len(columns) if isinstance(columns, list) else 0
        z_order = self._at("maintenance", "cluster", "z_order")
        typed = getattr(z_order, "typed", lambda: z_order)()
        if typed is True and count < _LEAST_SORTED:
            message = "a Z-order needs two columns or more in `by`"
            self._note("z-order-columns", "maintenance.cluster.z_order", message)
