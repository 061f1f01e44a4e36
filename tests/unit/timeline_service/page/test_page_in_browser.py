"""The page in a real browser, over a real service: seen, steered by keys, live, and in trouble."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.engine.reporting.summary import commit_summary
from framework.timeline_service.host import Served
from tests.support.browser import NO_CHROMIUM, chromium
from tests.support.devtools import Tab, a_tab
from tests.support.reports import KEYS, a_report
from tests.support.served_page import WrittenTable, a_file, a_served

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason=NO_CHROMIUM),
]

THIRD = "20261103000000000"
HOSTILE = "<img src=x onerror=alert(1)>&amp;\u202e"
WIDE = """[...document.body.querySelectorAll("*")].filter((e) =>
  !e.closest("svg") && !e.matches(".skip, .unseen")
  && Math.ceil(e.getBoundingClientRect().right) > document.documentElement.clientWidth)
  .map((e) => e.outerHTML.slice(0, 120))"""


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    """An empty page, as wide as a desk."""
    with a_tab(tmp_path / "profile") as found:
        found.look_like(width=1200)
        yield found


def seen(script: str) -> str:
    """Return an expression that is true once the page has this text."""
    return f"document.body.innerText.includes({json.dumps(script)})"


def open_table(tab: Tab, served: Served, name: str) -> None:
    """Open the page, and a table by its link, until all of it is there."""
    tab.open(served.page)
    link = (
        f"[...document.querySelectorAll('h2 a')].find((a) => a.textContent === {json.dumps(name)})"
    )
    tab.wait_for(f"Boolean({link})")
    tab.value(f"{link}.click()")
    for part in (".instants li", ".partitions li"):
        tab.wait_for(f"document.querySelector('{part}') !== null")
    tab.wait_for(f"!{seen('not read yet')}")


def test_page_shows_table_timeline_sizes_and_partitions(
    tab: Tab, served: Served, orders: WrittenTable
) -> None:
    """It sends requests only to its service; its console stays empty."""
    orders.commit(THIRD, [a_file(3, THIRD)], proof={**KEYS, **commit_summary(a_report())})
    open_table(tab, served, "sales.orders")
    text = tab.text()
    assert "3 instants, newest first." in text
    assert "last gate ! warned" in text.replace("\n", " ")
    assert tab.value("document.querySelectorAll('.chart').length") == 2
    label = tab.value("document.querySelector('.chart').getAttribute('aria-label')")
    assert label.startswith("Bytes: 3.0 kB after 20261101000000000, 4.7 kB after 20261103000000000")
    assert tab.value("document.querySelectorAll('.partitions li').length") == 4
    assert {each.split("/")[2] for each in tab.requests} == {f"127.0.0.1:{served.server.port}"}
    assert tab.console == []


def test_open_instant_shows_its_gate(tab: Tab, served: Served, orders: WrittenTable) -> None:
    """Keys, rows and each check."""
    orders.commit(THIRD, [a_file(3, THIRD)], proof={**KEYS, **commit_summary(a_report())})
    open_table(tab, served, "sales.orders")
    tab.value("document.querySelector('.instants summary').click()")
    text = tab.wait_for("document.querySelector('.instants details[open]')?.innerText")
    assert "(order_id) unique in table, not null; 336,761 keys." in text
    assert "336,761 published, 12 quarantined, 3 dropped" in text
    assert "late_orders" in text
    assert "12 of 301,442 rows" in text


def test_bootstrapped_slices_are_shown_with_their_source(tab: Tab, adopted: Path) -> None:
    """Once their partition is opened."""
    with a_served(adopted) as served:
        open_table(tab, served, "odd.rows")
        tab.value("document.querySelector('.partitions summary').click()")
        text = tab.wait_for("document.querySelector('.slices')?.innerText")
        badges = tab.value(
            "[...document.querySelectorAll('.slices .badge')].map((e) => e.innerText)"
        )
    assert badges == ["bootstrapped"] * 2
    assert "source/p=1/a.parquet" in text


@pytest.mark.parametrize("width", [375, 768, 1200])
def test_page_at_any_width_does_not_overflow(
    tab: Tab, served: Served, orders: WrittenTable, width: int
) -> None:
    """With folds open, nothing is wider than the screen."""
    orders.commit(THIRD, [a_file(3, THIRD)], proof={**KEYS, **commit_summary(a_report())})
    orders.request("20261104000000000")
    tab.look_like(width=width)
    open_table(tab, served, "sales.orders")
    tab.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tab.wait_for("document.querySelectorAll('.slices li').length === 4")
    assert tab.value(WIDE) == []
    assert tab.value("document.documentElement.scrollWidth") == width


def test_page_follows_the_reader_s_colour_scheme(tab: Tab, served: Served) -> None:
    """Light and dark differ."""
    tab.open(served.page)
    tab.wait_for(seen("sales.orders"))
    light = tab.value("getComputedStyle(document.body).backgroundColor")
    tab.look_like(width=1200, dark=True)
    dark = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(17, 22, 29)")


def test_page_is_steered_by_keys_alone(tab: Tab, served: Served) -> None:
    """From the list to a table to an instant, with the focus to be seen on the way."""
    tab.open(served.page)
    tab.wait_for(seen("sales.orders"))
    tab.press("Tab")
    assert tab.value("document.activeElement.textContent") == "sales.orders"
    assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("Enter")
    tab.wait_for(seen("2 instants"))
    for _ in range(12):
        tab.press("Tab")
        if tab.value("document.activeElement.closest('.instants') !== null"):
            break
    tab.press(" ")
    assert tab.wait_for("document.querySelector('.instants details[open]')?.innerText")
    assert tab.value("document.activeElement.tagName") == "SUMMARY"


def test_token_leaves_the_address_and_stays_in_the_tab(tab: Tab, served: Served) -> None:
    """A reload needs no token again."""
    tab.open(served.page)
    tab.wait_for(seen("sales.orders"))
    assert tab.value("location.hash") == "#/"
    tab.open(f"{served.address}/?again")
    tab.wait_for(seen("sales.orders"))
    assert all(str(served.token) not in each for each in tab.requests)


def test_wrong_token_is_asked_for_and_may_be_corrected(tab: Tab, served: Served) -> None:
    """By a form that takes the focus."""
    tab.open(f"{served.address}/#token=wrong")
    tab.wait_for(seen("rejected this token"))
    assert tab.value("document.activeElement.id") == "token"
    tab.write(str(served.token))
    tab.press("Enter")
    tab.wait_for(seen("sales.orders"))


def test_page_without_a_token_asks_for_it(tab: Tab, served: Served) -> None:
    """And says where it is to be had."""
    tab.open(f"{served.address}/")
    tab.wait_for(seen("run-pipeline serve prints this page's address"))
    assert not tab.value(seen("rejected this token"))


def test_instant_under_way_is_followed_to_its_end(
    tab: Tab, served: Served, orders: WrittenTable
) -> None:
    """Requested, inflight, completed: while the page is open, without a key pressed."""
    open_table(tab, served, "sales.orders")
    tab.value("document.querySelectorAll('.instants summary')[1].click()")
    tab.value("document.querySelectorAll('.instants summary')[1].focus()")
    orders.request(THIRD)
    tab.wait_for(seen("● requested"))
    assert tab.value(seen("No lakestrap run is active."))
    assert tab.value("document.title").startswith("● ")
    orders.inflight(THIRD)
    tab.wait_for(seen("● inflight"))
    orders.complete(THIRD, [a_file(5, THIRD)])
    tab.wait_for(seen("✓ completed"))
    tab.wait_for("document.querySelectorAll('.partitions li').length === 4")
    assert tab.value("document.getElementById('said').textContent") == (
        f"upsert {THIRD} is completed"
    )
    kept = "document.activeElement.closest('details').innerText"
    assert tab.value("document.querySelectorAll('.instants details[open]').length") == 1
    assert "20261101000000000" in tab.value(kept)


def test_commit_between_two_refreshes_is_shown_too(
    tab: Tab, served: Served, orders: WrittenTable
) -> None:
    """It was never seen under way."""
    open_table(tab, served, "sales.orders")
    orders.commit(THIRD, [a_file(5, THIRD)])
    tab.wait_for(seen("✓ completed"))
    assert tab.value("document.querySelector('.now').innerText.includes('20261103000000000')")


def test_instant_that_is_rolled_back_is_shown(
    tab: Tab, served: Served, orders: WrittenTable
) -> None:
    """Nothing of it was published."""
    open_table(tab, served, "sales.orders")
    orders.request(THIRD)
    tab.wait_for(seen("● requested"))
    (orders.hoodie / f"{THIRD}.commit.requested").unlink()
    tab.wait_for(seen("✕ rolled back"))


def test_table_that_disappears_is_reported(tab: Tab, served: Served, orders: WrittenTable) -> None:
    """In words, and its page stays."""
    open_table(tab, served, "sales.orders")
    orders.folder.rename(orders.folder.with_name("elsewhere"))
    tab.wait_for(seen("The table no longer exists"))


def test_service_that_stops_is_reported_and_found_again(tab: Tab, served: Served) -> None:
    """What was seen last stays to be read."""
    open_table(tab, served, "sales.orders")
    tab.offline()
    tab.wait_for(seen("The service does not respond. Last response at"))
    assert tab.value(seen("2 instants, newest first."))
    tab.offline(offline=False)
    tab.wait_for(f"!{seen('does not respond')}")


def test_table_that_is_not_served_is_reported(tab: Tab, served: Served) -> None:
    """With the way to those that are."""
    tab.open(served.page)
    tab.wait_for(seen("sales.orders"))
    tab.value("location.hash = '#/table/0123456789abcdef'")
    tab.wait_for(seen("Not served here"))
    tab.value("document.querySelector('main a').click()")
    tab.wait_for(seen("1 table served."))


def test_hostile_names_are_text(tab: Tab, tmp_path: Path) -> None:
    """Of folders, partitions, operations and checks; nothing runs."""
    table = WrittenTable(folder=tmp_path / HOSTILE.replace("/", ""))
    table.name("x")
    check = {"name": HOSTILE, "kind": HOSTILE, "outcome": "warned", "on_fail": HOSTILE}
    proof = {"scope": HOSTILE, "columns": [HOSTILE], "checks": [check]}
    table.commit(THIRD, [a_file(0, THIRD)], proof=proof, operation=HOSTILE)
    table.partition(HOSTILE, THIRD)
    with a_served(table.folder) as served:
        open_table(tab, served, "x")
        tab.value("document.querySelectorAll('summary').forEach((each) => each.click())")
        tab.wait_for("document.querySelectorAll('.slices').length === 2")
        assert tab.value("document.images.length") == 0
        assert tab.value(seen("<img src=x onerror=alert(1)>&amp;"))
    assert tab.console == []
