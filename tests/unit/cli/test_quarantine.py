"""`quarantine ls`, `show` and `drop`, and what `status` and `history` say of quarantined rows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import SystemClock
from tests.support.quarantine import Shop
from tests.unit.cli.conftest import Command

pytestmark = pytest.mark.long

EMPTY = "nothing quarantined\n"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop with two data sets, of two rows and of one."""
    shop = Shop(folder=tmp_path / "shop", least=3)
    shop.folder.mkdir()
    for name, rows in (("a", {1: 5, 2: None, 3: 1}), ("b", {4: 9, 5: 2})):
        shop.land(name, rows)
        shop.run()
    return shop


class Terminal(io.StringIO):
    """A terminal with typed input."""

    def isatty(self) -> bool:
        """Return whether it is interactive."""
        return True


def test_ls_has_a_row_for_each_data_set_and_sums(command: Command, shop: Shop) -> None:
    """Oldest first; rows by the check that they failed."""
    outcome = command("quarantine", "ls", shop.spec)
    assert outcome.code == 0
    header, first, second, sums = outcome.out.splitlines()
    assert header.split() == ["instant", "quarantined", "rows", "bytes", "by", "rule"]
    older, newer = shop.waiting()
    assert first.split()[0] == older.instant
    assert first.endswith("known 1, large 2")
    assert second.split()[0] == newer.instant
    assert second.endswith("large 1")
    assert sums.startswith("2 data sets, 3 rows, ")
    assert sums.endswith(f" in {shop.table}.quarantine")


def test_ls_by_spec_by_location_and_by_search_says_the_same(command: Command, shop: Shop) -> None:
    """One JSON document a table."""
    ways: tuple[list[Path], ...] = ([shop.spec], [shop.table], [])
    documents = [command("quarantine", "ls", *words, "--format", "json").document for words in ways]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["rows"] == 3
    assert [each["by_rule"] for each in documents[0]["data_sets"]] == [
        {"known": 1, "large": 2},
        {"large": 1},
    ]
    assert all(each["files"] and each["bytes"] for each in documents[0]["data_sets"])


def test_ls_of_several_tables_names_each(command: Command, shop: Shop) -> None:
    """A table of which nothing was quarantined says so."""
    other = Shop(folder=shop.folder, name="other", operation="insert")
    assert other.spec.exists()
    outcome = command("quarantine", "ls", "--format", "json")
    assert [each["rows"] for each in outcome.documents] == [0, 3]
    lines = command("quarantine", "ls").out.splitlines()
    assert lines[:2] == [str(other.table), EMPTY.strip()]
    assert lines[2] == str(shop.table)


@pytest.mark.parametrize("words", [["ls"], ["show"], ["drop", "--all", "--yes"]])
def test_table_of_which_nothing_is_quarantined_is_no_fault(
    command: Command, tmp_path: Path, words: list[str]
) -> None:
    """Nor is no table."""
    outcome = command("quarantine", words[0], tmp_path / "nowhere", *words[1:])
    assert (outcome.code, outcome.out) == (0, EMPTY)


def test_show_prints_checks_places_and_values(command: Command, shop: Shop) -> None:
    """Columns that the spec hides are hidden; at the location too, as they were then."""
    for place in (shop.spec, shop.table):
        outcome = command("quarantine", "show", place)
        assert outcome.code == 0
        lines = outcome.out.splitlines()
        assert lines[0].startswith(shop.waiting()[0].instant)
        assert lines[1] == f"  known, large  {shop.folder}/landing/a.parquet row 1"
        assert lines[2] == "    id=2  n=NULL  v=***"
        assert lines[4] == "    id=3  n=1  v=***"


def test_show_as_json_has_a_row_on_each_line(command: Command, shop: Shop) -> None:
    """Of one instant, or of one check."""
    newer = shop.waiting()[1].instant
    outcome = command("quarantine", "show", shop.spec, "--instant", newer, "--format", "json")
    assert [each["values"] for each in outcome.documents] == [{"id": 5, "n": 2, "v": "***"}]
    outcome = command("quarantine", "show", shop.spec, "--rule", "known", "--format", "json")
    assert [(each["row"], each["rules"]) for each in outcome.documents] == [(1, ["known", "large"])]


def test_show_says_where_there_is_more(command: Command, shop: Shop) -> None:
    """On stderr; not where all rows are shown."""
    outcome = command("quarantine", "show", shop.spec, "--limit", "2", "--format", "json")
    assert len(outcome.documents) == 2
    assert "more than 2 rows" in outcome.err
    assert command("quarantine", "show", shop.spec, "--limit", "3").err == ""


@pytest.mark.parametrize(
    ("words", "rule", "hint"),
    [
        (["--rule", "knwon"], "usage/unknown-rule", "did you mean known?"),
        (["--rule", "zzz"], "usage/unknown-rule", "known, large"),
        (["--instant", "2020"], "usage/unknown-instant", "there is 2"),
        (["--limit", "0"], "usage/bad-value", "--help"),
    ],
)
def test_show_of_what_is_not_there_names_what_is(
    command: Command, shop: Shop, words: list[str], rule: str, hint: str
) -> None:
    """Exit 1."""
    outcome = command("quarantine", "show", shop.spec, *words)
    assert outcome.code == 1
    assert f"[{rule}]" in outcome.err
    assert hint in outcome.err


def test_drop_without_a_terminal_asks_for_yes(command: Command, shop: Shop) -> None:
    """Nothing is removed unasked."""
    outcome = command("quarantine", "drop", shop.spec, "--all", "--format", "json")
    assert outcome.code == 1
    assert outcome.document["error"]["condition"] == "usage/not-confirmed"
    assert len(shop.waiting()) == 2


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("Yes\n", 0), ("n\n", 2), ("", 2)])
def test_drop_on_a_terminal_asks_first(
    command: Command, shop: Shop, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    """Anything but yes is no."""
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    outcome = command("quarantine", "drop", shop.spec, "--all")
    assert outcome.code == 0
    assert "2 data sets, 3 rows" in outcome.err
    assert len(shop.waiting()) == left
    assert outcome.out.startswith("nothing dropped" if left else "dropped 2 data sets, 3 rows")


def test_drop_of_one_instant_keeps_the_others(command: Command, shop: Shop) -> None:
    """By location as well, without confirmation if requested."""
    older, newer = shop.waiting()
    words = ("--instant", older.instant, "--yes", "--format", "json")
    outcome = command("quarantine", "drop", shop.table, *words)
    assert outcome.code == 0
    assert outcome.document["dropped"] == [{"instant": older.instant, "rows": 2}]
    assert shop.waiting() == (newer,)


def test_drop_beside_a_run_exits_with_4(command: Command, shop: Shop) -> None:
    """It may be a release of these rows."""
    acquire(open_storage(str(shop.table)), Owner.here(new_write_id()), SystemClock())
    outcome = command("quarantine", "drop", shop.spec, "--all", "--yes")
    assert outcome.code == 4
    assert "[commit/lease-held]" in outcome.err
    assert len(shop.waiting()) == 2


def test_release_of_nothing_starts_no_spark(command: Command, shop: Shop) -> None:
    """It says so; a released instant is reported with the instant of its release."""
    shop.release_with(least=0)
    first, second = shop.released()
    outcome = command("quarantine", "release", shop.spec, "--instant", first)
    assert (outcome.code, outcome.out) == (0, f"{first} was released before, at {second}\n")
    command("quarantine", "drop", shop.spec, "--all", "--yes")
    outcome = command("quarantine", "release", shop.spec, "--master", "nonsense://")
    assert (outcome.code, outcome.out) == (0, EMPTY)


def test_release_removes_what_an_earlier_one_left(command: Command, shop: Shop) -> None:
    """It was cut off between its commit and that."""
    shop.release_with(least=0, dies=True)
    first, _ = shop.released()
    assert f"instant={first}" in shop.lying()
    assert command("quarantine", "release", shop.spec, "--instant", first).code == 0
    assert f"instant={first}" not in shop.lying()


def test_status_and_history_show_quarantined_rows(command: Command, shop: Shop) -> None:
    """In text and JSON, by spec and by location."""
    for place in (shop.spec, shop.table):
        outcome = command("status", place)
        assert outcome.code == 0
        assert "\nquarantine 2 data sets, 3 rows, " in outcome.out
        document = command("status", place, "--format", "json").document
        assert {k: document["quarantined"][k] for k in ("data_sets", "rows")} == {
            "data_sets": 2,
            "rows": 3,
        }
    outcome = command("history", shop.table)
    assert "; 2 rows quarantined\n" in outcome.out
    assert "; 1 row quarantined\n" in outcome.out
