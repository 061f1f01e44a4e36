"""A spec as it is tried: at other places, and otherwise the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from framework.plan.spec_tests.stand_in import plain_conf, stand_in
from framework.spec.sections.quality_spec import MAX_SAMPLES
from framework.vocabulary import WriteOperation
from tests.support.spec_tests import a_spec

BOOTSTRAP: dict[str, Any] = {
    "path": "lake/raw",
    "layout": "hive",
    "rules": [{"partition": "p=1", "mode": "full_record"}],
}


def test_tested_spec_uses_none_of_its_own_locations(tmp_path: Path) -> None:
    """Neither table nor sources nor the quarantined rows; the spec itself stays as it is."""
    quality = {
        "checks": [{"name": "a", "expect": "id > 0", "on_fail": "quarantine"}],
        "quarantine": {"location": "lake/quarantine", "max_ratio": 0.5},
        "samples": 1,
        "redact": ["id"],
    }
    spec = a_spec(tmp_path, bootstrap=BOOTSTRAP, quality=quality)
    found = stand_in(spec, "/tried", has_rows_before=True)
    for each in (found.opening, found.spec):
        assert each is not None
        assert each.table.location == "/tried/table"
        assert each.bootstrap is not None
        assert each.bootstrap.path == "/tried/before"
        assert each.bootstrap.rules[0].may_match_nothing
    assert found.spec.source is not None
    assert found.spec.source.path == "/tried/source"
    tried = found.spec.quality
    assert tried is not None
    assert tried.quarantine is not None
    assert (tried.quarantine.location, tried.quarantine.max_ratio) == (None, 0.5)
    assert (tried.samples, tried.redact) == (MAX_SAMPLES, ())
    assert spec.table.location == str(tmp_path / "lake" / "orders")


def test_rows_before_come_by_an_insert_that_checks_nothing(tmp_path: Path) -> None:
    """Where the spec has no bootstrap; its checks are for the run that is tested."""
    quality = {"checks": [{"name": "a", "expect": "id > 0"}]}
    spec = a_spec(tmp_path, quality=quality, table={"columns": {"id": {"nullable": False}}})
    opening = stand_in(spec, "/tried", has_rows_before=True).opening
    assert opening is not None
    assert (opening.bootstrap, opening.checks, opening.table.columns) == (None, (), None)
    assert opening.write is not None
    assert opening.write.operation is WriteOperation.INSERT
    assert stand_in(spec, "/tried", has_rows_before=False).opening is None


def test_rows_before_are_adopted_where_the_spec_has_bootstrap_and_source(tmp_path: Path) -> None:
    """Without rows before the load makes the table, so that nothing is to be adopted."""
    spec = a_spec(tmp_path, bootstrap=BOOTSTRAP)
    found = stand_in(spec, "/tried", has_rows_before=True)
    assert found.opens_by_bootstrap
    assert found.opening is not None
    assert found.opening.write is None
    assert stand_in(spec, "/tried", has_rows_before=False).spec.bootstrap is None


def test_bootstrap_alone_is_what_is_tested(tmp_path: Path) -> None:
    """Its source is where the given rows are."""
    spec = a_spec(tmp_path, bootstrap=BOOTSTRAP, source=None, write=None)
    found = stand_in(spec, "/tried", has_rows_before=False)
    assert found.begins
    assert found.spec.bootstrap is not None
    assert found.spec.bootstrap.path == found.source


@pytest.mark.parametrize(
    ("source", "form", "options"),
    [
        (
            {"format": "csv", "path": "a", "options": {"sep": ";", "PathGlobFilter": "*.txt"}},
            "csv",
            {"sep": ";"},
        ),
        ({"format": "jdbc", "options": {"url": "x", "password": "${secret.none}"}}, "parquet", {}),
        ({"format": "json", "path": "a", "options": {"k": "${secret.none}"}}, "json", {}),
    ],
)
def test_source_is_tried_in_its_format_where_that_is_of_files(
    tmp_path: Path, source: dict[str, Any], form: str, options: dict[str, str]
) -> None:
    """Without secrets, and without options that choose among files."""
    found = stand_in(a_spec(tmp_path, source=source), "/tried", has_rows_before=False)
    assert (found.format, found.options) == (form, options)
    assert found.spec.source is not None
    assert (found.spec.source.format, found.spec.source.options) == (form, options)


def test_settings_of_a_spec_leave_secret_ones_out(tmp_path: Path) -> None:
    """A test needs none."""
    conf = {"spark.sql.ansi.enabled": False, "spark.x": "${secret.none}"}
    assert plain_conf(a_spec(tmp_path, spark={"conf": conf})) == {"spark.sql.ansi.enabled": "false"}
    assert plain_conf(a_spec(tmp_path)) == {}
