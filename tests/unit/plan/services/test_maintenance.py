"""The services that follow a load, as a spec says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.plan.services.maintenance import Maintenance, maintenance_of, maintenance_text
from framework.vocabulary import RowOrder
from tests.support.planning import a_spec

ORDERS = """\
version: 1
table:
  name: shop.orders
  location: /lake/orders
  type: merge_on_read
  partition_by: {day: string}
  record_key: {columns: [id], unique_within: table}
  ordering: {columns: [ts]}
source: {path: /lake/landing}
write: {operation: upsert}
maintenance: {}
"""


def rules(folder: Path, section: str, kind: str = "merge_on_read") -> Maintenance:
    """Return the services of a section `maintenance`."""
    changes = {"maintenance: {}": f"maintenance: {section}", "merge_on_read": kind}
    return maintenance_of(a_spec(folder, ORDERS, changes=changes))


def test_maintenance_by_default_compacts_and_cleans(tmp_path: Path) -> None:
    """Copy-on-write tables have nothing to compact."""
    ten = CleanPolicy(keep_commits=10)
    limits = ArchivalLimits(keep_min=20, keep_max=30)
    expected = Maintenance(compact_logs=5, clean=ten, archive=limits)
    assert rules(tmp_path, "{}") == expected
    assert rules(tmp_path, "{}", "copy_on_write") == replace(expected, compact_logs=None)
    assert rules(tmp_path, "{archive: {enabled: false}}") == replace(expected, archive=None)
    assert rules(tmp_path, "{enabled: false}") == Maintenance()


@pytest.mark.parametrize(
    ("section", "policy"),
    [
        ("{clean: {keep_for: 7d}}", CleanPolicy(keep_hours=168)),
        ("{clean: {keep_versions: 3}}", CleanPolicy(keep_versions=3)),
        ("{clean: {keep_commits: 4}}", CleanPolicy(keep_commits=4)),
        ("{clean: {enabled: false}}", None),
    ],
)
def test_maintenance_takes_the_policy_of_cleaning(
    tmp_path: Path, section: str, policy: CleanPolicy | None
) -> None:
    """Each of the three, or none."""
    assert rules(tmp_path, section).clean == policy


def test_maintenance_clusters_by_the_sizes_of_the_spec(tmp_path: Path) -> None:
    """Small is a quarter of the target, unless the spec says otherwise."""
    found = rules(tmp_path, "{cluster: {by: [ts, id], z_order: true, min_files: 7}}")
    assert found.cluster_files == 7
    assert found.cluster == ClusterRequest(
        by=("ts", "id"), order=RowOrder.Z_ORDER, target_bytes=120 << 20, small_bytes=30 << 20
    )


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("{enabled: false}", ""),
        (
            "{clean: {keep_for: 7d}, archive: {enabled: false}}",
            (
                "slices with 5 log files or more are compacted; "
                "files that commits of 7d do not need are cleaned"
            ),
        ),
        (
            "{compact: {enabled: false}, cluster: {by: [ts]}, clean: {keep_versions: 1}}",
            (
                "partitions with 10 small files or more are clustered, by ts; "
                "all but 1 slice of a file group are cleaned; "
                "with more than 30 commits all but 20 are archived"
            ),
        ),
    ],
)
def test_maintenance_is_one_sentence(tmp_path: Path, section: str, text: str) -> None:
    """For the plan; empty if nothing follows."""
    assert maintenance_text(rules(tmp_path, section)) == text
