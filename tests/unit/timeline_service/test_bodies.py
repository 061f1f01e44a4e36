"""Bodies and parameters: whatever comes, it is answered, or refused with what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.timeline_service.hudi_routes import _VIEW, HUDI_PREFIX
from framework.timeline_service.messages import Answer, Request, inside_table
from tests.support.served import ServedScene

DEEP = 50_000
VERBS = ("look-up", "select", "partitions")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_TEXTS = st.lists(st.text(st.characters(exclude_categories=())))
_QUERY = st.fixed_dictionaries(
    {"selection": st.sampled_from(["latest", "merged", "all", "in_range", "none"]) | _JSON},
    optional={
        "partition_path": st.text() | _JSON,
        "file_ids": _TEXTS | _JSON,
        "instant": st.text() | _JSON,
        "instants": _TEXTS | _JSON,
        "include_pending": st.booleans() | _JSON,
    },
)
_CALL = st.fixed_dictionaries(
    {},
    optional={
        "instant": st.just("") | _JSON,
        "timeline": st.text() | _JSON,
        "selection": st.sampled_from(["latest", "merged"]) | _JSON,
        "partitions": _TEXTS | _JSON,
        "file_ids": _TEXTS | _JSON,
        "query": _QUERY | _JSON,
    },
)
_BODIES = st.binary() | (_CALL | _JSON).map(lambda said: json.dumps(said).encode())


@pytest.fixture(scope="module")
def scene() -> Iterator[ServedScene]:
    """A service; no socket is needed here."""
    yield (found := ServedScene())
    found.server.stop()
    found.tables.close()


def asked(scene: ServedScene, verb: str, body: bytes) -> Answer:
    """Return the answer to a call of ours."""
    path = f"/v1/lakestrap/tables/{scene.table.id}/{verb}"
    headers = {b"host": b"localhost"}
    return scene.service.answer(Request(method="POST", path=path, headers=headers, body=body))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "body",
    [
        b'{"instant":"\\ud800"}',
        b'{"selection":"latest","partitions":["\\ud800"],"file_ids":["a"]}',
        b'{"selection":"latest","partitions":["\\udc00x"],"file_ids":["a"]}',
        b'{"timeline":"\\ud800\\ud800"}',
        b"[" * DEEP,
        b"[" * DEEP + b"]" * DEEP,
        b'{"x":' * DEEP,
        b'{"instant":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"else":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"query":{"else":' + b"[" * DEEP + b"]" * DEEP + b"}}",
        b'{"instant":1e999999}',
        b'{"instant":' + b"9" * 10_000 + b"}",
        b'{"timeline":"\xff"}',
        b'{"timeline":"\xed\xa0\x80"}',
        b'{"timeline":"' + b"f" * 1_000 + b'"}',
        b"\xff\xfe[\x00]\x00",
    ],
)
def test_body_that_is_no_question_is_refused(scene: ServedScene, verb: str, body: bytes) -> None:
    """Lone surrogates, deep nesting and numbers without bounds are no fault of the service."""
    answer = asked(scene, verb, body)
    assert (answer.status, bool(json.loads(answer.body)["error"])) == (400, True)


@pytest.mark.parametrize("body", [b'["\\ud800"]', b"[" * DEEP, b"[1]", b'{"a":1}', b'["../etc"]'])
def test_list_of_partitions_that_is_none_is_refused(scene: ServedScene, body: bytes) -> None:
    """Of Apache Hudi's route that takes a body."""
    assert loaded(scene, body).status == 400


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(verb=st.sampled_from(VERBS), body=_BODIES)
def test_any_body_gets_a_list_or_is_refused(scene: ServedScene, verb: str, body: bytes) -> None:
    """Never a fault of the service, and what is sent is text."""
    answer = asked(scene, verb, body)
    assert answer.status in {200, 400}
    assert isinstance(json.loads(answer.body.decode()), list if answer.status == 200 else dict)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(body=_BODIES)
def test_any_list_of_partitions_is_loaded_or_refused(scene: ServedScene, body: bytes) -> None:
    """Likewise."""
    assert loaded(scene, body).status in {200, 400}


_NAMES = ("basepath", "partition", "fileid", "maxinstant", "instant", "instants", "mininstant")
_ODD = st.sampled_from(
    ["", "p=1", "\0", "..", "/", "//", ".", ".hoodie", "9" * 400, "-1", "\ufffd", "x" * 300, "true"]
)


@pytest.mark.property
@settings(max_examples=150, deadline=None)
@given(
    route=st.sampled_from(sorted(_VIEW)),
    said=st.dictionaries(
        st.sampled_from((*_NAMES, "lastinstantts", "timelinehash")), _ODD | st.text()
    ),
    raw=st.sampled_from(["", "&partition=%ed%a0%80", "&fileid=%00", "&=&&==", "&instants=,,,"]),
)
def test_any_parameters_are_answered_or_refused(
    scene: ServedScene, route: str, said: dict[str, str], raw: str
) -> None:
    """By every route of Apache Hudi's; NUL, bytes that are no text, and numbers without end."""
    given_ = {"basepath": scene.storage.location, **said}
    query = urlencode(given_, errors="surrogatepass") + raw
    request = Request(_VIEW[route].method, HUDI_PREFIX + route, query, {b"host": b"localhost"})
    for answer in (scene.service.quick(request), scene.service.answer(request)):
        assert answer is None or answer.status in {200, 400, 404}, answer


@pytest.mark.parametrize("path", ["x" * 256, "\u00e4" * 128, "a/" * 2_049, f"p=1/{'x' * 300}"])
def test_partition_that_no_file_system_has_is_refused(scene: ServedScene, path: str) -> None:
    """It would be a fault of the storage."""
    body = json.dumps({"selection": "latest", "partitions": [path], "file_ids": ["a"]}).encode()
    assert asked(scene, "look-up", body).status == 400
    assert inside_table("x" * 255) == "x" * 255


def loaded(scene: ServedScene, body: bytes) -> Answer:
    """Return the answer to a call that loads partitions."""
    path = "/v1/hoodie/view/loadpartitions/"
    query = f"basepath={scene.storage.location}"
    headers = {b"host": b"localhost"}
    return scene.service.answer(Request("POST", path, query, headers, body))
