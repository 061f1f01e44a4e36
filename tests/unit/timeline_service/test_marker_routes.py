"""Apache Hudi's routes for markers over a real socket: what they do, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from framework.hudi.storage.local import LocalStorage
from framework.timeline_service.marker_routes import is_marker_route
from framework.vocabulary import ServiceAuth
from tests.support.asking import Response
from tests.support.served import ServedScene, commit, file_id
from tests.support.storage_suite import read

INSTANT = "20261101000000009"
BASE = f"p=1/f_1-0-1_{INSTANT}.parquet.marker.CREATE"
LOG = "p=1/.f_1.log.1_1-0-1.marker.APPEND"
GET_ROUTES = ("all", "create-and-merge", "append", "dir/exists")
POST_ROUTES = ("create", "dir/delete")
NO_FOLDERS = (
    "",
    "{table}",
    "{table}/.hoodie",
    "{table}/.hoodie/.temp",
    "{table}/.hoodie/.temp/",
    "{table}/.hoodie/.temp/..",
    "{table}/.hoodie/.temp/1/..",
    "{table}/.hoodie/.temp/1/2",
    "{table}/.hoodie/.temp/" + "1" * 18,
    "{table}/.hoodie/.temp/1x",
    "{table}/p=1",
)
NO_MARKERS = (
    "",
    ".marker.CREATE",
    "p=1/f.parquet",
    "p=1/f.parquet.marker.CREATE",
    "p=1/.hoodie_partition_metadata.marker.CREATE",
    ".hoodie/hoodie.properties.marker.CREATE",
    f".hoodie/{INSTANT}.commit.marker.CREATE",
    "passwd.marker.CREATE",
    "p=1/f_1-0-1_20261101000000008.parquet.marker.MERGE",
    f"p=1/f_1-0-1_{INSTANT}.txt.marker.CREATE",
    f"p=1/f_1-0_{INSTANT}.parquet.marker.CREATE",
    "p=1/.f_1.log.1_1-0-1.txt.marker.APPEND",
    f"{BASE}.tmp",
    f"{BASE}\n",
    f"p=1\n/{BASE}",
    f"p=1\r/{BASE}",
    f"p=1\x1b/{BASE}",
    f"../{BASE}",
    f"p=1/../../{BASE}",
    f"//etc/{BASE}",
    f"p=1\0/{BASE}",
    f"{'x' * 256}/{BASE}",
    f"{'x/' * 2048}{BASE}",
    BASE.replace("CREATE", "ELSE"),
)
BASES = (
    f"a-b-c-0_1-0-1_{INSTANT}.parquet",
    f"a-b-c-0_12-345-6789_{INSTANT}.orc",
    f"files-0000-0_0-0-0_{INSTANT}.hfile",
)
LOGS = (
    ".a-b-c-0_20261101000000001.log.1_1-0-1",
    ".a-b-c-0_20261101000000001.log.12",
    ".a-b-c-0_20261101000000001.log.1_1-0-1.cdc",
    ".files-0000-0_00000000000000.log.1_0-0-0",
)


@pytest.fixture(scope="module")
def served() -> Iterator[ServedScene]:
    """A served table whose markers are kept."""
    with ServedScene(markers=True) as found:
        yield found


@pytest.fixture
def scene(served: ServedScene) -> Iterator[ServedScene]:
    """The same, without any markers."""
    yield served
    served.storage.delete(".hoodie/.temp", ".hoodie/.lakestrap")


def folder(scene: ServedScene, instant: str = INSTANT) -> str:
    """Return the folder of an instant's markers, as Apache Hudi spells it."""
    return f"{scene.storage.location}/.hoodie/.temp/{instant}"


def ask(scene: ServedScene, method: str, route: str, **more: str) -> Response:
    """Ask one of the routes about an instant's markers, or about what `more` says."""
    said = {"markerdirpath": folder(scene), **more}
    return scene.call(method, f"/v1/hoodie/marker/{route}", **said)


def untouched(scene: ServedScene) -> bool:
    """Return whether nothing of markers is in the table."""
    return not any("/." in entry.path for entry in scene.storage.list(".hoodie"))


def test_markers_are_stored_listed_by_kind_and_deleted(scene: ServedScene) -> None:
    """In files that Apache Hudi reads, too."""
    assert ask(scene, "GET", "dir/exists").value is False
    assert ask(scene, "GET", "all").value == []
    assert [ask(scene, "POST", "create", markername=BASE).value for _ in range(2)] == [True, False]
    assert ask(scene, "POST", "create", markername=LOG).value is True
    assert ask(scene, "GET", "all").value == sorted([BASE, LOG])
    assert ask(scene, "GET", "create-and-merge/").value == [BASE]
    assert ask(scene, "GET", "append").value == [LOG]
    assert ask(scene, "GET", "dir/exists").value is True
    kept = f".hoodie/.temp/{INSTANT}"
    assert read(scene.storage, f"{kept}/MARKERS.type") == b"TIMELINE_SERVER_BASED"
    assert read(scene.storage, f"{kept}/MARKERS0").decode() == f"{BASE}\n"
    assert [ask(scene, "POST", "dir/delete").value for _ in range(2)] == [True, False]
    assert ask(scene, "GET", "dir/exists").value is False


def test_marker_of_an_unpartitioned_table_may_have_a_slash_before_it(scene: ServedScene) -> None:
    """As releases send it that join an empty partition path."""
    file = BASE.rpartition("/")[2]
    for name in (f"/{file}", f"\u00e4 +&=%/{file}"):
        assert ask(scene, "POST", "create", markername=name).value is True
    expected = [file, f"\u00e4 +&=%/{file}"]
    assert ask(scene, "GET", "all").value == expected


def test_markers_of_many_writers_at_once_are_all_kept(scene: ServedScene) -> None:
    """While the view answers others."""
    names = [f"p=1/f{number}_1-0-1_{INSTANT}.parquet.marker.MERGE" for number in range(100)]
    with ThreadPoolExecutor(16) as pool:
        responses = list(
            pool.map(lambda name: ask(scene, "POST", "create", markername=name), names)
        )
        assert len(scene.hudi("slices/partition/latest/", partition="p=1").value) == 3
    assert all(each.value is True for each in responses)
    assert ask(scene, "GET", "all").value == sorted(names)


@pytest.mark.parametrize("route", [*GET_ROUTES, *POST_ROUTES])
def test_folder_that_is_none_of_markers_is_refused(scene: ServedScene, route: str) -> None:
    """Nothing else of a table can be deleted, made or looked at."""
    method = "POST" if route in POST_ROUTES else "GET"
    for path in NO_FOLDERS:
        spelled = path.format(table=scene.storage.location)
        response = ask(scene, method, route, markerdirpath=spelled, markername=BASE)
        assert (response.status, "markerdirpath" in response.value["error"]) == (400, True), path
    assert untouched(scene)


def test_table_that_is_not_served_is_unknown(scene: ServedScene) -> None:
    """Whatever exists there."""
    for path in ("/etc", "{table}/../x", "{table}/.hoodie/metadata", "file:/etc"):
        spelled = f"{path.format(table=scene.storage.location)}/.hoodie/.temp/1"
        response = ask(scene, "POST", "create", markerdirpath=spelled, markername=BASE)
        assert response.status == 404, path
    assert untouched(scene)


def test_name_that_is_no_marker_in_the_table_is_refused(scene: ServedScene) -> None:
    """A rollback deletes what markers name; one line is one marker."""
    for name in NO_MARKERS:
        response = ask(scene, "POST", "create", markername=name)
        assert (response.status, bool(response.value["error"])) == (400, True), name
    assert untouched(scene)


def test_every_name_of_a_base_or_log_file_is_kept(scene: ServedScene) -> None:
    """With each type that Apache Hudi's writers send."""
    names = [
        f"p=1/{file}.marker.{kind}" for file in BASES for kind in ("CREATE", "MERGE", "APPEND")
    ]
    names += [f"p=1/{file}.marker.{kind}" for file in LOGS for kind in ("APPEND", "CREATE")]
    for name in names:
        assert ask(scene, "POST", "create", markername=name).value is True, name
    assert ask(scene, "GET", "all").value == sorted(names)


@pytest.mark.parametrize(
    "linked",
    [
        ".hoodie/.temp",
        f".hoodie/.temp/{INSTANT}",
        f".hoodie/.temp/{INSTANT}/MARKERS0",
        f".hoodie/.temp/{INSTANT}/MARKERS.type",
        ".hoodie/.lakestrap",
        ".hoodie/.lakestrap/markers",
        f".hoodie/.lakestrap/markers/{INSTANT}",
    ],
)
def test_symbolic_link_out_of_the_table_is_not_followed(tmp_path: Path, linked: str) -> None:
    """By no route: nothing outside is read, made or deleted."""
    table, outside = tmp_path / "table", tmp_path / "outside"
    storage = LocalStorage(str(table))
    commit(storage, INSTANT.replace("9", "1"), [("p=1", file_id("a"))])
    secret = outside / INSTANT / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_text("line.marker.CREATE\n")
    link = table / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret if "MARKERS" in linked else outside)
    with ServedScene(storage, markers=True) as scene:
        responses = [ask(scene, "GET", route) for route in GET_ROUTES]
        responses += [ask(scene, "POST", route, markername=LOG) for route in POST_ROUTES]
    assert "storage/symbolic-link" in {
        each.value["condition"] for each in responses if each.status != 200
    }
    assert not any(b"line.marker" in each.body for each in responses)
    assert {each.name for each in outside.rglob("*")} == {INSTANT, "secret"}
    assert secret.read_text() == "line.marker.CREATE\n"


def test_base_path_of_another_table_is_refused(scene: ServedScene) -> None:
    """Writers that want conflicts to be found early send it."""
    with ServedScene() as other:
        scene.tables.register(other.storage.location, other.view)
        wrong = ask(scene, "POST", "create", markername=BASE, basepath=other.storage.location)
    assert wrong.status == 400
    right = ask(scene, "POST", "create", markername=BASE, basepath=scene.storage.location)
    assert right.value is True


@pytest.mark.parametrize("route", POST_ROUTES)
def test_browser_is_refused(scene: ServedScene, route: str) -> None:
    """A page of another site can send a `POST` to this machine, though it sees no answer."""
    ask(scene, "POST", "create", markername=LOG)
    target = f"/v1/hoodie/marker/{route}?markerdirpath={folder(scene)}&markername={BASE}"
    for header in ("origin", "referer", "sec-fetch-site"):
        assert scene.call("POST", target, None, {header: "x"}).status == 403
    assert ask(scene, "GET", "all").value == [LOG]


def test_other_routes_and_methods_are_refused(scene: ServedScene) -> None:
    """Nothing is changed by GET."""
    ask(scene, "POST", "create", markername=LOG)
    for route in GET_ROUTES:
        assert ask(scene, "POST", route).status == 405
    for route in POST_ROUTES:
        assert ask(scene, "GET", route, markername=BASE).status == 405
    for route in ("", "else", "dir"):
        assert ask(scene, "POST", route).status == 404
        assert not is_marker_route(f"/v1/hoodie/marker/{route}")
    assert ask(scene, "GET", "all").value == [LOG]


def test_service_that_keeps_no_markers_says_how_it_would() -> None:
    """To every one of these calls."""
    with ServedScene() as scene:
        for route in GET_ROUTES:
            assert ask(scene, "GET", route).status == 403
        for route in POST_ROUTES:
            response = ask(scene, "POST", route, markername=BASE)
            assert (response.status, "--markers" in response.value["error"]) == (403, True)
        assert untouched(scene)


def test_token_is_needed_for_markers() -> None:
    """As for the view."""
    with ServedScene(auth=ServiceAuth.TOKEN, markers=True) as scene:
        assert ask(scene, "POST", "create", markername=BASE).status == 401
        assert untouched(scene)


def test_markers_of_more_instants_than_are_cached_are_read_from_disk(
    scene: ServedScene,
) -> None:
    """Memory is bounded; what was sent is not forgotten."""
    instants = [f"2026110100000{number:04}" for number in range(70)]
    for instant in instants:
        ask(scene, "POST", "create", markerdirpath=folder(scene, instant), markername=LOG)
    again: list[Any] = [
        ask(scene, "POST", "create", markerdirpath=folder(scene, each), markername=LOG).value
        for each in (instants[0], instants[-1])
    ]
    assert again == [False, False]


def test_metrics_count_answers_about_markers(scene: ServedScene) -> None:
    """By route, without the parameters."""
    ask(scene, "POST", "create/", markername=BASE)
    text = scene.call("GET", "/metrics").body.decode()
    counted = scene.service.metrics.answers["/v1/hoodie/marker/create", 200]
    line = f'lakestrap_answers_total{{route="/v1/hoodie/marker/create",status="200"}} {counted:.1f}'
    assert counted
    assert line in text.splitlines()
