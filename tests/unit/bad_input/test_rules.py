"""Mode rules that do not fit the partitions that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from framework.errors import PlanError
from tests.support.scenes import a_document, a_scene, adopt, refusal
from tests.support.sources import ids

FILES = {f"p={month}/a.parquet": ids(month) for month in (1, 2, 12)}


@pytest.mark.parametrize(
    "rule",
    [
        {"partition": "p=3"},
        {"partition": "p="},
        {"partition": "1"},
        {"where": {"p": "> 12"}},
        {"partition": "p=1", "where": {"p": "2"}},
    ],
)
@pytest.mark.parametrize("mode", ["skip", "full_record", "fail"])
def test_rule_that_matches_nothing_is_refused(
    tmp_path: Path, rule: dict[str, Any], mode: str
) -> None:
    """It is most often a typo, and with `skip` or `full_record` a dear one."""
    scene = a_scene(tmp_path, FILES, a_document(rules=[{**rule, "mode": mode}]))
    error = refusal(scene, "rules/matches-nothing").error
    assert isinstance(error, PlanError)
    assert error.exit_code == 1
    assert error.where.file == str(scene.spec)
    assert error.where.line
    assert "may_match_nothing" in error.remedy


def test_rule_that_may_match_nothing_is_accepted(tmp_path: Path) -> None:
    """What the refusal advises works."""
    rule = {"partition": "p=3", "mode": "skip", "may_match_nothing": True}
    result = adopt(a_scene(tmp_path, FILES, a_document(rules=[rule])))
    assert result is not None
    assert result.files == 3


def test_rule_whose_partitions_are_all_taken_before_is_refused(tmp_path: Path) -> None:
    """The first match wins, so a later rule can be without effect."""
    rules = [
        {"partition": "p=.*", "mode": "metadata_only"},
        {"partition": "p=12", "mode": "full_record"},
    ]
    error = refusal(a_scene(tmp_path, FILES, a_document(rules=rules)), "rules/shadowed").error
    assert error.exit_code == 1
    assert "rules[0]" in error.message


@pytest.mark.parametrize("default", [True, False])
def test_partition_whose_mode_is_fail_stops_the_run(tmp_path: Path, *, default: bool) -> None:
    """Its partitions are named, whether a rule or the default stops them."""
    rule = {"partition": "p=12", "mode": "metadata_only" if default else "fail"}
    mode = "fail" if default else "metadata_only"
    scene = a_scene(tmp_path, FILES, a_document(rules=[rule], mode=mode))
    error = refusal(scene, "rules/partition-fails").error
    assert error.exit_code == 1
    named = {folder for folder in ("'p=1'", "'p=2'", "'p=12'") if folder in error.message}
    assert named == ({"'p=1'", "'p=2'"} if default else {"'p=12'"})


def test_reason_of_a_rule_that_stops_is_reported(tmp_path: Path) -> None:
    """The refusal includes the author's reason."""
    rule = {"partition": "p=12", "mode": "fail", "reason": "still being corrected"}
    scene = a_scene(tmp_path, FILES, a_document(rules=[rule]))
    assert "still being corrected" in refusal(scene, "rules/partition-fails").error.message
