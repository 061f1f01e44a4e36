"""The gate: what passes with which proof, and what is refused at which place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.engine.audit import candidates, gate
from framework.engine.audit import keys as audit_keys
from framework.engine.audit.gate import audit
from framework.engine.bootstrap.write import Ledger, write_files
from framework.errors import AuditFailedError
from framework.hudi.bootstrap import key_pass
from framework.vocabulary import BootstrapMode, KeyScope, PartitionType
from tests.support.sources import SourceContext, a_rule, ids, source_context

PARTITION = a_rule(scope=KeyScope.PARTITION)


def proof(
    context: SourceContext, mode: BootstrapMode = BootstrapMode.METADATA_ONLY
) -> dict[str, Any]:
    """Write all files and audit them."""
    written = write_files(
        context.tasks, context.job, context.ranges(mode), Ledger(journal=lambda _: None)
    )
    audited = audit(context.tasks, written, context.place)
    assert audited.written is written
    return dict(audited.proof)


def refusal(
    context: SourceContext, mode: BootstrapMode = BootstrapMode.METADATA_ONLY
) -> tuple[str, dict[str, Any]]:
    """Write all files, expect the audit to refuse them; return condition and report."""
    with pytest.raises(AuditFailedError) as caught:
        proof(context, mode)
    return caught.value.condition, caught.value.report


@pytest.mark.parametrize("mode", [BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD])
def test_audit_ordered_disjoint_files_are_proven_by_statuses(
    tmp_path: Path, mode: BootstrapMode
) -> None:
    """No key is looked at again where order and ranges say it all."""
    context = source_context(
        tmp_path, {"p=2/a": ids(1, 2), "p=1/b": ids(5, 9), "p=1/a": ids(3), "p=3/a": ids()}
    )
    found = proof(context, mode)
    assert found["method"] == "ordered-ranges"
    assert (found["files"], found["rows"]) == (4, 5)
    assert (found["unique"], found["not_null"], found["scope"]) == (True, True, "table")


@pytest.mark.parametrize(
    "files",
    [
        {"p=1/a": ids(2, 1)},
        {"p=1/a": ids(1, 4), "p=1/b": ids(2, 3)},
        {"p=1/a": ids(1, 9), "p=2/b": ids(2, 3)},
    ],
)
def test_audit_other_files_are_proven_by_hashes(
    tmp_path: Path, files: Mapping[str, pa.Table]
) -> None:
    """Disorder or overlap takes the second way, to the same end."""
    found = proof(source_context(tmp_path, files))
    assert found["method"] == "hash-buckets"
    assert found["equal_hashes_compared"] == 0


def test_audit_partition_scope_lets_ranges_overlap_across_partitions(tmp_path: Path) -> None:
    """The same key in two partitions is no duplicate there, by either way."""
    ordered = source_context(tmp_path / "a", {"p=1/a": ids(1, 2), "p=2/a": ids(1, 2)}, PARTITION)
    assert proof(ordered)["method"] == "ordered-ranges"
    mixed = source_context(tmp_path / "b", {"p=1/a": ids(2, 1), "p=2/a": ids(1, 2)}, PARTITION)
    assert proof(mixed)["method"] == "hash-buckets"


def test_audit_touching_ranges_are_duplicates(tmp_path: Path) -> None:
    """Last of one file equal to first of the next is one key twice."""
    condition, report = refusal(source_context(tmp_path, {"p=1/a": ids(1, 2), "p=2/a": ids(2, 3)}))
    assert condition == "audit/duplicate-keys"
    assert (report["groups"], report["rows"], report["exact"]) == (1, 2, True)
    assert report["samples"] == [
        {
            "key": "2",
            "count": 2,
            "rows": [
                {"file": "p=1/a", "partition": "p=1", "row": 1},
                {"file": "p=2/a", "partition": "p=2", "row": 0},
            ],
        }
    ]


def test_audit_duplicates_in_one_partition_name_it(tmp_path: Path) -> None:
    """In the scope of a partition, only what repeats inside it is refused."""
    files = {"p=1/a": ids(1, 2), "p=1/b": ids(2), "p=2/a": ids(1, 2)}
    _, report = refusal(source_context(tmp_path, files, PARTITION))
    (sample,) = report["samples"]
    assert (sample["key"], sample["partition"], sample["count"]) == ("2", "p=1", 2)


@pytest.mark.parametrize("mode", [BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD])
def test_audit_duplicate_far_in_a_file_is_found_with_its_row(
    tmp_path: Path, mode: BootstrapMode
) -> None:
    """Rows count from 0 over all row groups of the file."""
    values = list(range(1000))
    values[777] = 5
    context = source_context(tmp_path, {"p=1/a": ids(*values)}, row_group_size=100)
    _, report = refusal(context, mode)
    assert [row["row"] for row in report["samples"][0]["rows"]] == [5, 777]


def test_audit_null_keys_name_file_and_row(tmp_path: Path) -> None:
    """Nulls are refused before duplicates are looked for."""
    files = {"p=1/a": ids(1, None, 1), "p=2/a": ids(2), "p=3/a": ids(None)}
    condition, report = refusal(source_context(tmp_path, files))
    assert condition == "audit/null-keys"
    assert report["rows"] == 2
    assert report["samples"] == [
        {"file": "p=1/a", "partition": "p=1", "row": 1},
        {"file": "p=3/a", "partition": "p=3", "row": 0},
    ]


def test_audit_null_samples_are_few_and_the_count_is_whole(tmp_path: Path) -> None:
    """A column that is null everywhere does not flood the report."""
    empty = pa.table({"id": pa.nulls(500, pa.int64())})
    _, report = refusal(source_context(tmp_path, {"p=1/a": empty, "p=2/a": empty}))
    assert report["rows"] == 1000
    assert len(report["samples"]) == 50


def test_audit_one_key_everywhere_stays_small(tmp_path: Path) -> None:
    """A constant key is one group with a count, not a million samples."""
    same = pa.table({"id": pa.array([7] * 5000, pa.int64())})
    context = source_context(tmp_path, {f"p={n}/a": same for n in range(4)})
    _, report = refusal(context)
    assert (report["groups"], report["rows"]) == (1, 20_000)
    assert len(report["samples"][0]["rows"]) == 5


def test_audit_very_many_duplicates_are_counted_by_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what is remembered, counts come from hashes and the report says so."""
    monkeypatch.setattr(gate, "_REMEMBERED", 8)
    context = source_context(tmp_path, {"p=1/a": ids(*range(100)), "p=2/a": ids(*range(100))})
    _, report = refusal(context)
    assert (report["groups"], report["rows"], report["exact"]) == (100, 200, False)
    assert len(report["samples"]) == 8
    assert all(sample["count"] == 2 for sample in report["samples"])


def test_audit_large_buckets_are_taken_in_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bucket too large for memory gives the same result."""
    monkeypatch.setattr(candidates, "_PASS_ROWS", 16)
    values = [*range(300), 3, 3, 299]
    _, report = refusal(source_context(tmp_path, {"p=1/a": ids(*values)}, bits=1))
    assert (report["groups"], report["rows"]) == (2, 5)
    unique = source_context(tmp_path / "u", {"p=1/a": ids(*range(300, 0, -1))}, bits=0)
    assert proof(unique)["unique"] is True


def test_audit_equal_hashes_of_different_keys_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are compared as text; a collision refuses nothing, and is counted."""

    def poor(keys: Any) -> np.ndarray:
        return np.array([int(text.as_py()) % 4 for text in keys], np.uint64)

    monkeypatch.setattr(key_pass, "key_hashes", poor)
    monkeypatch.setattr(audit_keys, "key_hashes", poor)
    monkeypatch.setattr(gate, "_REMEMBERED", 1)
    files = {"p=1/a": ids(*range(9, 0, -1)), "p=2/a": ids(10, 11)}
    context = source_context(tmp_path, files)
    found = write_files(
        context.tasks, _without_bloom(context), context.ranges(), Ledger(journal=lambda _: None)
    )
    assert audit(context.tasks, found, context.place).proof["equal_hashes_compared"] == 4


def test_audit_ambiguous_text_is_not_proven_by_order(tmp_path: Path) -> None:
    """Tuples differ, texts are equal: uniqueness is of the text that Hudi will see."""
    table = pa.table({"a": ["x", "x,b:y"], "b": ["y,b:z", "z"]})
    rule = a_rule("a", "b")
    condition, report = refusal(source_context(tmp_path, {"p=1/a": table}, rule))
    assert condition == "audit/duplicate-keys"
    assert report["samples"][0]["key"] == "a:x,b:y,b:z"


def test_audit_unpartitioned_table(tmp_path: Path) -> None:
    """All files of all folders are one scope."""
    rule = a_rule(partition={})
    condition, _ = refusal(source_context(tmp_path, {"a/1": ids(1), "b/1": ids(1)}, rule))
    assert condition == "audit/duplicate-keys"


def test_audit_key_of_the_folder_alone(tmp_path: Path) -> None:
    """A key that all rows of a folder share is refused with the folder's value."""
    rule = a_rule("p", partition={"p": PartitionType.INT})
    context = source_context(
        tmp_path, {"p=1/a": pa.table({"v": [1, 2]}), "p=2/a": pa.table({"v": [3]})}, rule
    )
    _, report = refusal(context)
    assert report["samples"][0]["key"] == "1"
    single = {"p=1/a": pa.table({"v": [1]}), "p=2/a": pa.table({"v": [3]})}
    assert proof(source_context(tmp_path / "ok", single, rule))["unique"] is True


def test_audit_checksum_covers_the_files(tmp_path: Path) -> None:
    """The proof is of these bytes: other files, other checksum."""
    one = proof(source_context(tmp_path / "a", {"p=1/a": ids(1)}))
    other = proof(source_context(tmp_path / "b", {"p=1/a": ids(2)}))
    assert one["checksum"] != other["checksum"]


def test_audit_in_several_tasks_finds_the_same(tmp_path: Path) -> None:
    """Work shared among threads gives one report."""
    files = {f"p={n % 5}/{n:02}": ids(n, n + 100, n % 7) for n in range(40)}
    one = refusal(source_context(tmp_path / "a", files, bits=3))
    many = refusal(source_context(tmp_path / "b", files, bits=3, parallelism=4))
    assert one == many


def test_audit_no_files_is_proven(tmp_path: Path) -> None:
    """Nothing holds no duplicate."""
    (tmp_path / "source").mkdir(parents=True)
    assert proof(source_context(tmp_path, {}))["rows"] == 0


@pytest.mark.parametrize("scope", list(KeyScope))
def test_audit_of_empty_files_is_proven(tmp_path: Path, scope: KeyScope) -> None:
    """Files without rows have no range, and need none."""
    context = source_context(tmp_path, {"p=1/a": ids(), "p=2/a": ids()}, a_rule(scope=scope))
    assert proof(context)["method"] == "ordered-ranges"


@pytest.mark.property
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.lists(
        st.tuples(st.integers(1, 3), st.lists(st.integers(-4, 30), max_size=8)), max_size=5
    ),
    scope=st.sampled_from(list(KeyScope)),
    bits=st.integers(0, 3),
)
def test_audit_agrees_with_a_plain_count(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[tuple[int, list[int]]],
    scope: KeyScope,
    bits: int,
) -> None:
    """For any files, groups and rows are those that counting gives."""
    root = tmp_path_factory.mktemp("audit")
    tables = {f"p={p}/{n}": ids(*values) for n, (p, values) in enumerate(files)}
    context = source_context(root, tables, a_rule(scope=scope), bits=bits)
    counts: dict[tuple[int, int], int] = {}
    for p, values in files:
        for value in values:
            key = (p if scope is KeyScope.PARTITION else 0, value)
            counts[key] = counts.get(key, 0) + 1
    repeated = [count for count in counts.values() if count > 1]
    if not repeated:
        assert proof(context)["rows"] == sum(counts.values())
        return
    _, report = refusal(context)
    assert (report["groups"], report["rows"]) == (len(repeated), sum(repeated))


def _without_bloom(context: SourceContext) -> Any:
    """Return the job without a filter, whose builder hashes by itself."""
    fields = {name: getattr(context.job, name) for name in type(context.job).__slots__}
    return type(context.job)(**{**fields, "bloom": {"kind": "none"}})
