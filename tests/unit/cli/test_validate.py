"""`validate`: fast, all faults at once, in the forms that tools read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.scenes import Scene, a_document
from tests.unit.cli.conftest import Command

REPOSITORY = Path(__file__).parents[3]
FAULTY = """\
version: 1
table:
  name: nyc.flights
  location: lake/flights
  type: copy_on_rite
  record_key:
    columns: [id]
    unique_within: table
bootstrap:
  pth: lake/raw,flights
  layout: none
  mode: metadata_only
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """A spec with a wrong value in line 5 and an unknown field in line 10."""
    path = tmp_path / "faulty.pipeline.yml"
    path.write_text(FAULTY)
    return path


def test_valid_specs_are_counted(command: Command, scene: Scene) -> None:
    """Words on stdout, nothing on stderr."""
    outcome = command("validate", scene.spec)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "1 spec valid\n"


def test_all_faults_are_drawn_as_code_frames(command: Command, faulty: Path) -> None:
    """Each has its rule, its place, its line with a caret, and what to write instead."""
    outcome = command("validate", faulty.name)
    assert (outcome.code, outcome.out) == (1, "")
    lines = outcome.err.splitlines()
    assert f"--> {faulty.name}:5:9" in outcome.err
    shown = next(n for n, line in enumerate(lines) if line.startswith("5 | "))
    assert lines[shown].index("copy_on_rite") == lines[shown + 1].index("^")
    assert lines[shown + 1].count("^") == len("copy_on_rite")
    assert "copy_on_write" in lines[shown + 2]
    assert "pth" in outcome.err


def test_fault_of_the_project_file_is_reported_once(command: Command, tmp_path: Path) -> None:
    """However many specs share it."""
    (tmp_path / "run-pipeline.yml").write_text("version: 1\nvarables: {}\n")
    for name in ("a", "b"):
        document = a_document()
        document["table"]["location"] = "t"
        document["bootstrap"]["path"] = "s"
        (tmp_path / f"{name}.pipeline.yml").write_text(json.dumps(document))
    outcome = command("validate", "--format", "json")
    assert outcome.code == 1
    assert [f["file"] for f in outcome.document["findings"]] == ["run-pipeline.yml"]


def test_json_names_specs_and_findings(command: Command, faulty: Path) -> None:
    """Line and column count from 1."""
    outcome = command("validate", faulty.name, "--format", "json")
    assert outcome.code == 1
    assert outcome.document["specs"] == [faulty.name]
    first = outcome.document["findings"][0]
    assert (first["file"], first["line"], first["column"]) == (faulty.name, 5, 9)
    assert first["severity"] == "error"
    assert first["rule"].startswith("spec/")


def test_github_annotations_are_one_escaped_line_each(command: Command, faulty: Path) -> None:
    """As the runner parses them: `::error key=value,…::message`."""
    outcome = command("validate", faulty.name, "--format", "github")
    lines = outcome.out.splitlines()
    assert len(lines) >= 2
    for line in lines:
        _, head, message = line.split("::", 2)
        kind, _, places = head.partition(" ")
        fields = dict(pair.split("=", 1) for pair in places.split(","))
        assert kind == "error"
        assert fields["file"] == faulty.name
        assert int(fields["line"]) > 0
        assert int(fields["col"]) > 0
        assert ":" not in fields["title"]
        assert message


def test_sarif_has_the_shape_that_code_scanning_asks_for(command: Command, faulty: Path) -> None:
    """Version 2.1.0, each result with a rule that the driver lists, and a region."""
    document = command("validate", faulty.name, "--format", "sarif").document
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == rules
    for result in run["results"]:
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == faulty.name
        assert 1 <= place["region"]["startColumn"] < place["region"]["endColumn"]


def test_sarif_escapes_paths_as_uris(command: Command, tmp_path: Path) -> None:
    """A path with a space or a percent sign is not a valid URI reference."""
    (tmp_path / "odd 100%.pipeline.yml").write_text("version: 2\n")
    document = command("validate", "odd 100%.pipeline.yml", "--format", "sarif").document
    location = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "odd%20100%25.pipeline.yml"


def test_junit_counts_specs_and_failures(command: Command, faulty: Path, scene: Scene) -> None:
    """A good spec passes, each fault of a bad one is a failure."""
    outcome = command("validate", faulty.name, scene.spec, "--format", "junit")
    suite = ET.fromstring(outcome.out)  # noqa: S314  our own output
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "1")
    bad, good = suite.findall("testcase")
    assert bad.get("name") == faulty.name
    assert len(bad.findall("failure")) >= 2
    assert all(each.get("type") and each.get("message") for each in bad)
    assert good.findall("failure") == []


@pytest.mark.parametrize("form", ["json", "github", "sarif", "junit"])
def test_missing_spec_is_a_finding_in_each_form(command: Command, form: str) -> None:
    """A tool that reads findings learns of it as of any other fault."""
    outcome = command("validate", "nowhere.pipeline.yml", "--format", form)
    assert outcome.code == 1
    assert "spec/file-not-found" in outcome.out


def _fresh(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_validate_loads_neither_spark_nor_arrow_nor_the_terminal_library(scene: Scene) -> None:
    """Each alone would take a good part of the half second that there is."""
    program = (
        "import sys\nfrom framework.cli.app import main\n"
        f"code = main(['validate', {scene.spec.name!r}])\n"
        "heavy = {'pyspark', 'great_expectations', 'pyarrow', 'numpy', 'pandas', 'rich.console'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\nsys.exit(code)\n"
    )
    done = _fresh(program, scene.folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


def two_specs(folder: Path, first: tuple[str, str], second: tuple[str, str]) -> None:
    """Two specs with these names and locations."""
    for file, (name, location) in (("a", first), ("b", second)):
        text = FAULTY.replace("copy_on_rite", "copy_on_write").replace("pth:", "path:")
        text = text.replace("nyc.flights", name).replace("lake/flights", location)
        (folder / f"{file}.pipeline.yml").write_text(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [("lake/t", "lake/t"), ("lake/t", "./lake/x/../t/"), ("lake/t", "lake/t/inner")],
)
def test_two_specs_of_one_place_are_refused_with_both_positions(
    command: Command, tmp_path: Path, first: str, second: str
) -> None:
    """Whatever the spelling; a table inside another is one of its partitions."""
    two_specs(tmp_path, ("x.a", first), ("x.b", second))
    outcome = command("validate", "--format", "json")
    assert outcome.code == 1
    found = outcome.document["findings"]
    assert [(each["rule"], each["line"]) for each in found] == [("spec/shared-location", 4)] * 2
    assert "b.pipeline.yml:4:13" in found[0]["message"]
    assert "a.pipeline.yml:4:13" in found[1]["message"]


def test_two_specs_of_one_name_are_a_warning(command: Command, tmp_path: Path) -> None:
    """They write two tables that no report distinguishes."""
    two_specs(tmp_path, ("x.a", "lake/a"), ("x.a", "lake/b"))
    outcome = command("validate", "--format", "json")
    assert outcome.code == 0
    rules = [(each["rule"], each["severity"]) for each in outcome.document["findings"]]
    assert rules == [("spec/shared-name", "warning")] * 2
