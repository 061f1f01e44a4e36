"""The proof of the keys in words."""

from __future__ import annotations

from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from tests.support.reports import KEYS, a_refused_report, a_report

DUPLICATES = {
    "condition": "audit/duplicate-keys",
    "message": "2 record keys occur more than once",
    "report": {
        "check": "duplicate-keys",
        "columns": ["order_id"],
        "scope": "table",
        "groups": 70,
        "rows": 140,
        "samples": [
            {
                "key": "A-1",
                "count": 2,
                "rows": [{"file": "a.parquet", "row": 3}, {"file": "b.parquet", "row": 0}],
            },
            {"file": "c.parquet", "partition": "", "row": 9},
        ],
    },
}


def test_proof_says_how_the_keys_were_compared() -> None:
    """In words, with counts."""
    assert proof_text(a_report()).startswith("336,761 keys in 12 files: the hashes of all keys")
    odd = a_report(keys=KEYS | {"method": "by hand", "equal_hashes_compared": 2})
    assert "by hand (2 pairs of different keys" in proof_text(odd)


def test_key_rule_without_columns_is_automatic() -> None:
    """RFC-76."""
    assert key_rule_text(a_report(keys=KEYS | {"columns": []})).startswith("automatic key unique")


def test_refused_keys_are_shown_with_their_places() -> None:
    """And how many more there are."""
    report = a_report(refusal=DUPLICATES, keys={})
    assert keys_refused(report)
    assert proof_text(report) == ""
    samples, more = key_samples(report)
    assert [each.places for each in samples] == [
        "a.parquet row 3; b.parquet row 0",
        "c.parquet row 9",
    ]
    assert more == 68


def test_refusal_by_checks_is_not_one_by_keys() -> None:
    """The keys stay proven."""
    assert not keys_refused(a_refused_report())
    assert proof_text(a_refused_report())


def test_proof_of_another_shape_is_described_best_effort() -> None:
    """Nothing fails."""
    report = a_report(keys={"columns": "a", "rows": "many"})
    assert key_rule_text(report) == "automatic key unique in table, not null"
    assert proof_text(report).startswith("all keys in all files")
