"""`run-pipeline check`, and what `run` writes about its gate: reports and lineage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.cli.app import main
from framework.engine.reporting.document import ReportDocument
from framework.vocabulary import ReportForm
from tests.support.checks import Gate, good_rows
from tests.support.commands import Outcome
from tests.support.tables import record_size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = Callable[..., Outcome]

pytestmark = pytest.mark.spark

POSITIVE = {"name": "positive", "expect": "amount >= 0"}
TAKEN = {"name": "taken", "expect": "amount >= 0", "on_fail": "quarantine"}
EVEN = {"name": "even_id", "expect": "id % 2 = 0", "on_fail": "warn"}
FORMS = {form.value: f"gate.{form.value}" for form in ReportForm}


@pytest.fixture
def command(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Command:
    """Runs `run-pipeline` with words on the session that is there, in an empty folder."""
    spark.createDataFrame([(1,)], "id int")  # which makes it the active one
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def call(*words: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A table with ten rows, of which one is bad."""
    found = Gate(folder=tmp_path / "gate", operation="upsert")
    found.begin(bad=(3,))
    return found


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the report on stdout."""
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def checks(report: dict[str, Any]) -> dict[str, tuple[str, int, int]]:
    """Return outcome, rows and bad rows of each check."""
    return {e["name"]: (e["outcome"], e["rows"], e["failed"]) for e in report["checks"]}


def test_check_of_a_table_looks_at_all_rows_and_keys_and_writes_nothing(
    command: Command, gate: Gate
) -> None:
    """Exit 0 where all passes, 3 where a check fails, 5 where one cannot be made."""
    spec = gate.spec(EVEN)
    before = gate.seen()
    outcome = command("check", spec)
    assert outcome.code == 0, outcome.err
    assert "the table passes" in outcome.out
    assert "key (id) unique and not null" in outcome.out
    report = document(command("check", gate.spec(EVEN, POSITIVE, TAKEN), "--format", "json"))
    assert report["verdict"] == "failed"
    assert report["subject"] == "table"
    assert checks(report) == {
        "even_id": ("warned", 10, 5),
        "positive": ("failed", 10, 1),
        "taken": ("failed", 10, 1),
    }
    assert command("check", gate.spec(POSITIVE)).code == 3
    broken = {"name": "broken", "expect": "CAST(concat(day, 'x') AS int) > 0"}
    outcome = command("check", gate.spec(broken))
    assert outcome.code == 5
    assert "audit/check-not-run" in outcome.err
    outcome = command("check", gate.spec({"name": "c", "expect": "amuont >= 0"}))
    assert outcome.code == 1
    assert gate.seen() == before


def rewritten(gate: Gate, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the rows of one base file, as a writer that proves nothing would."""
    (path,) = gate.location.glob("day=a/*.parquet")
    table = pq.read_table(path, partitioning=None)
    pq.write_table(change(table).replace_schema_metadata(None), path, store_schema=False)
    record_size(gate.location, path)


def twice(table: pa.Table) -> pa.Table:
    """Return rows with the first one again."""
    return pa.concat_tables([table, table.slice(0, 1)])


def without_a_key(table: pa.Table) -> pa.Table:
    """Return rows of which the first has no key."""
    keys = table["_hoodie_record_key"]
    at = table.schema.get_field_index("_hoodie_record_key")
    first = pa.array([None, *keys.to_pylist()[1:]], keys.type)
    return table.set_column(at, pa.field("_hoodie_record_key", keys.type), first)


@pytest.mark.parametrize(
    ("change", "condition", "words"),
    [
        (twice, "audit/duplicate-keys", "1 record keys occur more than once"),
        (without_a_key, "audit/null-keys", "1 rows have no value"),
    ],
)
def test_check_of_a_table_finds_keys_that_another_writer_made_wrong(
    command: Command,
    gate: Gate,
    change: Callable[[pa.Table], pa.Table],
    condition: str,
    words: str,
) -> None:
    """Exit 3, with the findings; checks are reported too."""
    rewritten(gate, change)
    before = gate.seen()
    outcome = command("check", gate.spec(EVEN), "--format", "json")
    assert outcome.code == 3
    report = document(outcome)
    assert report["refusal"]["condition"] == condition
    assert words in report["refusal"]["message"]
    assert set(checks(report)) == {"even_id"}
    assert gate.seen() == before


def test_check_of_a_source_looks_at_what_a_run_would_take_in(command: Command, gate: Gate) -> None:
    """New files alone; rows that would be quarantined refuse nothing, others do."""
    outcome = command("check", "--source", gate.spec(TAKEN))
    assert outcome.code == 1
    assert "check/no-source" in outcome.err
    gate.put("one", good_rows(range(10, 20), bad=(12, 13)))
    before = gate.seen()
    outcome = command("check", "--source", gate.spec(TAKEN, EVEN), "--format", "json")
    assert outcome.code == 0, outcome.err
    report = document(outcome)
    assert (report["subject"], report["verdict"]) == ("source", "passed")
    assert checks(report) == {"taken": ("quarantined", 10, 2), "even_id": ("warned", 10, 5)}
    places = [(row["file"], row["row"]) for row in report["checks"][0]["samples"]]
    assert sorted(places) == [(str(gate.source / "one.parquet"), row) for row in (2, 3)]
    assert command("check", "--source", gate.spec(POSITIVE)).code == 3
    few = {**TAKEN, "max_failed": 1}
    assert command("check", "--source", gate.spec(few)).code == 3
    assert {path: gate.seen()[path] for path in before} == before
    assert not gate.quarantine.exists()
    assert gate.ids() == list(range(10))


def test_check_of_a_source_without_a_column_says_what_a_run_would(
    command: Command, gate: Gate, spark: SparkSession
) -> None:
    """It is refused, or null: then checks of the column see null, alone and in a run."""
    rows = pa.Table.from_pylist(list(good_rows(range(10, 20)))).drop_columns(["amount"])
    gate.put("one", rows)
    check = {"name": "empty", "expect": "amount IS NULL OR id < 10", "on_fail": "quarantine"}
    outcome = command("check", "--source", gate.spec(check))
    assert (outcome.code, "input/schema-differs" in outcome.err) == (1, True)
    assert "column 'amount' is missing" in outcome.err
    document = gate.document(check)
    document["write"]["missing_columns"] = "set_null"
    spec = gate.written(document)
    assert command("check", "--source", spec).code == 0
    assert command("run", spec).code == 0
    assert not gate.quarantine.exists()
    assert {gate.amounts(spark)[number] for number in range(10, 20)} == {None}


@pytest.mark.parametrize("operation", ["metadata_only", "insert"])
def test_check_without_a_table_looks_at_the_source_and_its_keys(
    command: Command, tmp_path: Path, operation: str
) -> None:
    """What a bootstrap would adopt, or a first load would bring; nothing is made."""
    gate = Gate(folder=tmp_path / "gate", operation=operation)
    gate.put("one", good_rows(range(10), day="a", bad=(3,)))
    report = document(command("check", gate.spec(TAKEN), "--format", "json"))
    assert (report["subject"], report["verdict"]) == ("source", "passed")
    assert checks(report) == {"taken": ("quarantined", 10, 1)}
    assert report["keys"]["unique"] is True
    gate.put("two", good_rows(range(9, 12), day="a"))
    outcome = command("check", gate.spec(TAKEN), "--format", "json")
    assert outcome.code == 3
    assert document(outcome)["refusal"]["condition"] == "audit/duplicate-keys"
    assert not gate.location.exists()
    assert not gate.quarantine.exists()


def test_check_of_a_sample_says_so_and_leaves_the_keys_out(command: Command, gate: Gate) -> None:
    """A duplicate that it does not look for refuses nothing; the same share gives the same rows."""
    rewritten(gate, twice)
    spec = gate.spec(EVEN)
    outcome = command("check", spec, "--sample", "0.5", "--format", "json")
    assert outcome.code == 0, outcome.err
    report = document(outcome)
    assert report["keys"] == {}
    (check,) = report["checks"]
    assert check["fraction"] == 0.5
    assert 0 < check["rows"] < 11
    again = document(command("check", spec, "--sample", "0.5", "--format", "json"))
    assert checks(again) == checks(report)
    text = command("check", spec, "--sample", "0.5")
    assert "50%" in text.out or "0.5" in text.out
    assert "unique" not in text.out


def test_checks_of_several_specs_end_with_the_gravest_code(
    command: Command, gate: Gate, tmp_path: Path
) -> None:
    """Each is checked, whatever the result of the previous one."""
    other = Gate(folder=tmp_path / "other", operation="upsert")
    other.begin()
    outcome = command("check", gate.spec(POSITIVE), other.spec(POSITIVE), "--format", "json")
    assert outcome.code == 3
    verdicts = [json.loads(line)["verdict"] for line in outcome.out.splitlines()]
    assert verdicts == ["failed", "passed"]


@pytest.mark.parametrize("verdict", ["published", "refused"])
def test_run_writes_its_report_in_every_form_and_emits_lineage(
    command: Command, gate: Gate, verdict: str, tmp_path: Path
) -> None:
    """All forms say the same, of a run that published and of one that was refused."""
    passes = verdict == "published"
    gate.put("one", good_rows(range(10, 20), bad=(12,)))
    spec = gate.spec(TAKEN if passes else POSITIVE, EVEN)
    words = [word for form, file in FORMS.items() for word in ("--report", f"{form}={file}")]
    here, events = tmp_path / "here", tmp_path / "lineage.jsonl"
    outcome = command("run", spec, *words, "--lineage", events)
    assert outcome.code == (0 if passes else 3), outcome.err
    files = {form: (here / file).read_text() for form, file in FORMS.items()}
    report = json.loads(files["json"])
    assert report["verdict"] == verdict
    first = ("taken", "quarantined") if passes else ("positive", "failed")
    assert [(e["name"], e["outcome"]) for e in report["checks"]] == [first, ("even_id", "warned")]
    assert {each["name"] for each in report["columns"]} >= {"id", "amount"} or not passes
    check_documents(files, first[0], passes=passes)
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert [line["eventType"] for line in lines] == ["START", "COMPLETE" if passes else "FAIL"]
    assert len({line["run"]["runId"] for line in lines}) == 1
    assert str(gate.source) in json.dumps(lines[-1]["inputs"])
    assert gate.ids() == [n for n in range(20 if passes else 10) if n != 12]


def check_documents(files: dict[str, str], name: str, *, passes: bool) -> None:
    """The formats for people and for other tools name the check and its verdict."""
    cases = {each.get("name"): each for each in ET.fromstring(files["junit"]).iter("testcase")}  # noqa: S314 - we have just written it
    assert (cases[name].find("failure") is None) == passes
    assert cases["even_id"].find("failure") is None
    found = json.loads(files["gx"])
    assert found["meta"]["lakestrap"]["passed"] is passes
    for form in ("html", "markdown"):
        assert name in files[form]
        assert "even_id" in files[form]
    assert ("Refused" in files["markdown"]) != passes


def test_report_of_a_check_is_named_after_its_spec_and_has_every_member(
    command: Command, gate: Gate, tmp_path: Path
) -> None:
    """With figures of every column, since a report was asked for."""
    outcome = command("check", gate.spec(EVEN), "--report", "json")
    assert outcome.code == 0, outcome.err
    report = json.loads((tmp_path / "here" / "orders.gate.json").read_text())
    assert {each["name"]: each["nulls"] for each in report["columns"]} == dict.fromkeys(
        ("id", "day", "ts", "amount"), 0
    )
    assert {each["rows"] for each in report["columns"]} == {10}
    assert set(report) == set(ReportDocument.__annotations__)
