"""OpenLineage events: their form, and a delivery that never fails a run."""

from __future__ import annotations

import base64
import http.server
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from framework.engine.events import Note
from framework.engine.reporting.lineage import RunState, emit, run_event, run_uuid
from framework.engine.results import AuditReport
from tests.support.reports import HOSTILE, a_hostile_report, a_refused_report, a_report, a_result

pytestmark = pytest.mark.long


def event(
    report: AuditReport, kind: RunState = RunState.COMPLETE, source: str | None = None
) -> dict[str, Any]:
    """Return an event as a receiver sees it."""
    found = json.loads(json.dumps(run_event(report, kind, source=source), allow_nan=False))
    assert isinstance(found, dict)
    return found


def test_complete_event_has_run_job_input_and_output() -> None:
    """By the specification's names."""
    found = event(a_report(), source="s3://raw/orders/")
    assert found["eventType"] == "COMPLETE"
    assert found["eventTime"] == "2026-11-22T09:31:07Z"
    assert found["schemaURL"].endswith("/2-0-2/OpenLineage.json#/$defs/RunEvent")
    assert found["producer"].startswith("urn:lakestrap:")
    assert found["job"] == {"namespace": "lakestrap", "name": "shop.orders.upsert"}
    assert uuid.UUID(found["run"]["runId"]).version == 5
    assert [(each["namespace"], each["name"]) for each in found["inputs"]] == [
        ("s3://raw", "orders")
    ]
    (output,) = found["outputs"]
    assert (output["namespace"], output["name"]) == ("file", "/lake/orders")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 336_761


def test_facets_have_columns_and_checks() -> None:
    """Each names its maker and its schema."""
    (found,) = event(a_report())["inputs"]
    facets = found["inputFacets"]
    assert all(
        each["_schemaURL"].startswith("https://openlineage.io/spec/facets/") and each["_producer"]
        for each in facets.values()
    )
    metrics = facets["dataQualityMetrics"]
    assert metrics["rowCount"] == 336_776
    assert metrics["columnMetrics"]["customer_id"] == {"nullCount": 12, "distinctCount": 81_220}
    assertions = {each["name"]: each for each in facets["dataQualityAssertions"]["assertions"]}
    assert assertions["record keys"]["success"] is True
    assert assertions["late_orders"]["success"] is False
    assert assertions["late_orders"]["severity"] == "warn"
    assert assertions["late_orders"]["assertion"] == "custom_sql_expect"
    known = assertions["currency_is_known"]
    assert (known["assertion"], known["column"]) == (
        "expect_column_values_to_be_in_set",
        "currency",
    )


def test_no_bad_row_leaves_the_house() -> None:
    """Events go to others."""
    assert "A-100411" not in json.dumps(event(a_refused_report(), RunState.FAIL))
    refusal = {
        "condition": "audit/duplicate-keys",
        "message": "for example A-1, 2 times",
        "report": {"columns": ["id"], "scope": "table", "samples": [{"key": "A-1"}]},
    }
    checks = [a_result(observed="jane@example.com")]
    report = a_report(checks, refusal=refusal, keys={})
    failed = event(report, RunState.FAIL)
    assert "A-1" not in json.dumps(failed)
    assert "jane" not in json.dumps(failed)
    assert failed["run"]["facets"]["errorMessage"]["message"] == (
        "audit/duplicate-keys: not (id) unique in table, not null"
    )


def test_failed_event_has_the_message_and_no_rows() -> None:
    """Nothing was written."""
    found = event(a_refused_report(), RunState.FAIL)
    assert found["run"]["facets"]["errorMessage"]["message"] == (
        "audit/checks-failed: checks failed: amount_is_positive, enough_orders"
    )
    assert "outputFacets" not in found["outputs"][0]


def test_events_of_one_run_share_its_uuid() -> None:
    """Other runs and other tables have another."""
    start, end = (event(a_report(), kind) for kind in (RunState.START, RunState.COMPLETE))
    assert start["run"]["runId"] == end["run"]["runId"]
    assert "inputFacets" not in start["inputs"][0]
    others = {run_uuid(a_report(run_id="x")), run_uuid(a_report(location="/y"))}
    assert len(others | {run_uuid(a_report())}) == 3


def test_event_of_a_table_that_is_only_looked_at_has_no_output() -> None:
    """The table is what was read."""
    found = event(a_report(instant=None, fate=None, location="hdfs://u:p@name:8020/lake/t"))
    assert found["outputs"] == []
    assert (found["inputs"][0]["namespace"], found["inputs"][0]["name"]) == (
        "hdfs://name:8020",
        "lake/t",
    )


def test_event_goes_into_a_file_as_one_more_line(tmp_path: Path) -> None:
    """Of hostile texts too, by a path or a `file:` address."""
    path = tmp_path / "events.jsonl"
    path.write_text('{"first": 1}\n')
    assert emit(run_event(a_hostile_report(), RunState.FAIL), str(path)) is None
    assert emit(run_event(a_report(), RunState.COMPLETE), f"file://{path}") is None
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("eventType") for line in lines] == [None, "FAIL", "COMPLETE"]


def test_lines_of_many_writers_do_not_mix(tmp_path: Path) -> None:
    """Each is one write."""
    path = tmp_path / "events.jsonl"
    line = run_event(a_report(), RunState.COMPLETE)
    writers = [threading.Thread(target=emit, args=(line, str(path))) for _ in range(20)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [json.loads(each) for each in path.read_text().splitlines()] == [line] * 20


@pytest.mark.parametrize("place", ["/no/such/folder/x", "/", "\0", "", "http://", "http://h:port/"])
def test_bad_destination_is_a_warning(place: str) -> None:
    """Nothing is raised."""
    note = emit({}, place, pauses_s=())
    assert note is not None
    assert note.level == "warning"


signed: list[str | None] = []
"""What the last server was shown as authorization."""


@contextmanager
def a_server(*answers: int, seconds: float = 0.0) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Give a server's address and what it gets; it answers with these codes in turn."""
    got: list[tuple[str, bytes]] = []
    signed.clear()
    codes = iter(answers)
    stop = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Content-Type"], body))
            signed.append(self.headers["Authorization"])
            stop.wait(seconds)
            self.send_response(next(codes))
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            got.append(("GET", b""))

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                got.append(("gone", b""))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api/v1/lineage", got
        stop.set()
        server.shutdown()


def test_event_is_posted_as_json() -> None:
    """A server that takes it gets it once."""
    sent = run_event(a_hostile_report(), RunState.FAIL)
    with a_server(201) as (url, got):
        assert emit(sent, url) is None
    ((kind, body),) = got
    assert kind == "application/json"
    assert json.loads(body) == sent


def test_user_and_password_of_an_address_are_sent_as_basic_authorization() -> None:
    """And appear in no message."""
    with a_server(200, 403) as (url, _):
        address = url.replace("://", "://me:s%3Acret@")
        assert emit({}, address) is None
        note = emit({}, address)
    assert signed == [f"Basic {base64.b64encode(b'me:s:cret').decode()}"] * 2
    assert note is not None
    assert "cret" not in note.message


def test_busy_server_is_tried_again() -> None:
    """Twice, then it is reported."""
    with a_server(503, 429, 200) as (url, got):
        assert emit({"a": 1}, url, pauses_s=(0, 0)) is None
        assert len(got) == 3
    with a_server(500, 500, 500, 200) as (url, got):
        note = emit({"a": 1}, url, pauses_s=(0, 0))
        assert note is not None
        assert "500" in note.message
        assert len(got) == 3


@pytest.mark.parametrize("code", [302, 307, 400, 401, 404])
def test_server_that_refuses_is_not_asked_again(code: int) -> None:
    """A redirect would turn the POST into a GET and lose the event."""
    with a_server(code, 200) as (url, got):
        note = emit({}, url, pauses_s=(0, 0))
        assert note is not None
        assert str(code) in note.message
        assert len(got) == 1


def test_slow_server_costs_a_bounded_time() -> None:
    """Each attempt waits no longer than it may."""
    begun = time.monotonic()
    with a_server(200, 200, 200, seconds=30) as (url, got):
        note = emit({}, url, timeout_s=0.2, pauses_s=(0, 0))
    assert isinstance(note, Note)
    assert "timed out" in note.message
    assert len(got) >= 3
    assert time.monotonic() - begun < 10


def test_server_that_is_not_there_is_a_warning_without_secrets() -> None:
    """Users, passwords and queries of an address are not shown."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        note = emit({}, f"http://127.0.0.1:{port}/x?key=secret", pauses_s=(0,))
    assert note is not None
    assert f"http://127.0.0.1:{port}/x:" in note.message
    assert "secret" not in note.message
    note = emit({}, "http://user:secret@127.0.0.1/x", pauses_s=())
    assert note is not None
    assert "secret" not in note.message


def test_server_that_speaks_no_http_is_a_warning() -> None:
    """It answers and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for _ in range(2):
                talk, _address = listening.accept()
                with talk:
                    talk.recv(65_536)
                    talk.sendall(b"\x00\xff no\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        note = emit({}, f"http://127.0.0.1:{listening.getsockname()[1]}/", pauses_s=(0,))
    assert note is not None


def test_warning_of_a_hostile_destination_is_one_line() -> None:
    """It goes to a terminal."""
    note = emit({}, f"/no/such/{HOSTILE[6]}")
    assert note is not None
    assert "\x1b" not in note.message
