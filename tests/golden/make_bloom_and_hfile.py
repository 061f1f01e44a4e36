"""Let Apache Hudi judge blooms, HFiles and properties: `codecs-<release>.json` beside this file.

Run with PySpark 3.5 and one Hudi bundle at a time, from the repository's root:

    python -m tests.golden.make_bloom_and_hfile 1.2.0 hudi-spark3.5-bundle_2.12-1.2.0.jar

Filters, bootstrap indexes and parsed properties come from Hudi's (and Java's) own classes. Of the
index that we write, the bytes are kept with what Hudi read from them, and a test compares them with
today's.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from framework.hudi.bootstrap.index import IndexGroup
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX
from tests.support.bootstrap_index import (
    BASE_URI,
    golden_groups,
    tame_groups,
    write_index,
)

HERE = Path(__file__).parent
OLD_CONSTRUCTOR = "0.15.0"
PROPERTIES = """hoodie.table.name=judge
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=6
hoodie.timeline.layout.version=1
hoodie.table.base.file.format=PARQUET
hoodie.archivelog.folder=archived
"""
TAILS = ("", "é", "日本", "😀", "aé", "éa", "aaé", "ééa", "\x7f", "\x80", "ÿ")


def main() -> None:
    """Write the vectors of the release that is named on the command line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("release")
    arguments.add_argument("jar", type=Path)
    options = arguments.parse_args()
    builder: Any = SparkSession.builder
    settings = {"spark.jars": str(options.jar), "spark.ui.enabled": "false"}
    spark = builder.config(map=settings).master("local[1]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    with tempfile.TemporaryDirectory() as scratch:
        result = {
            "release": options.release,
            "blooms": [bloom(jvm, **case) for case in bloom_cases()],
            "properties": [properties(jvm, text) for text in property_texts()],
            "stored": [stored(jvm, *pair) for pair in property_pairs()],
            "theirs": theirs(jvm, Path(scratch), options.release),
            "ours": ours(jvm, Path(scratch)),
        }
    spark.stop()
    text = json.dumps(result, ensure_ascii=True, indent=1, sort_keys=True)
    (HERE / f"codecs-{options.release}.json").write_text(text + "\n", encoding="utf-8")


def bloom_cases() -> list[dict[str, Any]]:
    """Return filters to make: keys of many lengths, tails above 0x7F, rows that fill and turn."""
    lengths = [f"{'key-of-many-lengths:' * 4}"[:n] for n in range(1, 70)]
    tails = ["x" * n + tail for n in range(5) for tail in TAILS if n or tail]
    mixed = [*lengths, *tails]
    few = [f"k{n}" for n in range(60)]
    sizes = [(60, 0.01, 100), (200, 1e-9, 100_000), (10, 1e-9, 25), (10, 0.5, 10), (25, 0.1, 50)]
    sizes += [(10, 0.1, 5), (1, 0.1, 3), (7, 0.001, 20), (59, 0.1, 60), (60, 0.1, 60)]
    cases = [
        {"kind": kind, "expected_keys": n, "fpp": p, "max_keys": most, "keys": keys}
        for kind in ("SIMPLE", "DYNAMIC_V0")
        for n, p, most in sizes
        for keys in ((mixed, few) if n in {60, 200} else (few,))
    ]
    cases.append({**cases[-1], "keys": []})
    return cases


def bloom(jvm: Any, *, kind: str, keys: list[str], **size: Any) -> dict[str, Any]:
    """Return the case with Hudi's footer."""
    make = jvm.org.apache.hudi.common.bloom.BloomFilterFactory.createBloomFilter
    made = make(size["expected_keys"], size["fpp"], size["max_keys"], kind)
    for key in keys:
        made.add(key)
    return {"kind": kind, "keys": keys, **size, "footer": made.serializeToString()}


def property_texts() -> list[str]:
    """Return texts to parse: the corners by hand, then pieces put together at random."""
    corners = ["a=b", " a : b", "a", "a\\", "\\", "\\\n#x=y", "a=\\\n  b", "a\\ b=c", "a==b", "=b"]
    corners += [
        "a b=c",
        "a\tb",
        "a =: b",
        "#a\\\nb=c",
        "!x\na=1\ra=2\r\nc",
        "k=\\u00e9\\uD83D\\uDE00",
    ]
    corners += [
        "a=b\\\\",
        "a=b\\\\\\\nc",
        "a=b\\\n\nc=d",
        "a=\\\n#b",
        "\f a=b ",
        "a\\=b\\:c=d",
        "\\\n\n!x",
    ]
    pieces = [
        "a",
        "b",
        " ",
        "=",
        ":",
        "\\",
        "\\\\",
        "\n",
        "\r",
        "\r\n",
        "\t",
        "\f",
        "#",
        "!",
        "\\t",
    ]
    pieces += ["\\n", "\\u0041", "é", "key", "value", "\\ ", "\\=", "\\z"]
    chooser = random.Random(7)
    return corners + [
        "".join(chooser.choices(pieces, k=chooser.randint(1, 14))) for _ in range(300)
    ]


def properties(jvm: Any, text: str) -> dict[str, Any]:
    """Return the text and what `java.util.Properties` reads from it."""
    made = jvm.java.util.Properties()
    made.load(jvm.java.io.StringReader(text))
    return {"text": text, "entries": {k: made.getProperty(k) for k in made.stringPropertyNames()}}


def property_pairs() -> list[tuple[str, str]]:
    """Return keys and values to store."""
    texts = [
        "a",
        "a b",
        " a",
        "  a ",
        "a=b:c",
        "#a!",
        "é😀",
        "\t\n\r\f",
        "\\u",
        "~\x7f\x00",
        "日本",
    ]
    return [(key, value) for key in texts for value in (key, "x")]


def stored(jvm: Any, key: str, value: str) -> dict[str, str]:
    """Return the pair and the line that `java.util.Properties` stores."""
    made, out = jvm.java.util.Properties(), jvm.java.io.ByteArrayOutputStream()
    made.setProperty(key, value)
    made.store(out, None)
    line = out.toString("ISO-8859-1").split("\n", 1)[1]  # after the date
    return {"key": key, "value": value, "line": line}


def theirs(jvm: Any, scratch: Path, release: str) -> dict[str, Any]:
    """Let Hudi write an index; return its files and what they should say.

    Only of tame partitions: in the fileids file Hudi keeps the order of the partitions, so HBase's
    writer refuses `p=1` before `p=10`, and the native one writes a file that is out of order.
    """
    table = new_table(scratch / "theirs")
    writer = index_of(jvm, table).createWriter(BASE_URI)
    writer.begin()
    for group in sorted(tame_groups(), key=lambda each: each.partition_path):
        mappings = jvm.java.util.ArrayList()
        for file in group.files:
            status = status_of(jvm, file.uri, file.size, file.mtime_ms)
            paths = [BASE_URI, group.source_partition, group.partition_path]
            if release == OLD_CONSTRUCTOR:
                arguments = [*paths, status, file.file_id]
            else:
                arguments = [*paths[:2], status, group.partition_path, file.file_id]
            mappings.add(jvm.org.apache.hudi.common.model.BootstrapFileMapping(*arguments))
        writer.appendNextPartition(group.partition_path, mappings)
    writer.finish()
    return {
        "partitions": packed(table, 0),
        "fileids": packed(table, 1),
        **answers(jvm, table, tame_groups()),
    }


def ours(jvm: Any, scratch: Path) -> dict[str, Any]:
    """Return the index that we write, and what Hudi reads from it."""
    table = new_table(scratch / "ours")
    outs = (io.BytesIO(), io.BytesIO())
    write_index(*outs, golden_groups())
    for path, out in zip(INDEX_FILES, outs, strict=True):
        (table / path).parent.mkdir(parents=True)
        (table / path).write_bytes(out.getvalue())
    return {
        "partitions": packed(table, 0),
        "fileids": packed(table, 1),
        **answers(jvm, table, golden_groups()),
    }


INDEX_FILES = (BOOTSTRAP_PARTITIONS_INDEX, BOOTSTRAP_FILEIDS_INDEX)


def new_table(folder: Path) -> Path:
    """Return a folder that Hudi takes for an empty table of version 6."""
    (folder / ".hoodie").mkdir(parents=True)
    (folder / ".hoodie" / "hoodie.properties").write_text(PROPERTIES)
    return folder


def index_of(jvm: Any, table: Path) -> Any:
    """Return Hudi's bootstrap index of a table."""
    conf = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(
        jvm.org.apache.hadoop.conf.Configuration()
    )
    client = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
    client = client.setConf(conf).setBasePath(str(table)).build()
    return jvm.org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex(client)


def status_of(jvm: Any, uri: str, size: int, mtime_ms: int) -> Any:
    """Return Hudi's file status."""
    model = jvm.org.apache.hudi.avro.model
    path = model.HoodiePath(1, uri)
    status = model.HoodieFileStatus.newBuilder().setPath(path).setIsDir(False)
    status.setLength(size).setBlockReplication(1).setBlockSize(1).setAccessTime(0)
    return status.setModificationTime(mtime_ms).build()


def packed(table: Path, place: int) -> str:
    """Return one of the two index files as base64 of gzip."""
    data = (table / INDEX_FILES[place]).read_bytes()
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def answers(jvm: Any, table: Path, groups: list[IndexGroup]) -> dict[str, Any]:
    """Return what Hudi's reader says about the index of a table."""
    index = index_of(jvm, table)
    with_reader = index.createReader()
    mappings = {
        group.partition_path: sorted(
            [m.getFileId(), *facts(m.getBootstrapFileStatus())]
            for m in with_reader.getSourceFileMappingForPartition(group.partition_path)
        )
        for group in groups
    }
    single = {}
    for group in groups:
        wanted = jvm.java.util.ArrayList()
        for file in group.files[:3]:
            model = jvm.org.apache.hudi.common.model
            wanted.add(model.HoodieFileGroupId(group.partition_path, file.file_id))
        found = index.createReader().getSourceFileMappingForFileIds(wanted)
        single[group.partition_path] = sorted(
            [m.getFileId(), *facts(m.getBootstrapFileStatus())] for m in found.values()
        )
    return {
        "present": index.isPresent(),
        "base": with_reader.getBootstrapBasePath(),
        "partition_paths": list(with_reader.getIndexedPartitionPaths()),
        "file_groups": [
            [g.getPartitionPath(), g.getFileId()] for g in with_reader.getIndexedFileGroupIds()
        ],
        "mappings": mappings,
        "single": single,
    }


def facts(status: Any) -> list[Any]:
    """Return uri, size and time of a file status."""
    return [status.getPath().getUri(), status.getLength(), status.getModificationTime()]


if __name__ == "__main__":
    main()
