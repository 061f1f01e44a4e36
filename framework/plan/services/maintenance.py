"""Which table services follow a load, from the section `maintenance` of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.plan.words import count_text
from framework.spec.sections.maintenance_spec import (
    CLEAN_KEEP_COMMITS,
    ArchiveSpec,
    CleanSpec,
    ClusterSpec,
    MaintenanceSpec,
)
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.quantities import hours_text
from framework.spec.sections.source_spec import TARGET_FILE_SIZE
from framework.vocabulary import RowOrder, TableType

__all__ = ["Maintenance", "maintenance_of", "maintenance_text"]

_SMALL_SHARE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """The services that follow a load, in this order.

    Attributes:
        compact_logs: slices with this number of log files or more are compacted; None for none.
        cluster: how partitions are clustered; None: not at all.
        cluster_files: only partitions with this number of slices to cluster or more.
        clean: which slices stay; None: nothing is cleaned.
        archive: how many commits stay active; None: nothing is archived.
    """

    compact_logs: int | None = None
    cluster: ClusterRequest | None = None
    cluster_files: int = 0
    clean: CleanPolicy | None = None
    archive: ArchivalLimits | None = None


def maintenance_of(spec: PipelineSpec) -> Maintenance:
    """Return what follows a load of the spec; defaults hold for what it leaves out."""
    found = spec.maintenance or MaintenanceSpec()
    if not found.enabled:
        return Maintenance()
    merges = spec.table.type is TableType.MERGE_ON_READ
    cluster = found.cluster if found.cluster and found.cluster.enabled else None
    target = spec.write.target_file_size if spec.write else TARGET_FILE_SIZE
    return Maintenance(
        compact_logs=found.compact.min_logs if merges and found.compact.enabled else None,
        cluster=None if cluster is None else _request(cluster, target),
        cluster_files=0 if cluster is None else cluster.min_files,
        clean=_policy(found.clean) if found.clean.enabled else None,
        archive=_limits(found.archive) if found.archive.enabled else None,
    )


def maintenance_text(rules: Maintenance) -> str:
    """Return the services as one sentence; "" if there are none."""
    return "; ".join(_sentences(rules))


def _sentences(rules: Maintenance) -> Iterator[str]:
    if rules.compact_logs is not None:
        logs = count_text(rules.compact_logs, "log file")
        yield f"slices with {logs} or more are compacted"
    if rules.cluster is not None:
        by = f", by {', '.join(rules.cluster.by)}" if rules.cluster.by else ""
        yield f"partitions with {rules.cluster_files:,} small files or more are clustered{by}"
    if rules.clean is not None:
        yield _clean_text(rules.clean)
    if rules.archive is not None:
        most, least = rules.archive.keep_max, rules.archive.keep_min
        yield f"with more than {count_text(most, 'commit')} all but {least:,} are archived"


def _clean_text(clean: CleanPolicy) -> str:
    if clean.keep_hours is not None:
        return f"files that commits of {hours_text(clean.keep_hours)} do not need are cleaned"
    if clean.keep_versions is not None:
        return f"all but {count_text(clean.keep_versions, 'slice')} of a file group are cleaned"
    commits = count_text(clean.keep_commits or 0, "latest commit")
    return f"files that the {commits} do not need are cleaned"


def _policy(spec: CleanSpec) -> CleanPolicy:
    if spec.keep_for is None and spec.keep_versions is None:
        return CleanPolicy(keep_commits=spec.keep_commits or CLEAN_KEEP_COMMITS)
    return CleanPolicy(keep_hours=spec.keep_for, keep_versions=spec.keep_versions)


def _limits(spec: ArchiveSpec) -> ArchivalLimits:
    return ArchivalLimits(keep_min=spec.keep_min, keep_max=spec.keep_max)


def _request(spec: ClusterSpec, target_bytes: int) -> ClusterRequest:
    return ClusterRequest(
        by=spec.by or (),
        order=RowOrder.Z_ORDER if spec.z_order else RowOrder.LINEAR,
        target_bytes=target_bytes,
        small_bytes=spec.small_file or target_bytes // _SMALL_SHARE,
    )
