"""A run as OpenLineage events (2-0-2), with the gate's findings as facets of quality."""

from __future__ import annotations

import base64
import http.client
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from enum import StrEnum, unique
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from framework.engine.events import Note
from framework.engine.reporting.keys import key_rule_text, keys_refused
from framework.engine.reporting.words import allowed_text, cut, line_text, meaning, plain_mapping
from framework.engine.results import AuditReport, CheckResult
from framework.plan.words import listing, number_text
from framework.vocabulary import CheckKind, OnFail, Outcome

__all__ = ["RunState", "emit", "run_event", "run_uuid"]

_SPEC: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets"
_METRICS: Final = "1-0-3/DataQualityMetricsInputDatasetFacet"
_ASSERTIONS: Final = "1-1-0/DataQualityAssertionsDatasetFacet"
_STATISTICS: Final = "1-0-2/OutputStatisticsOutputDatasetFacet"
_ERROR: Final = "1-0-1/ErrorMessageRunFacet"
_RUNS: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:lakestrap:runs")
_TIMEOUT_S: Final = 5.0
_PAUSES_S: Final = (0.5, 1.5)
_SERVER_FAULT: Final = 500
_BUSY: Final = {408, 429}


@unique
class RunState(StrEnum):
    """The kind of an event."""

    START = "START"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"


def run_event(
    report: AuditReport, kind: RunState, *, source: str | None = None, at: str | None = None
) -> dict[str, object]:
    """Return one event of a run, JSON-ready; the same arguments give the same event.

    Args:
        report: the gate's findings; `START` uses only table, location, subject and run.
        kind: one `START`, then one of the others.
        source: location of the loaded data; None makes the table itself the input, as if nothing
            is loaded.
        at: when it happened, UTC, in the form of `AuditReport.at`, which is the default.
    """
    ended = kind is not RunState.START
    looked_at: dict[str, object] = _dataset(source or report.location)
    if ended:
        looked_at["inputFacets"] = _input_facets(report)
    outputs: list[dict[str, object]] = []
    if report.instant is not None:
        outputs.append(_dataset(report.location))
        if kind is RunState.COMPLETE and report.fate is not None:
            rows = _facet(_STATISTICS, rowCount=report.fate.published)
            outputs[0]["outputFacets"] = {"outputStatistics": rows}
    failed = kind is RunState.FAIL
    return plain_mapping(
        {
            "eventType": kind.value,
            "eventTime": at or report.at,
            "run": {"runId": run_uuid(report), "facets": _error(report) if failed else {}},
            "job": {"namespace": "lakestrap", "name": f"{report.table}.{report.subject}"},
            "inputs": [looked_at],
            "outputs": outputs,
            "producer": _producer(),
            "schemaURL": _SPEC,
        }
    )


def run_uuid(report: AuditReport) -> str:
    """Return the run's UUID, derived from the table's location and the run's id."""
    return str(uuid.uuid5(_RUNS, f"{report.location}\n{report.run_id}"))


def emit(
    event: Mapping[str, object],
    destination: str,
    *,
    timeout_s: float = _TIMEOUT_S,
    pauses_s: Sequence[float] = _PAUSES_S,
) -> Note | None:
    """Send an event; return a warning if that failed. Never raises and fails no run.

    Args:
        event: as from `run_event`.
        destination: an `http` or `https` URL that takes a POST, or a file to append a line to.
        timeout_s: limit for each answer of a server, in seconds.
        pauses_s: waits before further attempts if the server is unreachable or busy, in seconds.
    """
    try:
        line = json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode()
        if urlsplit(destination).scheme in {"http", "https"}:
            _post(line, destination, timeout_s, pauses_s)
        else:
            _append(line + b"\n", destination.removeprefix("file://"))
    except (OSError, http.client.HTTPException, ValueError) as fault:
        place = line_text(_without_secrets(destination))
        why = line_text(str(fault) or type(fault).__name__)
        return Note(level="warning", message=f"lineage was not sent to {place}: {why}")
    return None


def _producer() -> str:
    """Return the producer of the events, as a URI."""
    try:
        return f"urn:lakestrap:{version('lakestrap')}"
    except PackageNotFoundError:
        return "urn:lakestrap:0"


def _facet(schema: str, **members: object) -> dict[str, object]:
    """Return a facet with its schema, such as `1-0-1/ErrorMessageRunFacet`."""
    name = schema.partition("/")[2]
    url = f"{_FACETS}/{schema}.json#/$defs/{name}"
    return {"_producer": _producer(), "_schemaURL": url, **members}


def _dataset(location: str) -> dict[str, object]:
    """Return a data set by OpenLineage's naming: `file` and the path, or the store and the path."""
    found = urlsplit(location)
    if found.scheme in {"", "file"}:
        return {"namespace": "file", "name": found.path or location}
    store = f"{found.scheme}://{found.netloc.rpartition('@')[2]}"
    return {"namespace": store, "name": found.path.strip("/") or "/"}


def _input_facets(report: AuditReport) -> dict[str, object]:
    facets: dict[str, object] = {}
    if report.columns:
        columns = {
            each.name: {"nullCount": each.nulls, "distinctCount": each.distinct}
            for each in report.columns
        }
        rows = max(each.rows for each in report.columns)
        facets["dataQualityMetrics"] = _facet(_METRICS, rowCount=rows, columnMetrics=columns)
    assertions = [*_key_assertion(report), *(_assertion(each) for each in report.checks)]
    if assertions:
        facets["dataQualityAssertions"] = _facet(_ASSERTIONS, assertions=assertions)
    return facets


def _key_assertion(report: AuditReport) -> list[dict[str, object]]:
    refused = keys_refused(report)
    if not report.keys and not refused:
        return []
    return [
        {
            "assertion": "unique",
            "success": not refused,
            "severity": "error",
            "name": "record keys",
            "description": key_rule_text(report),
        }
    ]


def _assertion(result: CheckResult) -> dict[str, object]:
    """Return one check, without bad rows and the observed value, which may be one of theirs."""
    check = result.check
    column = check.arguments.get("column")
    is_gx = check.kind is CheckKind.GX
    return {
        "assertion": check.text if is_gx else f"custom_sql_{check.kind}",
        "success": result.outcome is Outcome.PASSED,
        **({"column": column} if isinstance(column, str) else {}),
        "severity": "error" if check.on_fail is OnFail.ABORT else "warn",
        "name": check.name,
        "description": cut(meaning(check), 1000),
        "expected": f"bad rows: {allowed_text(check)}",
        "actual": f"bad rows: {number_text(result.failed)} of {number_text(result.rows)}",
        **({} if is_gx else {"content": cut(check.text, 4000), "contentType": "sql"}),
    }


def _error(report: AuditReport) -> dict[str, object]:
    """Return why the run failed, without the refusal's own message, which may name keys."""
    condition = str(report.refusal.get("condition", "audit"))
    if keys_refused(report):
        why = f"not {key_rule_text(report)}"
    else:
        failed = [r.check.name for r in report.checks if r.outcome is Outcome.FAILED]
        why = f"checks failed: {listing(tuple(failed), limit=20)}" if failed else "refused"
    message = cut(f"{condition}: {why}", 2000)
    return {"errorMessage": _facet(_ERROR, message=message, programmingLanguage="SQL")}


def _append(line: bytes, path: str) -> None:
    """Append one line by one write, so that lines of several runs do not mix."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if os.write(handle, line) != len(line):
            raise OSError("only a part of the event was written")
    finally:
        os.close(handle)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a POST would become a GET, and the event would be lost silently."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, which makes the answer an error."""


def _post(body: bytes, url: str, timeout_s: float, pauses_s: Sequence[float]) -> None:
    """Send a body; retry if the fault may be temporary.

    Raises:
        OSError: the server is unreachable, or refuses.
        HTTPException: the answer is not HTTP.
        ValueError: the URL is invalid.
    """
    headers = {"Content-Type": "application/json", **_authorization(url)}
    bare = urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]).geturl()
    request = urllib.request.Request(bare, body, headers, method="POST")  # noqa: S310  see `emit`
    opener = urllib.request.build_opener(_NoRedirect)
    for pause in (*pauses_s, None):
        try:
            with opener.open(request, timeout=timeout_s):
                return
        except (OSError, http.client.HTTPException) as fault:
            if pause is None or not _may_pass(fault):
                raise
        time.sleep(pause)


def _authorization(url: str) -> dict[str, str]:
    """Return the header for the user and password that an address may contain."""
    found = urlsplit(url)
    if found.username is None:
        return {}
    words = f"{unquote(found.username)}:{unquote(found.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}


def _may_pass(fault: Exception) -> bool:
    if isinstance(fault, urllib.error.HTTPError):
        return fault.code >= _SERVER_FAULT or fault.code in _BUSY
    return True


def _without_secrets(destination: str) -> str:
    """Return a URL without user, password and query; a path as it is."""
    found = urlsplit(destination)
    if found.scheme not in {"http", "https"}:
        return destination
    return f"{found.scheme}://{found.netloc.rpartition('@')[2]}{found.path}"
