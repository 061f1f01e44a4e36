"""Proofs on paper: what they read, what they write, and that they find what counting finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.engine.audit import gate
from framework.engine.audit import keys as audit_keys
from framework.engine.bootstrap import proof_task
from framework.engine.bootstrap.key_proof import may_be_ordered, prove_keys
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError, CorruptFileError, SourceDriftError
from framework.hudi.bootstrap import source_file
from framework.hudi.keygen.text import record_keys
from framework.vocabulary import KeyScope, PartitionType
from tests.support.sources import SourceContext, a_rule, a_source, ids, source_context

PARTITION = a_rule(scope=KeyScope.PARTITION)
NOT_UTF8 = pa.StringArray.from_buffers(
    1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")
)


def prove(context: SourceContext, work: Path, parallelism: int = 1) -> dict[str, Any]:
    """Prove the keys of all files."""
    tasks = InProcessTasks(parallelism)
    return prove_keys(tasks, context.job.keys, context.ranges(), str(work))


def refusal(context: SourceContext, work: Path) -> tuple[str, dict[str, Any]]:
    """Expect a refusal; return condition and report."""
    with pytest.raises(AuditFailedError) as caught:
        prove(context, work)
    return caught.value.condition, caught.value.report


def test_prove_keys_writes_no_file(tmp_path: Path) -> None:
    """The same proof and the same refusal, from the source alone."""
    context = source_context(tmp_path, {"p=1/a": ids(3, 1), "p=2/a": ids(2)})
    work = tmp_path / "scratch"
    found = prove_keys(context.tasks, context.job.keys, context.ranges(), str(work))
    assert (found["unique"], found["method"], found["rows"]) == (True, "hash-buckets", 3)
    assert not list(work.rglob("*.parquet"))
    twice = source_context(tmp_path / "t", {"p=1/a": ids(3, 1), "p=2/a": ids(3)})
    with pytest.raises(AuditFailedError) as caught:
        prove_keys(twice.tasks, twice.job.keys, twice.ranges(), str(tmp_path / "s2"))
    assert caught.value.report["samples"] == [
        {
            "key": "3",
            "count": 2,
            "rows": [
                {"file": "p=1/a", "partition": "p=1", "row": 0},
                {"file": "p=2/a", "partition": "p=2", "row": 0},
            ],
        }
    ]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
def test_prove_keys_of_files_that_hold_their_partition_column(
    tmp_path: Path, kind: pa.DataType
) -> None:
    """The column is compared with the folder though no key is made of it."""
    context = source_context(tmp_path, {"p=1/a": ids(1, 2, p=pa.array([1, 1], kind))})
    found = prove_keys(context.tasks, context.job.keys, context.ranges(), str(tmp_path / "w"))
    assert found["rows"] == 2
    wrong = source_context(tmp_path / "x", {"p=1/a": ids(1, 2, p=pa.array([1, 2], kind))})
    with pytest.raises(CorruptFileError):
        prove_keys(wrong.tasks, wrong.job.keys, wrong.ranges(), str(tmp_path / "w2"))


def test_prove_keys_ordered_files_are_not_hashed(tmp_path: Path) -> None:
    """Order proves them; not a byte is spilled."""
    context = source_context(tmp_path, {"p=1/a": ids(1, 2), "p=1/b": ids(3, 9), "p=2/a": ids()})
    assert prove(context, tmp_path / "w")["method"] == "ordered-ranges"
    assert not list((tmp_path / "w").rglob("*.spill"))


@pytest.mark.parametrize(
    "files",
    [
        {"p=1/a": ids(1, 5), "p=1/b": ids(5, 9)},
        {"p=1/a": ids(1, 2), "p=1/b": ids(3, 7, 5, 5), "p=2/a": ids(8)},
        {"p=1/a": ids(1, 4, 5), "p=1/b": ids(5, 4, 9), "p=2/a": ids(10, 11)},
    ],
)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_prove_keys_files_that_only_seem_ordered_are_read_again(
    tmp_path: Path, files: Mapping[str, pa.Table], parallelism: int
) -> None:
    """Footers spoke for order, the keys do not: what was left out is hashed after all."""
    context = source_context(tmp_path, files)
    counts = Counter(key for table in files.values() for key in table["id"].to_pylist())
    repeated = [count for count in counts.values() if count > 1]
    with pytest.raises(AuditFailedError) as caught:
        prove(context, tmp_path / "w", parallelism)
    assert caught.value.report["groups"] == len(repeated)
    assert caught.value.report["rows"] == sum(repeated)


def test_prove_keys_first_key_of_ranges_that_touch_may_be_shared(tmp_path: Path) -> None:
    """Ranges of the first column may share an end where the whole keys do not."""
    tables = [
        pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int32())})
        for a, b in (([1, 2], [1, 1]), ([2, 3], [2, 1]))
    ]
    context = source_context(tmp_path, {"p=1/a": tables[0], "p=1/b": tables[1]}, a_rule("a", "b"))
    assert prove(context, tmp_path / "w")["method"] == "ordered-ranges"


def test_prove_keys_ambiguous_text_is_found_by_text(tmp_path: Path) -> None:
    """Values differ and texts are equal; a second look, by text, finds them in other files too."""
    rule = a_rule("a", "b")
    files = {
        "p=1/a": pa.table({"a": ["z", "x"], "b": ["y", "y,b:z"]}),
        "p=2/a": pa.table({"a": ["x,b:y"], "b": ["z"]}),
    }
    condition, report = refusal(source_context(tmp_path, files, rule), tmp_path / "w")
    assert condition == "audit/duplicate-keys"
    assert (report["groups"], report["rows"]) == (1, 2)
    assert report["samples"][0]["key"] == "a:x,b:y,b:z"


def test_prove_keys_ambiguous_text_that_repeats_nothing_is_proven(tmp_path: Path) -> None:
    """A label inside a value costs time, and refuses nothing."""
    files = {"p=1/a": pa.table({"a": ["z", "x,b:y"], "b": ["y", "z"]})}
    found = prove(source_context(tmp_path, files, a_rule("a", "b")), tmp_path / "w")
    assert (found["unique"], found["method"], found["rows"]) == (True, "hash-buckets", 2)


def test_prove_keys_null_keys_are_refused_with_their_places(tmp_path: Path) -> None:
    """Before duplicates, with the whole count."""
    files = {"p=1/a": ids(1, None, 1), "p=2/a": ids(2), "p=3/a": ids(None)}
    condition, report = refusal(source_context(tmp_path, files), tmp_path / "w")
    assert (condition, report["rows"]) == ("audit/null-keys", 2)
    assert report["samples"] == [
        {"file": "p=1/a", "partition": "p=1", "row": 1},
        {"file": "p=3/a", "partition": "p=3", "row": 0},
    ]


def test_prove_keys_scope_of_a_partition_is_kept_apart(tmp_path: Path) -> None:
    """The same key in two partitions is no duplicate; twice in one it is."""
    files = {"p=1/a": ids(2, 1), "p=2/a": ids(1, 2)}
    assert prove(source_context(tmp_path / "a", files, PARTITION), tmp_path / "w")["unique"] is True
    twice = source_context(tmp_path / "b", {**files, "p=2/b": ids(9, 2)}, PARTITION)
    _, report = refusal(twice, tmp_path / "v")
    (sample,) = report["samples"]
    assert (sample["key"], sample["partition"], sample["count"]) == ("2", "p=2", 2)


def test_prove_keys_equal_hashes_of_different_keys_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are compared as text, also where values were hashed."""

    def poor(_rule: object, columns: Any, _values: object, out: np.ndarray) -> np.ndarray:
        out[:] = columns.column(0).to_numpy() % 4
        return out

    monkeypatch.setattr(audit_keys, "value_hashes", poor)
    monkeypatch.setattr(gate, "_REMEMBERED", 1)
    context = source_context(tmp_path, {"p=1/a": ids(*range(9, 0, -1)), "p=2/a": ids(10, 11)})
    assert prove(context, tmp_path / "w")["equal_hashes_compared"] == 4


def test_prove_keys_large_files_are_hashed_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A duplicate across parts is found; rows count from the file's begin."""
    monkeypatch.setattr(proof_task, "_MOST_HASHES", 7)
    monkeypatch.setattr(source_file, "_BATCH_ROWS", 5)
    values = [*range(100, 0, -1), 40]
    context = source_context(tmp_path, {"p=1/a": ids(*values)}, row_group_size=33)
    _, report = refusal(context, tmp_path / "w")
    assert (report["groups"], report["rows"]) == (1, 2)
    assert [row["row"] for row in report["samples"][0]["rows"]] == [60, 100]


def test_prove_keys_source_that_changed_is_refused(tmp_path: Path) -> None:
    """Between inventory and proof nothing may change."""
    context = source_context(tmp_path, {"p=1/a": ids(1, 2), "p=1/b": ids(3)})
    a_source(tmp_path / "source", {"p=1/b": ids(4, 5)})
    with pytest.raises(SourceDriftError):
        prove(context, tmp_path / "w")


def test_prove_keys_no_files_is_proven(tmp_path: Path) -> None:
    """Nothing holds no duplicate."""
    assert prove(source_context(tmp_path, {}), tmp_path / "w")["rows"] == 0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"p=1/a": ids(1, 2), "p=1/b": ids(2, 3)}, True),
        ({"p=1/a": ids(5, 9), "p=1/b": ids(1, 4)}, True),
        ({"p=1/a": ids(1, 5), "p=1/b": ids(2, 3)}, False),
        ({"p=1/a": ids(1, 5), "p=2/b": ids(2, 3)}, False),
        ({"p=1/a": ids(), "p=2/b": ids(2, 3)}, True),
        ({"p=1/a": ids(None), "p=2/b": ids(2, 3)}, False),
        ({}, True),
    ],
)
def test_may_be_ordered_asks_the_footers(
    tmp_path: Path, files: Mapping[str, pa.Table], *, expected: bool
) -> None:
    """Ranges may touch, in any order of files; without statistics nothing speaks for order."""
    context = source_context(tmp_path, files)
    assert may_be_ordered(context.job.keys, context.ranges()) is expected


def test_may_be_ordered_looks_inside_partitions_where_these_are_the_scope(tmp_path: Path) -> None:
    """Other partitions may hold the same keys."""
    apart = {"p=1/a": ids(1, 5), "p=2/a": ids(1, 5), "p=2/b": ids(6)}
    context = source_context(tmp_path / "a", apart, PARTITION)
    assert may_be_ordered(context.job.keys, context.ranges())
    context = source_context(tmp_path / "b", {**apart, "p=2/c": ids(2, 9)}, PARTITION)
    assert not may_be_ordered(context.job.keys, context.ranges())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NOT_UTF8, False),
        (pa.array([4_000_000], pa.int32()).view(pa.date32()), False),
        (pa.array([Decimal("1.50")], pa.decimal128(38, 2)), True),
    ],
)
def test_may_be_ordered_statistics_of_any_value_do_no_harm(
    tmp_path: Path, column: pa.Array, *, expected: bool
) -> None:
    """Text that is not UTF-8 and days after the year 9999 have bounds that Python has not."""
    context = source_context(tmp_path, {f"p=1/{n}": pa.table({"id": column}) for n in range(2)})
    assert may_be_ordered(context.job.keys, context.ranges()) is expected


def test_may_be_ordered_file_without_statistics_says_no(tmp_path: Path) -> None:
    """Some writers leave them out."""
    files = {"p=1/a": ids(1, 2), "p=1/b": ids(3)}
    context = source_context(tmp_path, files, write_statistics=False)
    assert not may_be_ordered(context.job.keys, context.ranges())


COLUMNS: Mapping[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "n": (pa.int64(), (-(2**63), -1, 0, 7, 2**63 - 1)),
    "s": (pa.string(), ("a", "é", ",d:", "x,n:1", "__null__", "__empty__", "1")),
    "d": (pa.date32(), (date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29))),
    "m": (pa.decimal128(38, 2), (Decimal("-0.01"), Decimal("1e30"), Decimal(0))),
    "i": (pa.int32(), (-(2**31), 0, 2**31 - 1)),
}


@st.composite
def sources(draw: st.DrawFn) -> tuple[tuple[str, ...], dict[str, pa.Table]]:
    """Draw key columns and a few files of them, sometimes sorted."""
    names = draw(st.permutations(list(COLUMNS)).map(lambda p: tuple(p[:3])) | st.just(("n",)))
    rows = st.tuples(*(st.sampled_from(COLUMNS[name][1]) for name in names))
    files = {}
    for number in range(draw(st.integers(1, 3))):
        drawn = draw(st.lists(rows, max_size=5, unique=draw(st.booleans())))
        drawn = sorted(drawn) if draw(st.booleans()) else drawn
        columns = {n: pa.array([r[at] for r in drawn], COLUMNS[n][0]) for at, n in enumerate(names)}
        files[f"p={draw(st.integers(1, 2))}/{number}"] = pa.table(columns)
    return names, files


@pytest.mark.property
@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sources(), st.sampled_from(list(KeyScope)), st.integers(1, 2))
def test_prove_keys_agrees_with_counting_texts(
    tmp_path_factory: pytest.TempPathFactory,
    source: tuple[tuple[str, ...], dict[str, pa.Table]],
    scope: KeyScope,
    parallelism: int,
) -> None:
    """For keys of any types, groups and rows are those that counting the texts gives."""
    names, files = source
    root = tmp_path_factory.mktemp("proof")
    rule = a_rule(*names, scope=scope, partition={"p": PartitionType.INT})
    context = source_context(root, files, rule)
    counts: Counter[tuple[str, str]] = Counter()
    for path, table in files.items():
        where = path.partition("/")[0] if scope is KeyScope.PARTITION else ""
        counts.update((where, text) for text in record_keys(rule, table, {}).to_pylist())
    repeated = [count for count in counts.values() if count > 1]
    if not repeated:
        assert prove(context, root / "w", parallelism)["rows"] == counts.total()
        return
    with pytest.raises(AuditFailedError) as caught:
        prove(context, root / "w", parallelism)
    report = caught.value.report
    assert (report["groups"], report["rows"]) == (len(repeated), sum(repeated))
