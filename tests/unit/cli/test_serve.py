"""`serve` in a process of its own: it starts, answers, says how to reach it, and ends in order."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import WITH_SIGNALS, run_pipeline
from tests.support.served_page import WrittenTable, a_file
from tests.unit.cli.conftest import Command

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
FIRST = "20261101000000000"


class Serving:
    """A running `run-pipeline serve`.

    Attributes:
        process: it.
        said: its stderr, until it said how to end it.
        port: where it listens.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        self.said = "".join(lines)
        found = re.search(r"on 127\.0\.0\.1:(\d+)", self.said)
        assert found, self.said
        self.port = int(found[1])

    def get(self, path: str, token: str | None = None, *, method: str = "GET") -> tuple[int, bytes]:
        """Return status and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, headers=headers)
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; return the exit code and what was said at the end."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@contextmanager
def serving(folder: Path, *words: str | Path) -> Iterator[Serving]:
    """Run the command on a free port within the block."""
    command = [*WITH_SIGNALS, sys.executable, "-m", "framework", "serve", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    with subprocess.Popen(
        [*command, *map(str, words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Serving(process)
        finally:
            process.kill()


@pytest.fixture
def orders(tmp_path: Path) -> WrittenTable:
    """A table with one commit."""
    table = WrittenTable(folder=tmp_path / "orders")
    table.name("sales.orders")
    table.commit(FIRST, [a_file(0, FIRST)])
    return table


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_service_answers_until_a_signal_ends_it(
    orders: WrittenTable, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """With the exit code of every interrupted command, and a word that nothing was changed."""
    with serving(tmp_path, orders.folder) as service:
        assert json.loads(service.get("/health")[1])["status"] == "ok"
        assert service.get("/")[0] == 200
        ended, said = service.end(number)
    assert ended == code
    assert "The service has stopped; no table was changed." in said


def test_address_of_the_page_has_the_token_in_its_fragment(
    orders: WrittenTable, tmp_path: Path
) -> None:
    """Which a browser never sends; the token opens the data."""
    with serving(tmp_path, orders.folder, tmp_path / "none") as service:
        found = re.search(r"page +http://127\.0\.0\.1:(\d+)/#token=([\w-]+)\n", service.said)
        assert found, service.said
        assert int(found[1]) == service.port
        tables = json.loads(service.get("/v1/lakestrap/page/tables", found[2])[1])
        assert service.get("/v1/lakestrap/page/tables")[0] == 401
    assert [each["name"] for each in tables["items"]] == [None, "sales.orders"]
    assert "serving 2 tables" in service.said
    assert f"{tmp_path / 'none'}  (no table yet)" in service.said


def test_token_file_is_for_its_owner_alone(orders: WrittenTable, tmp_path: Path) -> None:
    """Also where a file that others may read was there before."""
    file = tmp_path / "token"
    file.write_text("old")
    file.chmod(0o644)
    with serving(tmp_path, orders.folder, "--token-file", file) as service:
        token = file.read_text().strip()
        assert service.get("/v1/lakestrap/page/tables", token)[0] == 200
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()].count("token") == 1
    assert not list(tmp_path.glob(".token.*"))


def test_loopback_service_shows_no_token(orders: WrittenTable, tmp_path: Path) -> None:
    """No client needs one."""
    with serving(tmp_path, orders.folder, "--auth", "loopback") as service:
        assert "token" not in service.said
        assert service.get("/v1/lakestrap/page/tables")[0] == 200


def test_acknowledged_markers_survive_a_killed_service(
    orders: WrittenTable, tmp_path: Path
) -> None:
    """The next start, and Apache Hudi's rollback, find them."""
    kept = orders.folder / ".hoodie" / ".temp" / FIRST
    path = f"/v1/hoodie/marker/%s?markerdirpath={kept}"
    name = f"f_1-0-1_{FIRST}.parquet.marker.CREATE"
    words = (orders.folder, "--auth", "loopback", "--markers")
    with serving(tmp_path, *words) as first:
        assert "Markers of Apache Hudi's writers are written" in first.said
        create = f"{path % 'create'}&markername={name}"
        assert first.get(create, method="POST") == (200, b"true")
        first.process.kill()
        first.process.wait(20)
    assert (kept / "MARKERS0").read_text() == f"{name}\n"
    with serving(tmp_path, *words) as second:
        assert second.get(path % "all") == (200, json.dumps([name]).encode())
        assert second.get(path % "dir/delete", method="POST") == (200, b"true")
        assert "markers that it received are in their tables" in second.end(signal.SIGINT)[1]
    assert not kept.exists()


def test_specs_of_the_project_are_served_where_nothing_is_named(tmp_path: Path) -> None:
    """As of every command that takes specs; a spec may be named too."""
    for name in ("a", "b"):
        table = {"name": name, "location": f"lake/{name}", "type": "copy_on_write"}
        key = {"columns": ["id"], "unique_within": "table"}
        spec = {
            "version": 1,
            "table": {**table, "record_key": key},
            "bootstrap": {"path": "raw", "layout": "none", "mode": "metadata_only"},
        }
        (tmp_path / f"{name}.pipeline.yml").write_text(json.dumps(spec))
    with serving(tmp_path) as service:
        assert "serving 2 tables" in service.said
    with serving(tmp_path, "a.pipeline.yml", tmp_path / "lake" / "a") as service:
        assert "serving 1 table " in service.said
        assert str(tmp_path / "lake" / "a") in service.said


def test_taken_port_is_an_error_of_the_caller(orders: WrittenTable) -> None:
    """Which says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = run_pipeline("serve", orders.folder, "--port", str(port))
    assert ended.code == 1
    assert "[timeline-service/address]" in ended.err


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        (("--auth", "loopback", "--host", "0.0.0.0"), "timeline-service/open-to-all"),  # noqa: S104
        (("--auth", "loopback", "--token-file", "x"), "usage/no-token"),
        (("--token-file", "/nowhere/x"), "usage/token-file"),
        (("--memory", "lots"), "usage/bad-value"),
        (("--memory", "0"), "usage/bad-value"),
        (("--port", "70000"), "usage/bad-value"),
        (("--host", "no.such.host.invalid"), "timeline-service/address"),
    ],
)
def test_invalid_options_are_refused(
    command: Command, tmp_path: Path, words: tuple[str, ...], condition: str
) -> None:
    """Before anything is served."""
    outcome = command("serve", tmp_path / "none", "--port", "0", *words)
    assert outcome.code == 1
    assert f"[{condition}]" in outcome.err


def test_no_spark_is_loaded() -> None:
    """Nor Great Expectations: the command starts at once, without Java."""
    program = (
        "import sys, framework.cli.serve; "
        "sys.exit(bool({'pyspark', 'great_expectations', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 0


def test_views_are_kept_between_starts_and_damaged_ones_are_reported(
    orders: WrittenTable, tmp_path: Path
) -> None:
    """The second start lists no partition; after damage the third says why it begins anew."""
    kept = tmp_path / "kept"
    words = (orders.folder, "--auth", "loopback", "--checkpoints", kept)
    ask = f"/v1/hoodie/view/datafiles/all/latest/?basepath={orders.folder}"
    with serving(tmp_path, *words) as first:
        status, body = first.get(ask)
        assert (status, len(json.loads(body))) == (200, 1)
        assert listings(first) > 0
        assert first.end(signal.SIGINT)[0] == 130
    (file,) = kept.iterdir()
    with serving(tmp_path, *words) as second:
        assert second.get(ask) == (200, body)
        assert listings(second) == 0
        assert second.end(signal.SIGTERM)[0] == 143
    file.write_bytes(file.read_bytes()[:-1])
    with serving(tmp_path, *words) as third:
        assert "the checkpoint is damaged: listed again" in third.said
        assert third.get(ask) == (200, body)
        assert listings(third) > 0


def listings(served: Serving) -> int:
    """Return how many folders the service listed."""
    _, text = served.get("/metrics")
    found = re.search(rb"^lakestrap_view_listings_total{.*} (\d+)\.0$", text, re.MULTILINE)
    assert found
    return int(found[1])
