"""Paths and partition values of any character: adopted, and found again by every name."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.plan.render.text import text_lines
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

TEXT = {"p": "string"}

# As Hive and Spark name folders: what they escape is escaped, the rest is as it is.
FOLDERS = [
    "a b",
    " a ",
    "100%25",
    "x%23y",
    "%5Bz%5D",
    "%7Bz}",
    "a%3Db",
    "a%2Fb",
    "é",
    "e\N{COMBINING ACUTE ACCENT}",
    "🚀",
    "中文",
    "+",
    "a+b c",
    "&",
    "it%27s",
    "%22q%22",
    "a,b",
    "a;b",
    "(y)",
    "!@$~`|<>",
    "%5C",
    "%2A",
    "%3F",
    "%3A",
    "%5E",
    "%0A",
    "%7F",
    "-",
    "..x",
    "NULL",
    "true",
    "1.0",
    "x" * 200,
]
FILES = [
    "a b.parquet",
    "100%.parquet",
    "%41.parquet",
    "#1.parquet",
    "[z].parquet",
    "{a,b}.parquet",
    "a=b.parquet",
    "é.parquet",
    "🚀.parquet",
    "+&'\"`$.parquet",
    "*.parquet",
    "?.parquet",
    "back\\slash.parquet",
    "no-ending",
    "x.snappy.parquet",
    "x" * 240 + ".parquet",
]
PLACES = ["a b 100% %20", "#[brackets] {braces} a=b", "é🚀+&'\"$`*?", "-dash\\slash"]


def test_partition_values_of_odd_characters_are_adopted(tmp_path: Path) -> None:
    """Table and source have the same folders, and the index finds their files both ways."""
    files = {f"p={value}/a.parquet": ids(place) for place, value in enumerate(FOLDERS)}
    scene = a_scene(tmp_path, files, a_document(partition=TEXT))
    _check(scene, len(FOLDERS))


def test_partition_names_that_are_prefixes_of_each_other_are_distinct(tmp_path: Path) -> None:
    """`p=1`, `p=10`, `p=1-2` and `p=1;part=x` sort in two ways in the two files of the index."""
    values = ["1", "10", "1-2", "1%2F2", "1;2", "1;part", "11", "1 ", "1é", "2"]
    files = {f"p={value}/a.parquet": ids(place) for place, value in enumerate(values)}
    scene = a_scene(tmp_path, files, a_document(partition=TEXT))
    _check(scene, len(values))


def test_files_of_odd_names_are_adopted(tmp_path: Path) -> None:
    """The index holds each name as it is, neither globbed nor decoded."""
    scene = a_scene(tmp_path, {f"p=1/{name}": ids(place) for place, name in enumerate(FILES)})
    _check(scene, len(FILES))


@pytest.mark.parametrize("place", PLACES)
def test_source_and_table_below_folders_of_odd_names_are_adopted(
    tmp_path: Path, place: str
) -> None:
    """Neither the spec nor the properties nor the index trip over a path."""
    scene = a_scene(tmp_path / place, {"p=1/a.parquet": ids(1, 2)})
    _check(scene, 2)


@pytest.mark.parametrize("kind", ["int", "long", "string", "date", "boolean"])
def test_default_partition_of_hive_is_adopted_for_every_type(tmp_path: Path, kind: str) -> None:
    """It is null, whatever the column's type."""
    files = {"p=__HIVE_DEFAULT_PARTITION__/a.parquet": ids(1, 2)}
    rows = _check(a_scene(tmp_path, files, a_document(partition={"p": kind})), 2)
    assert [row["p"] for row in rows] == [None, None]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "0"),
        ("int", "-2147483648"),
        ("long", "9223372036854775807"),
        ("date", "0001-01-01"),
        ("date", "9999-12-31"),
        ("boolean", "true"),
        ("boolean", "false"),
    ],
)
def test_partition_value_at_the_edge_of_its_type_is_adopted(
    tmp_path: Path, kind: str, value: str
) -> None:
    """What comes back unchanged is taken."""
    files = {f"p={value}/a.parquet": ids(1)}
    scene = a_scene(tmp_path, files, a_document(partition={"p": kind}, key=("id", "p")))
    (row,) = _check(scene, 1)
    assert row["_hoodie_record_key"] == f"id:1,p:{value}"


def test_partition_value_of_odd_characters_is_part_of_keys_as_it_is_meant(tmp_path: Path) -> None:
    """A key has the value, not the folder's escaped text of it."""
    files = {"p=a%2Fb %3D é/a.parquet": ids(1)}
    scene = a_scene(tmp_path, files, a_document(partition=TEXT, key=("id", "p")))
    (row,) = _check(scene, 1)
    assert row["_hoodie_record_key"] == "id:1,p:a/b = é"


def test_column_names_with_underscores_and_capitals_are_adopted(tmp_path: Path) -> None:
    """All that Avro allows is allowed."""
    rows = ids(1, _x=[1], __=[2], A9=[3], hoodie_x=[4], order=[5], select=[6])
    (row,) = _check(a_scene(tmp_path, {"p=1/a.parquet": rows}), 1)
    assert row["select"] == 6


def test_hidden_files_are_ignored_and_reported(tmp_path: Path) -> None:
    """The same files as Spark reads, and the plan counts the others."""
    hidden = ["_SUCCESS", ".a.parquet.crc", "_metadata", ".hidden/a.parquet", "_tmp/b.parquet"]
    files = {f"p=1/{name}": ids(9) for name in hidden} | {"p=1/a.parquet": ids(1)}
    scene = a_scene(tmp_path, files)
    lines = [str(line) for line in text_lines(plan(scene).plan)]
    assert any(f"skipped {len(hidden)} files under the source" in line for line in lines)
    _check(scene, 1)


def test_partition_column_of_leading_underscore_is_no_hidden_folder(tmp_path: Path) -> None:
    """`_p=1` is a partition for Spark."""
    scene = a_scene(tmp_path, {"_p=1/a.parquet": ids(1)}, a_document(partition={"_p": "int"}))
    _check(scene, 1)


@pytest.mark.parametrize("form", ["{}/", "{}//", "file://{}", "file://{}/", "{}/.", "{}/x/.."])
def test_places_may_be_written_in_several_ways(tmp_path: Path, form: str) -> None:
    """Slashes, dots and a scheme name the same folder, and the second run finds it so."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    rewritten = with_spec(
        scene, path=form.format(scene.source), location=form.format(tmp_path / "table")
    )
    adopt(rewritten)
    assert len(read_table(scene, pieces_of(scene))) == 2
    assert adopt(rewritten) is None
    assert adopt(scene) is None


def test_source_given_through_a_link_is_indexed_by_its_true_place(tmp_path: Path) -> None:
    """The link may be re-pointed later; the index names the files that were read."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    (tmp_path / "link").symlink_to(scene.source)
    adopt(with_spec(scene, path=str(tmp_path / "link")))
    assert len(read_table(scene, pieces_of(scene))) == 2


def test_target_given_through_a_link_is_written_where_it_leads(tmp_path: Path) -> None:
    """A link to an empty folder is a folder."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    scene.location.mkdir()
    (tmp_path / "link").symlink_to(scene.location)
    adopt(with_spec(scene, location=str(tmp_path / "link")))
    assert len(read_table(scene, pieces_of(scene))) == 2


def test_source_files_that_are_links_are_adopted(tmp_path: Path) -> None:
    """A lake of links to files elsewhere is a lake; size and time are those of the files."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    for place, name in enumerate(("b", "c")):
        other = tmp_path / f"elsewhere-{name}"
        a_scene(other, {"x.parquet": ids(10 + place)})
        (scene.source / "p=1" / f"{name}.parquet").symlink_to(other / "source" / "x.parquet")
    _check(scene, 4)


def _check(scene: Scene, rows: int) -> list[dict[str, object]]:
    """Adopt, read every file of the table, and see that there is nothing more to do."""
    adopt(scene)
    found = read_table(scene, pieces_of(scene))
    assert len(found) == rows
    assert adopt(scene) is None
    return found
