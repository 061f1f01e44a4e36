"""Looking up the position of a key path."""

from __future__ import annotations

import pytest

from framework.errors import Where
from framework.spec.document.findings import FindingList
from framework.spec.document.positions import Positions
from framework.spec.document.source import SourceText
from framework.spec.document.walker import parse

TEXT = """\
version: 1
table:
  name: a.b
  partition_by: {month: int, day: date}
  empty:
bootstrap:
  rules:
    - partition: x
      mode: skip
    - {partition: y, mode: fail}
spark:
  conf:
    spark.sql.ansi.enabled: true
"""


@pytest.fixture(scope="module")
def positions() -> Positions:
    """Positions of the text above."""
    source = SourceText.of("x.yml", TEXT)
    return Positions.of(source, parse(source, FindingList()))


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("version", 1, 10),
        ("table", 2, 1),
        ("table.name", 3, 9),
        ("table.name.first", 3, 9),
        ("table.partition_by", 4, 17),
        ("table.partition_by.day", 4, 35),
        ("table.empty", 5, 3),
        ("table.missing", 2, 1),
        ("bootstrap.rules", 7, 3),
        ("bootstrap.rules[0]", 8, 7),
        ("bootstrap.rules[0].mode", 9, 13),
        ("bootstrap.rules[0].where.month", 8, 7),
        ("bootstrap.rules[1]", 10, 7),
        ("bootstrap.rules[1].mode", 10, 28),
        ("bootstrap.rules[7].mode", 7, 3),
        ("spark.conf.spark.sql.ansi.enabled", 13, 29),
        ("spark.conf.spark.sql.ansi.other", 12, 3),
        ("nothing.here", 1, 1),
        ("", 1, 1),
    ],
)
def test_path_is_found_at_its_value_or_nearest_ancestor(
    positions: Positions, path: str, line: int, column: int
) -> None:
    """A one-line value is pointed at itself, a block by its key, an unknown path by its parent."""
    assert positions.where(path) == Where(file="x.yml", line=line, column=column)


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        (("table", "name"), "table.name"),
        (("table", "partition_by", 1, "type"), "table.partition_by.day"),
        (("table", "partition_by", 1, "name"), "table.partition_by.day"),
        (("bootstrap", "rules", 1, "mode"), "bootstrap.rules[1].mode"),
        (
            ("bootstrap", "function-wrap[x]", "rules", 0, "RuleSpec", "mode"),
            "bootstrap.rules[0].mode",
        ),
        (("bootstrap", "rules", 0, "reason"), "bootstrap.rules[0].reason"),
        (("bootstrap", "path"), "bootstrap.path"),
        ((), ""),
    ],
)
def test_location_of_a_validator_becomes_a_path_without_tags(
    positions: Positions, steps: tuple[str | int, ...], path: str
) -> None:
    """Tags of unions and wrappers are left out; a missing last field is kept."""
    assert positions.path_of(steps) == path


def test_finding_made_later_has_its_code_frame(positions: Positions) -> None:
    """Planning can complain about a line of the spec."""
    finding = positions.finding("plan/x", "bootstrap.rules[1].mode", "why", suggestion="skip")
    assert (finding.source_line, finding.length) == ("    - {partition: y, mode: fail}", 4)
    assert (finding.severity, finding.suggestion) == ("error", "skip")


def test_empty_document_points_at_its_first_line() -> None:
    """Where there is nothing to point at, the file's beginning is the place."""
    source = SourceText.of("x.yml", "")
    assert Positions.of(source, None).where("table.name") == Where(file="x.yml", line=1, column=1)
