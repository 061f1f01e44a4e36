"""Source and target that are not apart, not there, or not what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.errors import PlanError
from tests.support.scenes import Scene, a_scene, refusal, with_spec
from tests.support.sources import ids

ROWS = {"p=1/a.parquet": ids(1, 2)}


def test_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A path to nothing is the author's mistake, and is named."""
    scene = with_spec(a_scene(tmp_path, ROWS), path=str(tmp_path / "nowhere"))
    error = _refused(scene, "source/missing")
    assert error.where.file == str(tmp_path / "nowhere")


def test_source_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """A single Parquet file is no source; its folder is."""
    scene = with_spec(a_scene(tmp_path, ROWS), path=str(tmp_path / "source" / "p=1" / "a.parquet"))
    error = _refused(scene, "source/missing")
    assert str(error.where.file).endswith("p=1/a.parquet")


def test_source_that_is_a_dangling_link_is_refused(tmp_path: Path) -> None:
    """A link to nothing is nothing."""
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    scene = with_spec(a_scene(tmp_path, ROWS), path=str(tmp_path / "link"))
    _refused(scene, "source/missing")


@pytest.mark.parametrize("place", [".", "table", "p=1", ".hidden", ".."])
def test_target_and_source_inside_each_other_are_refused(tmp_path: Path, place: str) -> None:
    """Skeletons would become source files of the next look, or source files ghost rows."""
    scene = a_scene(tmp_path / "lake", ROWS)
    near = with_spec(scene, location=f"{scene.source}/{place}")
    error = refusal(near, "spec/path-overlap").error
    assert error.exit_code == 1
    assert error.where.line


def test_target_inside_the_source_by_a_link_is_refused(tmp_path: Path) -> None:
    """A link above the target does not hide where it is."""
    scene = a_scene(tmp_path, ROWS)
    (tmp_path / "link").symlink_to(scene.source)
    _refused_at(with_spec(scene, location=str(tmp_path / "link" / "t")), "target/inside-source")


def test_target_that_links_to_the_source_is_refused(tmp_path: Path) -> None:
    """Nor does one in its place."""
    scene = a_scene(tmp_path, ROWS)
    (tmp_path / "link").symlink_to(scene.source)
    _refused_at(with_spec(scene, location=str(tmp_path / "link")), "target/is-source")


def test_source_that_links_into_the_target_is_refused(tmp_path: Path) -> None:
    """Nor does one in place of the source."""
    scene = a_scene(tmp_path, ROWS)
    scene.location.mkdir()
    scene.source.rename(scene.location / "raw")
    scene.source.symlink_to(scene.location / "raw")
    _refused_at(scene, "target/holds-source")


def test_source_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    """Circular links are reported as such."""
    scene = a_scene(tmp_path, ROWS)
    (tmp_path / "link").symlink_to(tmp_path / "link")
    _refused(with_spec(scene, path=str(tmp_path / "link")), "storage/link-loop")


def test_target_beside_a_source_of_a_longer_name_is_accepted(tmp_path: Path) -> None:
    """`/a/source-2` is not inside `/a/source`: the refusal goes by folders, not by text."""
    scene = a_scene(tmp_path, {"p=x/a.parquet": ids(1)})
    near = with_spec(scene, location=str(tmp_path / "source-2"))
    refused = refusal(near, "partition/value-unreadable")
    assert not {each.rule for each in refused.findings} & {"target/inside-source"}


def test_target_with_foreign_content_is_refused(tmp_path: Path) -> None:
    """The content is named and left unchanged."""
    scene = a_scene(tmp_path, ROWS)
    (scene.location / "reports").mkdir(parents=True)
    (scene.location / "reports" / "may.csv").write_text("a,b\n")
    error = _refused_at(scene, "target/foreign-content")
    assert "reports" in error.message


def test_target_with_a_hidden_foreign_file_is_refused(tmp_path: Path) -> None:
    """A hidden file counts too."""
    scene = a_scene(tmp_path, ROWS)
    scene.location.mkdir()
    (scene.location / ".keep").write_text("")
    error = _refused_at(scene, "target/foreign-content")
    assert ".keep" in error.message


def test_target_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """A file is in the way of the table's folder."""
    scene = a_scene(tmp_path, ROWS)
    scene.location.write_text("not a table")
    error = _refused_at(scene, "target/not-a-folder")
    assert str(scene.location) in error.message


def test_target_below_a_file_is_refused(tmp_path: Path) -> None:
    """Likewise a file above it."""
    scene = a_scene(tmp_path, ROWS)
    (tmp_path / "file").write_text("not a folder")
    scene = with_spec(scene, location=str(tmp_path / "file" / "table"))
    error = _refused_at(scene, "target/not-a-folder")
    assert str(tmp_path / "file") in error.message


def test_target_that_is_a_dangling_link_is_refused(tmp_path: Path) -> None:
    """Nothing is made where a link leads to nothing."""
    scene = a_scene(tmp_path, ROWS)
    scene.location.symlink_to(tmp_path / "gone")
    _refused_at(scene, "target/not-a-folder")
    assert not (tmp_path / "gone").exists()


def _refused(scene: Scene, condition: str) -> PlanError:
    """Return the author's mistake about the source."""
    error = refusal(scene, condition).error
    assert isinstance(error, PlanError)
    assert error.condition == condition
    assert error.exit_code == 1
    return error


def _refused_at(scene: Scene, condition: str) -> PlanError:
    """Return the author's error about the target, reported at its line of the spec."""
    error = _refused(scene, condition)
    assert error.where.file == str(scene.spec)
    assert error.where.line
    assert error.where.column
    return error
