"""The page's data: content, access and paging of each route."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from framework.engine.reporting.summary import commit_summary
from framework.timeline_service.host import Served
from framework.vocabulary import ServiceAuth
from tests.support.reports import KEYS, a_report
from tests.support.served_page import WrittenTable, a_file, a_served, ask, file_id

pytestmark = pytest.mark.long

PAGE = "/v1/lakestrap/page/tables"
FIRST = "20261101000000000"
SECOND = "20261102000000000"
THIRD = "20261103000000000"


def page_data(served: Served, below: str = "", **more: str) -> Any:
    """Return the data of the only table's route, once all its commits are read."""
    (table,) = ask(served, PAGE).value["items"]
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in more.items())
    while True:
        found = ask(served, f"{PAGE}/{table['id']}{below}?{query}")
        assert found.status == 200, found.body
        if not found.value.get("unread"):
            return found.value


def test_tables_are_listed_with_their_last_commit(served: Served, orders: WrittenTable) -> None:
    """Name, type, place, and when something was committed last."""
    found = ask(served, PAGE).value
    (table,) = found["items"]
    assert (found["total"], found["offset"]) == (1, 0)
    assert table["name"] == "sales.orders"
    assert table["type"] == "copy_on_write"
    assert table["location"] == str(orders.folder)
    assert table["commits"] == 2
    assert table["last"]["instant"] == SECOND
    assert table["last"]["operation"] == "UPSERT"
    assert table["pending_count"] == 0


def test_table_that_is_not_there_yet_is_listed(tmp_path: Path) -> None:
    """And followed from its first commit on."""
    table = WrittenTable(folder=tmp_path / "later")
    with a_served(table.folder) as served:
        (before,) = ask(served, PAGE).value["items"]
        table.name("later")
        table.commit(FIRST, [a_file(0, FIRST)])
        (after,) = ask(served, PAGE).value["items"]
        assert page_data(served, "/partitions")["total"] == 1
    assert (before["name"], before["last"]) == (None, None)
    assert (after["name"], after["last"]["instant"]) == ("later", FIRST)


def test_table_that_cannot_be_read_says_why_beside_the_others(
    orders: WrittenTable, tmp_path: Path
) -> None:
    """One damaged table hides no other."""
    bad = WrittenTable(folder=tmp_path / "bad")
    bad.name("bad")
    (bad.hoodie / "hoodie.properties").write_text("hoodie.table.name=x\nhoodie.table.checksum=1\n")
    with a_served(bad.folder, orders.folder) as served:
        first, second = ask(served, PAGE).value["items"]
        alone = ask(served, f"{PAGE}/{first['id']}")
    assert first["fault"]["condition"] == "properties/checksum"
    assert second["name"] == "sales.orders"
    assert (alone.status, alone.value["condition"]) == (500, "properties/checksum")


def test_timeline_is_newest_first_with_the_writes_of_commits(served: Served) -> None:
    """Rows, files, bytes, operation, and when each state was reached."""
    second, first = page_data(served)["instants"]["items"]
    assert (first["instant"], second["instant"]) == (FIRST, SECOND)
    assert (first["action"], first["state"]) == ("commit", "completed")
    assert (first["operation"], second["operation"]) == ("BULK_INSERT", "UPSERT")
    wanted = {"files": 3, "rows": 30, "bytes": 3000, "inserts": 30, "updates": 0, "deletes": 0}
    assert {name: first["commit"][name] for name in wanted} == wanted
    times = first["times"]
    assert times["requested"] <= times["inflight"] <= times["completed"]


def test_growth_counts_the_newest_slice_of_each_group(served: Served) -> None:
    """A group that is written anew counts once."""
    growth = page_data(served)["growth"]
    sizes = [(each["groups"], each["rows"], each["bytes"]) for each in growth["points"]]
    assert sizes == [(3, 30, 3000), (3, 35, 3700)]
    assert growth["is_whole"]
    assert growth["is_known"]


def test_growth_of_a_table_whose_beginning_is_archived_says_so(
    orders: WrittenTable,
) -> None:
    """What was written before is not counted."""
    for each in orders.hoodie.glob(f"{FIRST}.*"):
        each.unlink()
    with a_served(orders.folder) as served:
        growth = page_data(served)["growth"]
    assert [each["groups"] for each in growth["points"]] == [1]
    assert not growth["is_whole"]


def test_growth_after_a_rollback_is_reckoned_anew(served: Served, orders: WrittenTable) -> None:
    """A rolled-back commit no longer counts."""
    assert len(page_data(served)["growth"]["points"]) == 2
    (orders.hoodie / f"{SECOND}.commit").unlink()
    assert [each["rows"] for each in page_data(served)["growth"]["points"]] == [30]


def test_commit_that_cannot_be_read_says_why(served: Served, orders: WrittenTable) -> None:
    """The others are still shown; from there on no size is known."""
    (orders.hoodie / f"{SECOND}.commit").write_text("{")
    found = page_data(served)
    second, first = found["instants"]["items"]
    assert "timeline/corrupt-json" in second["commit"]["fault"]
    assert first["commit"]["rows"] == 30
    assert not found["growth"]["is_known"]


def test_gate_of_a_commit_has_its_checks(served: Served, orders: WrittenTable) -> None:
    """Verdict, proof of keys, checks, and what became of the rows."""
    proof = json.loads(json.dumps({**KEYS, **commit_summary(a_report())}))
    orders.commit(THIRD, [a_file(4, THIRD)], proof=proof)
    commit = page_data(served)["instants"]["items"][0]["commit"]
    gate = commit["gate"]
    assert gate["verdict"] == "warned"
    assert gate["keys"]["columns"] == ["order_id"]
    assert gate["fate"]["quarantined"] == 12
    assert [each["outcome"] for each in gate["checks"]][:2] == ["warned", "quarantined"]
    assert commit["run"] == "e" * 32


@pytest.mark.parametrize(
    "proof",
    [None, {}, [], {"checks": 5, "fate": 7, "more_checks": ["x"]}, {"scope": {}, "rows": []}],
)
def test_gate_of_any_commit_content_is_returned_without_failing(
    served: Served, orders: WrittenTable, proof: Any
) -> None:
    """Facts of other writers are no proof."""
    orders.commit(THIRD, [a_file(4, THIRD)], proof=proof, ours=False)
    gate = page_data(served)["instants"]["items"][0]["commit"]["gate"]
    assert gate["checks"] == []
    assert gate["fate"] is None or gate["fate"]["input"] == 0


def test_pending_instant_is_shown_in_each_state(served: Served, orders: WrittenTable) -> None:
    """Requested, inflight, completed; and that no run of ours is at work."""
    orders.request(THIRD)
    requested = page_data(served)
    orders.inflight(THIRD)
    inflight = page_data(served)
    orders.complete(THIRD, [a_file(7, THIRD)])
    completed = page_data(served)
    assert [each["state"] for each in requested["pending"]] == ["requested"]
    assert requested["pending"][0]["operation"] == "UPSERT"
    assert requested["at_work"] is None
    assert [each["state"] for each in inflight["pending"]] == ["inflight"]
    assert inflight["pending"][0]["times"]["completed"] is None
    assert completed["pending"] == []
    assert completed["instants"]["items"][0]["instant"] == THIRD


def test_answer_that_the_caller_has_is_not_sent_again(served: Served, orders: WrittenTable) -> None:
    """Until something is new."""
    found = page_data(served)
    same = page_data(served, known=found["fingerprint"])
    orders.request(THIRD)
    after = page_data(served, known=found["fingerprint"])
    assert same == {"fingerprint": found["fingerprint"], "same": True}
    assert after["pending"]


def test_instants_come_in_parts(served: Served) -> None:
    """Of a list, the part that was asked for and how long it is."""
    part = page_data(served, offset="1", limit="1")["instants"]
    assert [each["instant"] for each in part["items"]] == [FIRST]
    assert (part["offset"], part["limit"], part["total"]) == (1, 1, 2)
    assert page_data(served, offset="9")["instants"]["items"] == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=-1", "limit=x", "offset=-1", "offset=1e3", "offset=²"]
)
def test_part_that_is_none_is_refused(served: Served, query: str) -> None:
    """Numbers within bounds are wanted."""
    assert ask(served, f"{PAGE}?{quote(query, safe='=')}").status == 400


def test_partitions_are_named_and_counted_only_where_loaded(served: Served) -> None:
    """A list loads none; asking for slices loads that one."""
    before = page_data(served, "/partitions")
    page_data(served, "/slices", partition="p=1")
    after = page_data(served, "/partitions")
    assert [each["path"] for each in before["items"]] == ["p=0", "p=1", "p=2"]
    assert [each["counts"] for each in before["items"]] == [None] * 3
    assert (before["partitions"], before["loaded"]) == (3, 0)
    assert after["loaded"] == 1
    assert after["items"][1]["counts"]["slices"] == 1
    assert after["items"][1]["counts"]["bytes"] == 1700
    assert after["items"][0]["counts"] is None


def test_partitions_are_found_by_a_piece_of_their_name_in_parts(served: Served) -> None:
    """The total is that of what was found."""
    found = page_data(served, "/partitions", like="=2")
    part = page_data(served, "/partitions", limit="2", offset="2")
    assert [each["path"] for each in found["items"]] == ["p=2"]
    assert (found["total"], found["partitions"]) == (1, 3)
    assert [each["path"] for each in part["items"]] == ["p=2"]
    assert part["total"] == 3


def test_slices_are_the_newest_of_their_groups(served: Served) -> None:
    """With base file, instant and sizes."""
    found = page_data(served, "/slices", partition="p=1")
    (only,) = found["items"]
    assert (only["file_id"], only["instant"], only["bytes"]) == (file_id(1), SECOND, 1700)
    assert only["base"]["name"].endswith(f"_{SECOND}.parquet")
    assert (only["kind"], only["logs"], only["source"]) == ("full", [], None)
    assert found["instant"] == SECOND


def test_bootstrapped_slices_have_their_source(adopted: Path) -> None:
    """Skeletons do; what was rewritten in full has none."""
    with a_served(adopted) as served:
        skeletons = page_data(served, "/slices", partition="p=1")
        full = page_data(served, "/slices", partition="p=2")
    assert [each["kind"] for each in skeletons["items"]] == ["skeletons"] * 2
    sources = sorted(each["source"]["uri"].rpartition("/")[2] for each in skeletons["items"])
    assert sources == ["a.parquet", "b.parquet"]
    assert skeletons["counts"]["skeletons"] == 2
    assert skeletons["counts"]["source_bytes"] > 0
    assert [(each["kind"], each["source"]) for each in full["items"]] == [("full", None)]


@pytest.mark.parametrize("path", ["../orders", "..", "/etc", ".hoodie", "p=9", "", "p=1/"])
def test_slices_of_what_is_no_partition_are_not_listed(served: Served, path: str) -> None:
    """Only partitions of the table are looked into."""
    (table,) = ask(served, PAGE).value["items"]
    found = ask(served, f"{PAGE}/{table['id']}/slices?partition={quote(path, safe='')}")
    assert (found.status, "items" in found.value) == (404, False)


@pytest.mark.parametrize(
    "path",
    ["", "/", "tables/", "x", "tables/0000000000000000", "tables/x/y", "tables//slices"],
)
def test_route_or_table_that_is_unknown_is_not_found(served: Served, path: str) -> None:
    """Except for the list itself."""
    status = ask(served, f"/v1/lakestrap/page/{path}").status
    assert status == (200 if path == "tables/" else 404)


def test_only_get_is_answered(served: Served) -> None:
    """The page changes nothing."""
    assert ask(served, PAGE, method="POST").status == 405
    assert ask(served, PAGE, method="DELETE").status == 405


@pytest.mark.parametrize("token", [None, "wrong", "é"])
def test_caller_without_the_token_gets_no_data(served: Served, token: str | None) -> None:
    """Neither by a header nor in the address."""
    shown = None if token is None else token.encode().decode("latin-1")
    found = ask(served, f"{PAGE}?token={served.token}", token=shown)
    assert (found.status, list(found.value)) == (401, ["error"])


def test_caller_of_another_host_name_gets_no_data(served: Served) -> None:
    """A name that an attacker's server may have given to this address."""
    assert ask(served, PAGE, headers={"Host": "evil.example"}).status == 421


def test_loopback_service_asks_for_no_token(orders: WrittenTable) -> None:
    """And its page has none in its address."""
    with a_served(orders.folder, auth=ServiceAuth.LOOPBACK) as served:
        assert served.token is None
        assert served.page == f"{served.address}/"
        assert ask(served, PAGE).status == 200


def test_data_is_kept_by_no_cache(served: Served) -> None:
    """It is JSON, and nothing else."""
    headers = ask(served, PAGE).headers
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_names_with_markup_travel_as_they_are(tmp_path: Path) -> None:
    """Nothing is escaped twice; the page makes text of it."""
    table = WrittenTable(folder=tmp_path / "a<b>&'\"é")
    table.name("x")
    table.commit(FIRST, [a_file(0, FIRST)])
    with a_served(table.folder) as served:
        (found,) = ask(served, PAGE).value["items"]
    assert found["location"] == str(table.folder)
