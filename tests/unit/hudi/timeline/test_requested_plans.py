"""The plan of a replacecommit that clusters nothing, with our facts in it."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.codecs.avro import read_container, write_container
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.requested_plans import REQUESTED_REPLACE, requested_replace_bytes
from tests.support.storage_suite import put

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = TEXTS.filter(lambda key: key != "lakestrap.checksum")  # which only commits have
NAMESPACE = "org.apache.hudi.avro.model"


@pytest.mark.property
@settings(deadline=None)
@given(st.dictionaries(KEYS, TEXTS, max_size=4))
def test_requested_replace_that_is_written_is_read_back(extra: dict[str, str]) -> None:
    """Everything but our facts is null, and equal facts are equal bytes in any order."""
    data = requested_replace_bytes(extra)
    assert read_container(data) == {
        "operationType": None,
        "clusteringPlan": None,
        "extraMetadata": extra,
        "version": 1,
    }
    assert data == requested_replace_bytes(dict(reversed(extra.items())))
    storage = MemoryStorage(uuid4().hex)
    put(storage, "x", data)
    head = read_commit_head(storage, "x")
    storage.forget()
    assert dict(head.extra) == extra


def test_requested_replace_holds_a_plan_of_apache_hudis_shape() -> None:
    """The schema is whole: a clustering plan, down to its slices, goes in and comes out."""
    piece = {
        "dataFilePath": "file:/t/a.parquet",
        "deltaFilePaths": [],
        "fileId": "f",
        "partitionPath": "p",
        "bootstrapFilePath": "",
        "version": 1,
    }
    group = {
        "slices": [piece],
        "metrics": {"TOTAL_IO_MB": 1.5},
        "numOutputFileGroups": 2,
        "extraMetadata": None,
        "version": 1,
    }
    plan: dict[str, Any] = {
        "inputGroups": [group],
        "strategy": {"strategyClassName": "c", "strategyParams": {"a": "b"}, "version": 1},
        "extraMetadata": {},
        "version": 1,
        "preserveHoodieMetadata": True,
    }
    record = {"operationType": "CLUSTER", "clusteringPlan": plan, "extraMetadata": {}, "version": 1}
    assert read_container(write_container(REQUESTED_REPLACE, record)) == record


def test_requested_replace_names_its_records_as_apache_hudi_does() -> None:
    """Java resolves records by their full names."""
    names: set[str] = set()

    def walk(schema: Any) -> None:
        """Collect the full names of all records."""
        if isinstance(schema, dict):
            if schema.get("type") == "record":
                names.add(f"{schema['namespace']}.{schema['name']}")
            for value in schema.values():
                walk(value)
        elif isinstance(schema, list):
            for value in schema:
                walk(value)

    walk(json.loads(json.dumps(REQUESTED_REPLACE)))
    kinds = ("RequestedReplaceMetadata", "ClusteringPlan", "ClusteringGroup", "ClusteringStrategy")
    assert names == {f"{NAMESPACE}.Hoodie{kind}" for kind in (*kinds, "SliceInfo")}
