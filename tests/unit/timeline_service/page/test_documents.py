"""The page itself: open to all, without data, and bound to what comes from this service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import framework.timeline_service.page
from framework.timeline_service.host import Served
from tests.support.served_page import ask

SCRIPTS = sorted((Path(framework.timeline_service.page.__file__).parent / "static").glob("*.js"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/page.js", "text/javascript; charset=utf-8"),
        ("/page/page.css", "text/css; charset=utf-8"),
    ],
)
def test_file_of_the_page_is_open_and_kept_by_no_cache(
    served: Served, path: str, kind: str
) -> None:
    """The token is asked for by the data alone."""
    found = ask(served, path, token=None)
    assert (found.status, found.headers["content-type"]) == (200, kind)
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"


def test_policy_lets_run_and_fetch_what_is_ours_alone(served: Served) -> None:
    """No inline script, no other host, no frame around it, no form that is sent."""
    policy = dict(
        each.split(" ", 1)
        for each in ask(served, "/", token=None).headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"


def test_document_holds_no_data_and_no_script_of_its_own(served: Served) -> None:
    """Neither the token nor a table is in it."""
    html = ask(served, "/", token=None).body.decode()
    assert "orders" not in html
    assert served.token is not None
    assert served.token not in html
    assert re.findall(r"<script(?![^>]*src=)", html) == []
    assert re.findall(r"\son\w+=|style=|javascript:", html) == []
    assert re.findall(r"(?:src|href)=\"(?!/page/|#|data:,)", html) == []


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda each: each.name)
def test_script_is_short_and_makes_no_markup_of_text(file: Path, served: Served) -> None:
    """Text becomes text nodes; what is imported is ours."""
    script = ask(served, f"/page/{file.name}", token=None).body.decode()
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?:"
    )
    assert re.findall(forbidden, script.replace("http://www.w3.org/2000/svg", "")) == []
    assert all(each.startswith("./") for each in re.findall(r'from "([^"]+)"', script))
    assert len(script.splitlines()) <= 400


def test_page_is_not_given_under_another_host_name(served: Served) -> None:
    """As little as its data."""
    found = ask(served, "/", token=None, headers={"Host": "evil.example"})
    assert (found.status, b"<html" in found.body) == (421, False)


@pytest.mark.parametrize("path", ["/page/", "/page/x.js", "/page/../service.py", "/page.html"])
def test_file_that_is_none_of_the_page_is_not_found(served: Served, path: str) -> None:
    """Only what was there when the service began."""
    assert ask(served, path, token=None).status == 404


def test_health_stays_open(served: Served) -> None:
    """For monitoring of the service."""
    assert ask(served, "/health", token=None).value["status"] == "ok"
