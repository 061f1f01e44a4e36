"""The command `test` from end to end, and the session that it works on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.cli.app import main
from framework.spark.spec_tests.run_test import session_of, start_settings
from tests.support.commands import run_pipeline
from tests.support.spec_tests import a_test, write_spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PIPELINES = Path(__file__).parents[3] / "pipelines"
GOOD = a_test("good rows", given=[{"id": 1, "p": 1}], expect={"written": [{"id": 1}]})
BAD = a_test("bad rows", given=[{"id": 1, "p": 1}], expect={"written": [{"id": 2}]})
WRONG = a_test("wrong test", given=[{"id": 1, "p": 1}], expect={"written": [{"x": 2}]})


def test_shipped_pipelines_pass_their_tests() -> None:
    """On a session that the command starts; of its files nothing is left."""
    done = run_pipeline("test", PIPELINES)
    assert done.code == 0, done.out + done.err
    assert "4 tests: 4 passed" in done.out
    assert "flights.pipeline.yml: no tests" in done.err
    assert not (PIPELINES.parent / "demo" / "lake" / "orders").exists()


@pytest.mark.parametrize(
    ("tests", "words", "code"),
    [
        ([GOOD], [], 0),
        ([GOOD, BAD], [], 3),
        ([GOOD, BAD], ["-k", "GOOD"], 0),
        ([GOOD, BAD, WRONG], [], 3),
        ([WRONG, GOOD], [], 1),
    ],
)
def test_exit_code_is_that_of_the_gravest_test(
    spark: SparkSession, tmp_path: Path, tests: list[Any], words: list[str], code: int
) -> None:
    """And one that goes wrong does not keep the others from their turn."""
    path = write_spec(tmp_path, *tests)
    master = str(spark.sparkContext.master)
    assert main(["test", str(path), "--master", master, *words]) == code


def test_faulty_spec_does_not_keep_others_from_their_turn(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its fault is reported, and affects the exit code."""
    faulty = tmp_path / "a" / "faulty"
    faulty.mkdir(parents=True)
    write_spec(tmp_path, GOOD)
    write_spec(faulty, a_test(given=[{"id": 1, "p": "x"}]))
    words = ["--master", str(spark.sparkContext.master), "--format", "json", "--keep"]
    assert main(["test", str(tmp_path), *words]) == 1
    fault, report = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert fault["error"]["condition"] == "tests/value-does-not-fit"
    (test,) = report["tests"]
    assert test["outcome"] == "passed"
    assert (Path(test["folder"]) / "table" / ".hoodie" / "hoodie.properties").is_file()


def test_session_of_a_spec_has_its_settings_and_no_other_specs(spark: SparkSession) -> None:
    """What a session cannot change stays; the caller's settings beat the spec's."""
    case, zone = "spark.sql.caseSensitive", "spark.sql.session.timeZone"
    first = {case: "true", "spark.app.name": "x", zone: "Asia/Tokyo"}
    own = session_of(spark, first, {zone: "UTC"}, [first])
    assert (own.conf.get(case), own.conf.get(zone)) == ("true", "UTC")
    other = session_of(own, {}, {}, [first])
    assert other.conf.get(case) == "false"
    assert spark.conf.get(case) == "false"


def test_settings_to_start_with_are_quick_unless_the_caller_says_otherwise() -> None:
    """Of two specs the first one counts; options of Java are joined."""
    java = "spark.driver.extraJavaOptions"
    found = start_settings([{"spark.a": "1"}, {"spark.a": "2", java: "-Dx=y"}], {"spark.b": "3"})
    assert (found["spark.a"], found["spark.b"]) == ("1", "3")
    assert found[java].endswith("-XX:+UseSerialGC -Dx=y")
    assert start_settings([], {java: "-XX:+UseG1GC"})[java] == "-XX:+UseG1GC"
