"""The size of a table after each commit, from the commits' metadata."""

from __future__ import annotations

from dataclasses import replace

from framework.hudi.timeline.commit_metadata import LogAppend, WriteStat
from framework.timeline_service.page.commits import Growth, Size
from tests.support.served_page import a_file, file_id

FIRST = "20261101000000000"
SECOND = "20261102000000000"


def a_log(number: int, *, inserts: int = 0, deletes: int = 0, size: int = 100) -> WriteStat:
    """Return what a commit says of a log file below the base file of `a_file`."""
    plain = a_file(number, SECOND, size=size, previous=FIRST)
    log = LogAppend(version=1)
    return replace(plain, rows=inserts, inserts=inserts, updates=3, deletes=deletes, log=log)


def a_growth() -> Growth:
    """Return one of three groups with ten rows and a thousand bytes each."""
    growth = Growth()
    growth.take(a_file(n, FIRST) for n in range(3))
    return growth


def test_base_file_takes_the_place_of_its_group_s_slice_before() -> None:
    """Rows that were copied count once."""
    growth = a_growth()
    growth.take([a_file(0, SECOND, rows=12, size=1500, previous=FIRST)])
    assert growth.size == Size(groups=3, rows=32, bytes=3500)


def test_log_file_is_added_to_its_slice() -> None:
    """Updates change no count, deletes take rows away, a base file folds it all."""
    growth = a_growth()
    growth.take([a_log(0, inserts=2, deletes=1)])
    assert growth.size == Size(groups=3, rows=31, bytes=3100)
    growth.take([a_file(0, "20261103000000000", rows=11, size=1050, previous=FIRST)])
    assert growth.size == Size(groups=3, rows=31, bytes=3050)


def test_replaced_groups_are_taken_away() -> None:
    """Before the files of the same commit are counted."""
    growth = a_growth()
    growth.take([a_file(5, SECOND)], {"p=0": frozenset({file_id(0)}), "p=1": frozenset({"x"})})
    assert growth.size == Size(groups=3, rows=30, bytes=3000)


def test_file_that_builds_on_an_unknown_one_makes_the_sizes_partial() -> None:
    """Older commits were archived."""
    growth = Growth()
    growth.take([a_file(0, SECOND, previous=FIRST)])
    assert not growth.is_whole
    assert a_growth().is_whole


def test_sizes_that_were_given_up_stay_unknown() -> None:
    """The bytes of a commit are still shown."""
    growth = a_growth()
    growth.give_up()
    written = growth.take([a_file(7, SECOND)])
    assert growth.size is None
    assert (written.files, written.rows, written.bytes, written.inserts) == (1, 10, 1000, 10)
