"""Rows get their name whole, once, and only where they are all there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from framework.engine.quarantine.quarantined_batch import (
    gathering_folders,
    gathering_place,
    name_batch,
    withdraw,
)
from framework.errors import CorruptFileError, PlanError
from tests.support.quarantine import hand_made
from tests.support.scenes import snapshot

RUN, OTHER_RUN = "a" * 32, "b" * 32
INSTANT = "20260101000000000"


def test_data_set_holds_its_rows_and_its_record_alone(tmp_path: Path) -> None:
    """Files that a query engine leaves are removed; nothing is pending."""
    place = tmp_path / "quarantine"
    made = hand_made(place, tmp_path / "table", INSTANT, RUN)
    names = {Path(file).name for file in made.files} | {"_batch.json"}
    assert {path.name for path in (place / f"instant={INSTANT}").iterdir()} == names
    assert {path.name for path in place.iterdir()} == {f"instant={INSTANT}"}


def test_naming_a_batch_again_changes_nothing(tmp_path: Path) -> None:
    """A resumed run does so; its temporary rows may be left."""
    place = tmp_path / "quarantine"
    made = hand_made(place, tmp_path / "table", INSTANT, RUN)
    before = snapshot(place)
    Path(gathering_place(str(place), made.table, RUN)).mkdir()
    name_batch(str(place), made)
    assert snapshot(place) == before


def test_rows_that_are_not_all_there_get_no_name(tmp_path: Path) -> None:
    """None at all, or fewer than were found."""
    place = tmp_path / "quarantine"
    made = hand_made(place, tmp_path / "table", INSTANT, RUN)
    named = place / f"instant={INSTANT}"
    for batch in (replace(made, rows=4), made):
        staged = Path(gathering_place(str(place), made.table, RUN))
        named.rename(staged)
        if batch is made:
            Path(next(iter(staged.glob("*.parquet")))).unlink()
        with pytest.raises(CorruptFileError) as caught:
            name_batch(str(place), batch)
        assert caught.value.condition == "quarantine/rows-differ"
        assert not named.exists()
        staged.rename(named)


def test_file_of_rows_that_is_cut_off_gets_no_name(tmp_path: Path) -> None:
    """Its footer has no row count."""
    place = tmp_path / "quarantine"
    made = hand_made(place, tmp_path / "table", INSTANT, RUN)
    Path(made.files[0]).write_bytes(b"PAR1")
    (place / f"instant={INSTANT}").rename(gathering_place(str(place), made.table, RUN))
    with pytest.raises(CorruptFileError) as caught:
        name_batch(str(place), made)
    assert caught.value.condition == "quarantine/rows-differ"


def test_name_that_a_dead_run_of_the_table_has_is_taken_over(tmp_path: Path) -> None:
    """Bootstraps have one instant; the caller's is not completed, so the other died."""
    place, table = tmp_path / "quarantine", tmp_path / "table"
    hand_made(place, table, INSTANT, OTHER_RUN)
    made = hand_made(place, table, INSTANT, RUN)
    assert made.run_id == RUN
    assert RUN in (place / f"instant={INSTANT}" / "_batch.json").read_text()


def test_name_that_another_table_has_is_refused(tmp_path: Path) -> None:
    """Its rows stay."""
    place = tmp_path / "quarantine"
    hand_made(place, tmp_path / "one", INSTANT, OTHER_RUN)
    before = snapshot(place / f"instant={INSTANT}")
    with pytest.raises(PlanError) as caught:
        hand_made(place, tmp_path / "two", INSTANT, RUN)
    assert caught.value.condition == "quarantine/of-another-table"
    assert snapshot(place / f"instant={INSTANT}") == before


def test_withdrawing_removes_only_data_of_the_run(tmp_path: Path) -> None:
    """Not the data set of another run, nor what another table has on its way."""
    place, table = tmp_path / "quarantine", str(tmp_path / "table")
    hand_made(place, tmp_path / "table", INSTANT, OTHER_RUN)
    theirs, _ = gathering_folders(str(tmp_path / "other"), RUN)
    ours, _ = gathering_folders(table, RUN)
    for folder in (theirs, ours):
        (place / folder).mkdir()
    withdraw(str(place), table, RUN, INSTANT)
    assert {path.name for path in place.iterdir()} == {f"instant={INSTANT}", theirs}
    withdraw(str(place), table, OTHER_RUN, INSTANT)
    assert {path.name for path in place.iterdir()} == {theirs}


def test_tables_are_identified_however_their_path_is_spelled(tmp_path: Path) -> None:
    """Links are resolved."""
    (tmp_path / "table").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "table")
    one, two = str(tmp_path / "table"), str(tmp_path / "link")
    assert gathering_folders(one, RUN) == gathering_folders(two, RUN)
    assert gathering_folders(one, RUN) != gathering_folders(str(tmp_path / "other"), RUN)
