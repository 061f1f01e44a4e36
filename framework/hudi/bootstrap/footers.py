"""Key-values in the footers of base files (format sheet, section 3.3)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from framework.hudi.filegroup.key_footer import BLOOM, BLOOM_TYPE, MAX_KEY, MIN_KEY
from framework.hudi.table.layout import META_COLUMNS

if TYPE_CHECKING:
    from framework.hudi.bootstrap.key_pass import KeyPass
    from framework.hudi.codecs.bloom import BloomSpec

__all__ = ["SKELETON_SCHEMA", "SOURCE", "key_footers"]

SOURCE: Final = "lakestrap.source"
"""The fingerprint of the source file, as `Fingerprint.as_json` writes it."""

SKELETON_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "HoodieRecordKey",
        "doc": "",
        "fields": [
            {"name": name, "type": ["null", "string"], "doc": "", "default": None}
            for name in META_COLUMNS
        ],
    },
    separators=(",", ":"),
)
"""Avro schema of a skeleton; without a namespace, as Apache Hudi writes it."""


def key_footers(keys: KeyPass, bloom: BloomSpec | None, avro_schema: str) -> dict[str, str]:
    """Return the entries that Apache Hudi's writers look for, also for a file without rows.

    A file without keys has no least and greatest key; it still has an (empty) bloom filter.
    """
    facts = keys.facts()
    found = {"parquet.avro.schema": avro_schema, "writer.model.name": "avro"}
    text = keys.bloom_footer()
    if bloom and text is not None:
        found |= {BLOOM: text, BLOOM_TYPE: bloom.type_code}
    if facts.min_key is not None and facts.max_key is not None:
        found |= {MIN_KEY: facts.min_key, MAX_KEY: facts.max_key}
    return found
