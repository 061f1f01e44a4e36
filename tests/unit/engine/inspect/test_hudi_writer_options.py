"""The options that an Apache Hudi job must set, by kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.inspect.hudi_writer_options import OptionsForm, hudi_options, table_ddl
from framework.errors import PlanError
from framework.hudi.codecs.java_properties import parse
from tests.support.formats import adopted
from tests.support.scenes import a_document, a_scene, adopt
from tests.support.sources import ids


def options(tmp_path: Path, document: dict[str, Any], *files: str) -> dict[str, str]:
    """Adopt files by a spec and return the options of its table."""
    tables = {path: ids(number, at=[number]) for number, path in enumerate(files)}
    scene = a_scene(tmp_path / "scene", tables, document)
    adopt(scene)
    return dict(parse(hudi_options(str(scene.location), OptionsForm.PROPERTIES)))


def test_options_keep_the_table_as_it_is(tmp_path: Path) -> None:
    """Version 6, no upgrade, no metadata table, our key generator."""
    found = options(tmp_path, a_document(), "p=1/a")
    assert found["hoodie.write.table.version"] == "6"
    assert found["hoodie.write.auto.upgrade"] == "false"
    assert found["hoodie.metadata.enable"] == "false"
    assert found["hoodie.datasource.write.recordkey.field"] == "id"
    assert found["hoodie.datasource.write.keygenerator.class"].endswith("SimpleKeyGenerator")
    assert found["hoodie.combine.before.upsert"] == "false"


@pytest.mark.parametrize(("scope", "index"), [("table", "GLOBAL_SIMPLE"), ("partition", "SIMPLE")])
def test_index_fits_the_scope_of_keys(tmp_path: Path, scope: str, index: str) -> None:
    """A key that is unique in the table must be found in whichever partition it is."""
    table = {"record_key": {"columns": ["id"], "unique_within": scope}}
    found = options(tmp_path, a_document(table=table), "p=1/a", "p=2/a")
    assert found["hoodie.index.type"] == index


def test_table_without_partitions_needs_no_global_index(tmp_path: Path) -> None:
    """There is one partition only."""
    found = options(tmp_path, a_document(partition={}), "a")
    assert found["hoodie.index.type"] == "SIMPLE"
    assert found["hoodie.datasource.write.keygenerator.class"].endswith(
        "NonpartitionedKeyGenerator"
    )


def test_ordering_column_is_included(tmp_path: Path) -> None:
    """Hudi calls it precombine."""
    table = {"type": "merge_on_read", "ordering": {"columns": ["at"]}}
    found = options(tmp_path, a_document(table=table), "p=1/a")
    assert found["hoodie.datasource.write.precombine.field"] == "at"
    assert found["hoodie.datasource.write.table.type"] == "MERGE_ON_READ"
    assert "hoodie.combine.before.upsert" not in found


def test_custom_generator_is_warned_about_in_sql(tmp_path: Path) -> None:
    """One key column and several partition columns cannot be written by SQL at version 6."""
    document = a_document(partition={"p": "int", "q": "int"})
    scene = a_scene(tmp_path / "scene", {"p=1/q=1/a": ids(1)}, document)
    adopt(scene)
    sql = hudi_options(str(scene.location), OptionsForm.SQL)
    conf = hudi_options(str(scene.location), OptionsForm.SPARK_CONF)
    assert sum(line.startswith("--") for line in sql.splitlines()) > sum(
        line.startswith("#") for line in conf.splitlines()
    )


OLD_LISTS = "spark.hadoop.parquet.avro.write-old-list-structure"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (pa.list_(pa.int32()), {OLD_LISTS: "false"}),
        (pa.struct([("a", pa.list_(pa.string()))]), {OLD_LISTS: "false"}),
        (pa.map_(pa.string(), pa.int32()), {}),
        (
            pa.date32(),
            {
                "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
                "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
            },
        ),
    ],
)
def test_options_of_a_session_fit_the_columns(
    kind: pa.DataType, wanted: dict[str, str], tmp_path: Path
) -> None:
    """Lists that may hold nulls need another structure, early days another mode."""
    rows = ids(1).append_column("x", pa.nulls(1, kind))
    scene = a_scene(tmp_path / "scene", {"p=1/a": rows}, a_document())
    adopt(scene)
    text = hudi_options(str(scene.location), OptionsForm.PROPERTIES)
    found = dict(parse(text))
    assert {name: found[name] for name in found if name.startswith("spark.")} == wanted
    assert ("set when the session starts" in text) is bool(wanted)


def test_options_name_what_no_option_mends(tmp_path: Path) -> None:
    """A write of Apache Hudi to decimals that are integers in the source spoils them."""
    location = adopted("decimal-int-9", tmp_path)
    text = hudi_options(str(location), OptionsForm.SPARK_CONF)
    assert "# decimal-integer (Spark with Apache Hudi 1.2.0, " in text


def test_declaration_quotes_the_location(tmp_path: Path) -> None:
    """A quote in a path does not end the text."""
    scene = a_scene(tmp_path / "it's", {"p=1/a": ids(1)})
    adopt(scene)
    assert "it\\'s" in table_ddl(str(scene.location))


def test_missing_table_has_no_options(tmp_path: Path) -> None:
    """The caller gets an error."""
    for action in (table_ddl, lambda at: hudi_options(at, OptionsForm.SQL)):
        with pytest.raises(PlanError) as caught:
            action(str(tmp_path))
        assert caught.value.condition == "table/missing"
