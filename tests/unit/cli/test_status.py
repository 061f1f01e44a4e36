"""`status` and `history`: states, dangers, options for neighbours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from framework.engine.inspect.hudi_writer_options import OptionsForm
from tests.support.scenes import Scene, a_document, a_scene, adopt
from tests.support.sources import a_source, ids
from tests.unit.cli.conftest import Command


@pytest.fixture
def adopted(scene: Scene) -> Scene:
    """The scene with its table made."""
    assert scene.spec.exists()
    adopt(scene)
    return scene


def test_status_of_a_place_without_a_table_is_no_danger(command: Command, tmp_path: Path) -> None:
    """It says that there is none; exit 0."""
    outcome = command("status", tmp_path / "nothing", "--format", "json")
    assert outcome.code == 0
    assert outcome.document["exists"] is False
    assert "none" in command("status", tmp_path / "nothing").out


def test_status_takes_a_spec_or_its_location_or_nothing(command: Command, adopted: Scene) -> None:
    """The same table, the same answer."""
    by_spec = command("status", adopted.spec, "--format", "json")
    by_place = command("status", adopted.location, "--format", "json")
    by_search = command("status", "--format", "json")
    assert by_spec.code == by_place.code == by_search.code == 0
    assert by_spec.document == by_place.document == by_search.document
    assert by_spec.document["exists"] is True
    assert by_spec.document["slices"]["skeletons"] == 2


def test_status_of_a_sound_table_is_text_without_dangers(command: Command, adopted: Scene) -> None:
    """Exit 0."""
    outcome = command("status", adopted.spec)
    assert outcome.code == 0
    assert "danger" not in outcome.out
    assert "2 skeletons" in outcome.out


def test_status_exits_with_1_if_a_source_file_is_missing(command: Command, adopted: Scene) -> None:
    """Its rows cannot be read any more."""
    (adopted.source / "p=1" / "a.parquet").unlink()
    outcome = command("status", adopted.spec, "--format", "json")
    assert outcome.code == 1
    assert [d["condition"] for d in outcome.document["dangers"]] == ["source/drifted"]
    assert "danger[source/drifted]" in command("status", adopted.spec).out


def test_status_exits_with_1_where_a_source_file_has_changed(
    command: Command, adopted: Scene
) -> None:
    """Size or time differ."""
    os.utime(adopted.source / "p=1" / "a.parquet")
    outcome = command("status", adopted.location, "--format", "json")
    assert outcome.code == 1
    assert outcome.document["drift"]["changed_files"] == 1


def test_status_exits_with_1_where_the_source_has_grown(command: Command, adopted: Scene) -> None:
    """New files are not part of the table."""
    a_source(adopted.source, {"p=1/b.parquet": ids(9)})
    outcome = command("status", adopted.location, "--format", "json")
    assert outcome.code == 1
    assert [d["condition"] for d in outcome.document["dangers"]] == ["source/grown"]


def test_status_of_all_specs_exits_with_1_for_any_danger(
    command: Command, adopted: Scene, duplicates: Scene
) -> None:
    """One JSON line a table."""
    assert duplicates.spec.exists()
    (adopted.source / "p=1" / "a.parquet").unlink()
    outcome = command("status", "--format", "json")
    assert outcome.code == 1
    assert [bool(d["dangers"]) for d in outcome.documents] == [True, False]


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (OptionsForm.SPARK_CONF, "hoodie.write.table.version 6"),
        (OptionsForm.SQL, "SET hoodie.write.table.version=6;"),
        (OptionsForm.PROPERTIES, "hoodie.write.table.version=6"),
    ],
)
def test_options_for_hudi_writers_have_the_form_asked_for(
    command: Command, adopted: Scene, form: OptionsForm, line: str
) -> None:
    """All else is a comment of that form."""
    outcome = command("status", adopted.spec, "--hudi-options", form.value)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert line in lines
    comment = "--" if form is OptionsForm.SQL else "#"
    assert all("hoodie." in each for each in lines if not each.startswith(comment))


def test_declaration_of_the_table_names_its_place(command: Command, adopted: Scene) -> None:
    """For Spark SQL."""
    outcome = command("status", adopted.spec, "--ddl")
    assert outcome.code == 0
    assert outcome.out == f"CREATE TABLE `odd`.`rows` USING hudi LOCATION '{adopted.location}';\n"


@pytest.mark.parametrize("words", [["--ddl"], ["--hudi-options", "sql"]])
def test_neighbours_of_no_table_exit_with_1(
    command: Command, tmp_path: Path, words: list[str]
) -> None:
    """There is nothing to declare."""
    outcome = command("status", tmp_path, *words)
    assert outcome.code == 1
    assert "[table/missing]" in outcome.err


def test_options_and_declaration_are_one_json_document(command: Command, adopted: Scene) -> None:
    """Where both and JSON are asked for."""
    words = ("--ddl", "--hudi-options", "properties", "--format", "json")
    document = command("status", adopted.spec, *words).document
    assert set(document) == {"location", "hudi_options", "ddl"}


def test_status_of_a_faulty_spec_exits_with_1(command: Command, tmp_path: Path) -> None:
    """With its findings, not with a location that is none."""
    (tmp_path / "x.pipeline.yml").write_text("version: 2\n")
    outcome = command("status", "x.pipeline.yml")
    assert outcome.code == 1
    assert "-->" in outcome.err


def test_history_shows_instants_and_proofs(command: Command, adopted: Scene) -> None:
    """In text and in JSON, by spec and by location."""
    outcome = command("history", adopted.spec)
    assert outcome.code == 0
    assert "00000000000001" in outcome.out
    assert "unique in table" in outcome.out
    (document,) = command("history", adopted.location, "--format", "json").documents
    (instant,) = document["instants"]
    assert (instant["state"], instant["files"], instant["rows"]) == ("completed", 2, 4)
    assert instant["audit"]["unique"] is True


def test_history_of_no_table_is_empty(command: Command, tmp_path: Path) -> None:
    """Exit 0."""
    assert command("history", tmp_path).code == 0
    document = command("history", tmp_path, "--format", "json").document
    assert document["instants"] == []


def test_status_shows_odd_locations_as_they_are(command: Command, tmp_path: Path) -> None:
    """Spaces, brackets and é stay; nothing is a pattern or markup."""
    scene = a_scene(tmp_path / "odd [b] é {x}", {"p=1/a.parquet": ids(1)}, a_document())
    adopt(scene)
    outcome = command("status", scene.location)
    assert outcome.code == 0
    assert str(scene.location) in outcome.out
